"""ONNX import: the forward graph of a file, as PyTorch and TensorFlow exporters write it, as a training network.

Weights are not read beyond their dimensions. A loss is appended where the graph, as usual, ends without one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.errors import InputError
from dse.networks.imported import MAX_LAYERS, Builder, Description, clean_name
from dse.networks.onnx_cuts import CUTS
from dse.networks.onnx_fold import fold, initializer
from dse.networks.onnx_fuse import fuse
from dse.networks.onnx_graph import Known, Node, State
from dse.networks.onnx_layout import Map, fresh, view
from dse.networks.onnx_movement import MOVEMENT
from dse.networks.onnx_operators import COMPUTE, Handler
from dse.networks.onnx_wire import read_model

__all__ = ["OPSETS", "SUPPORTED", "read_onnx"]

OPSETS = (9, 28)
"""Oldest and newest version of the operator set that is read."""

_HANDLERS: Mapping[str, Handler] = {**COMPUTE, **CUTS, **MOVEMENT}
SUPPORTED = tuple(sorted(_HANDLERS))
"""Operators of ONNX that become layers; on constants, more are folded."""

_NORMS = ("batch_norm", "instance_norm", "layer_norm", "group_norm", "lrn")
_LATER = ("add", "channel_mul", "relu6", "leaky_relu", "swish", "hard_swish")
_MALFORMED = (LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError, RecursionError)


def read_onnx(path: Path) -> Description:
    """The network in the ONNX file at ``path``.

    Raises InputError, in one line, for a file that is no ONNX model, an opset out of range, an input of unknown size
    (its batch apart) and an operator that is not supported, naming node, operator, opset and what is.
    """
    model = read_model(path)
    try:
        return _describe(model, path)
    except InputError:
        raise
    except _MALFORMED as error:
        raise InputError(str(path), f"is a malformed model: {type(error).__name__}: {error}") from error


def _describe(model: Any, path: Path) -> Description:
    where, graph, opset = str(path), model.graph, _opset(model, str(path))
    if len(graph.node) > MAX_LAYERS:
        raise InputError(where, "too many nodes", len(graph.node), f"up to {MAX_LAYERS}")
    outputs = [value.name for value in graph.output]
    nodes = _live(_nodes(graph, opset, where), outputs)
    nodes = fuse(nodes, outputs)
    readers = Counter(name for node in nodes for name in node.inputs) + Counter(outputs)
    builder = Builder(path)
    state = State(builder, readers)
    for proto in graph.initializer:
        state.tensors[proto.name] = initializer(proto)
    for sparse in graph.sparse_initializer:
        state.tensors[sparse.values.name] = Known(tuple(int(size) for size in sparse.dims))
    _take_input(graph, nodes, state, where)
    for node in nodes:
        _convert(node, state)
    ends = [state.tensors.get(name) for name in outputs]
    builder.finish([end.layer for end in ends if isinstance(end, Map)], f"{where}: outputs")
    _note_folded_norm(graph, nodes, builder)
    names = [clean_name(text, "") for text in (model.producer_name, model.producer_version)]
    producer = " ".join(filter(None, names)) or "an unnamed tool"
    return builder.description(clean_name(path.stem, "network"), f"{path.name}, ONNX opset {opset}, by {producer}")


def _opset(model: Any, where: str) -> int:
    versions = [int(one.version) for one in model.opset_import if one.domain in ("", "ai.onnx")]
    if not versions or not OPSETS[0] <= versions[0] <= OPSETS[1]:
        got = versions[0] if versions else "none"
        raise InputError(where, "ONNX opset out of range", got, f"{OPSETS[0]} to {OPSETS[1]}")
    return versions[0]


def _nodes(graph: Any, opset: int, where: str) -> list[Node]:
    nodes = []
    for number, proto in enumerate(graph.node):
        node = Node(proto, number, opset, where)
        if proto.domain not in ("", "ai.onnx"):
            raise node.error("its operator domain is not supported", proto.domain, "the standard operators")
        nodes.append(node)
    return nodes


def _live(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """The nodes that an output depends on; ONNX lists nodes after those that they read."""
    wanted = set(outputs)
    live = []
    for node in reversed(nodes):
        if wanted.intersection(name for name in node.outputs if name):
            wanted.update(node.inputs)
            live.append(node)
    return live[::-1]


def _take_input(graph: Any, nodes: Sequence[Node], state: State, where: str) -> None:
    read = {name for node in nodes for name in node.inputs}
    inputs = [value for value in graph.input if value.name not in state.tensors and value.name in read]
    if len(inputs) != 1:
        names = [value.name for value in inputs]
        raise InputError(f"{where}: inputs", "a network reads one input tensor", names, "one")
    value = inputs[0]
    where = f"{where}: input {value.name[:100]}"
    shape = _input_shape(value, where)
    channel = _input_channel(value.name, nodes, len(shape))
    layer = state.builder.set_input(view(shape, channel), where)
    state.tensors[value.name] = fresh(layer, shape, channel)


def _input_shape(value: Any, where: str) -> tuple[int, ...]:
    """Sizes with the batch in front: 1 where it is symbolic."""
    if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
        raise InputError(where, "has no shape", allowed="a tensor of known size, its batch apart")
    dims = value.type.tensor_type.shape.dim
    if not 2 <= len(dims) <= 4:
        raise InputError(where, "rank is not supported", len(dims), "2, 3 or 4, the batch in front")
    sizes = [int(dim.dim_value) if dim.HasField("dim_value") else 0 for dim in dims]
    sizes[0] = max(sizes[0], 1)
    for axis, (size, dim) in enumerate(zip(sizes, dims, strict=True)):
        if size < 1:
            got = dim.dim_param[:100] or size
            raise InputError(where, f"size of axis {axis} is not known", got, "only the batch, axis 0, may be symbolic")
    return tuple(sizes)


def _input_channel(name: str, nodes: Sequence[Node], rank: int) -> int:
    """Channels last where every reader moves them to the front, or multiplies by a matrix; else axis 1.

    Numbers of rows of an embedding's table have no channels.
    """
    readers = [node for node in nodes if name in node.inputs and node.op not in ("Shape", "Cast")]
    if readers and all(node.op == "Gather" and node.inputs[1:] == [name] for node in readers):
        return 0
    front = (0, rank - 1, *range(1, rank - 1))
    last = all(node.op == "Transpose" and node.integers("perm") == front for node in readers)
    products = all(node.op == "MatMul" for node in readers)
    return rank - 1 if readers and rank > 2 and (last or products) else 1


def _convert(node: Node, state: State) -> None:
    try:
        result: Known | Map | list[Map] | None = fold(node, state)
        if result is None:
            if node.op not in _HANDLERS:
                raise node.error("operator is not supported", node.op[:60], ", ".join(SUPPORTED))
            result = _HANDLERS[node.op](node, state)
    except InputError:
        raise
    except _MALFORMED as error:
        raise node.error(f"is malformed: {type(error).__name__}: {str(error)[:200]}") from error
    results = result if isinstance(result, list) else [result]
    for name, value in zip(node.outputs, results, strict=False):
        if name:
            state.tensors[name] = value
            state.made_by[name] = node


def _note_folded_norm(graph: Any, nodes: Sequence[Node], builder: Builder) -> None:
    """Say so where an exporter has probably merged batch normalisation into the convolutions before it.

    Told by the names that exporters give to weights they computed, or by a network that nothing normalises although it
    has what came with normalisation: residual sums, depthwise convolutions, later functions than ReLU.
    """
    convolutions = [node for node in nodes if node.op == "Conv"]
    named = sum(any(word in node.inputs[1].lower() for word in ("onnx::conv", "fused", "_bn")) for node in convolutions)
    specs = list(builder.specs.values())
    biased = [spec.name for spec in specs if spec.op == "conv" and spec.bias]
    bare = not any(spec.op in _NORMS for spec in specs)
    usual = any(spec.op in _LATER or (spec.op == "conv" and spec.groups == spec.out_channels > 1) for spec in specs)
    count = named if named and biased else len(biased) if bare and usual else 0
    if count:
        builder.note(
            f"up to {count} convolutions seem to hold a folded batch normalisation, whose cost is then missing: "
            "export the model in training mode without constant folding to keep it"
        )
