"""Small ONNX graphs for the tests, put together with onnx.helper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from dse.network import Network, Shape
from dse.networks import load_network

LOSS = ("flatten", "softmax_cross_entropy", "sum_square_error")
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def weight(name: str, *dims: int) -> onnx.TensorProto:
    """An initialiser with dimensions only, as if its data were kept elsewhere."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.that.are.not.there")
    return tensor


def ints(name: str, *values: int) -> onnx.TensorProto:
    """An int64 initialiser with values."""
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def reals(name: str, *values: float) -> onnx.TensorProto:
    """A float initialiser with values."""
    return numpy_helper.from_array(np.array(values, dtype=np.float32), name)


def scalar(name: str, value: float) -> onnx.TensorProto:
    """A float initialiser of rank 0."""
    return numpy_helper.from_array(np.array(value, dtype=np.float32), name)


def node(op: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    """A node; ``inputs`` and ``output`` are names parted by blanks, "-" for one that is left out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(op, names, output.split(), name=f"{op}_{output.split()[0]}", **attributes)


def save(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int | str] = ("N", 4, 8, 8),
    weights: Sequence[onnx.TensorProto] = (),
    opset: int = 17,
    outputs: Sequence[str] = ("y",),
    domains: Mapping[str, int] | None = None,
) -> Path:
    """Write a model that reads ``x`` of ``shape`` and computes ``outputs``."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        list(weights),
    )
    versions = [helper.make_opsetid(name, version) for name, version in {"": opset, **(domains or {})}.items()]
    path.write_bytes(helper.make_model(graph, opset_imports=versions).SerializeToString())
    return path


def load(
    folder: Path,
    nodes: Sequence[onnx.NodeProto],
    *weights: onnx.TensorProto,
    shape: Sequence[int | str] = ("N", 4, 8, 8),
    **options: Any,
) -> Network:
    """The network of a model saved in ``folder``."""
    return load_network(save(folder / "m.onnx", nodes, shape, weights, **options))


def body(network: Network) -> list[tuple[str, Shape]]:
    """(operation, output shape) of the layers before the loss."""
    layers = list(network.layers)
    while layers and layers[-1].op in LOSS:
        layers.pop()
    return [(layer.op, layer.out_shape) for layer in layers]
