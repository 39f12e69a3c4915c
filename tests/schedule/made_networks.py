"""Small networks by hand for schedules: every operation that the accelerator trains, in few pixels."""

from __future__ import annotations

from typing import Any

from dse.network import Network, Shape
from dse.networks.graph import build_network
from dse.networks.layer_spec import LayerSpec
from dse.workload import OPTIMISERS, PRECISIONS, Workload

__all__ = ["NETWORKS", "Row", "made_network", "made_workload"]

Row = tuple[str, str, dict[str, Any]]
"""Name, operation, attributes; ``inputs`` where it is not the layer before."""


def made_network(shape: Shape, *rows: Row, name: str = "made") -> Network:
    """The network of ``rows``; kernels, strides and paddings are written as one number."""
    specs, previous = [], "input"
    for layer, op, given in rows:
        inputs = given.get("inputs", (previous,))
        pairs = {key: (given[key],) * 2 for key in ("kernel", "stride") if key in given}
        padding = (given.get("padding", 0),) * 4
        rest = {key: given[key] for key in ("out_channels", "groups", "bias", "shape") if key in given}
        specs.append(LayerSpec(layer, op, inputs, padding=padding, **pairs, **rest))
        previous = layer
    return build_network(name, "a test", shape, specs, name)


def made_workload(network: Network, batch_size: int = 4, bits: int = 8, optimiser: str = "sgd") -> Workload:
    """A batch of ``network`` in integers."""
    return Workload(network, batch_size, PRECISIONS[f"int{bits}"], OPTIMISERS[optimiser])


def _conv(name: str, channels: int, kernel: int = 3, padding: int = 1, **more: Any) -> Row:
    return name, "conv", {"out_channels": channels, "kernel": kernel, "padding": padding, **more}


SQUARED, SOFTMAX = ("loss", "sum_square_error", {}), ("loss", "softmax_cross_entropy", {})

CNN = made_network(
    (2, 9, 8),
    _conv("conv1", 5),
    ("relu1", "relu", {}),
    ("pool1", "max_pool", {"kernel": 2, "stride": 2}),
    _conv("conv2", 7, stride=2),
    ("relu2", "relu", {}),
    _conv("conv3", 6, kernel=1, padding=0),
    ("relu3", "relu", {}),
    ("flat", "flatten", {}),
    ("fc", "fc", {"out_channels": 5}),
    SQUARED,
    name="cnn",
)
RESIDUAL = made_network(
    (1, 8, 8),
    _conv("conv1", 6),
    ("bn1", "batch_norm", {}),
    ("relu1", "relu", {}),
    _conv("conv2", 6),
    ("bn2", "batch_norm", {}),
    ("add", "add", {"inputs": ("bn2", "relu1")}),
    ("relu2", "relu", {}),
    ("pool", "max_pool", {"kernel": 3, "stride": 2, "padding": 1}),
    ("mean", "global_avg_pool", {}),
    ("fc", "fc", {"out_channels": 4}),
    SOFTMAX,
    name="residual",
)
SEPARABLE = made_network(
    (3, 8, 8),
    _conv("conv1", 4, stride=2),
    ("relu1", "relu", {}),
    _conv("depthwise", 4, groups=4),
    ("relu2", "relu", {}),
    _conv("point", 9, kernel=1, padding=0),
    ("relu3", "relu", {}),
    ("fc", "fc", {"out_channels": 3}),
    SQUARED,
    name="separable",
)
BIASED = made_network(
    (2, 8, 7),
    ("shift", "bias", {}),
    _conv("conv1", 5, bias=True),
    ("relu1", "relu", {}),
    ("pool1", "avg_pool", {"kernel": 2, "stride": 2}),
    _conv("conv2", 4),
    ("bias2", "bias", {}),
    ("relu2", "relu", {}),
    ("fc", "fc", {"out_channels": 3, "bias": True}),
    SOFTMAX,
    name="biased",
)
FORKED = made_network(
    (2, 6, 6),
    _conv("stem", 4),
    _conv("left", 4),
    ("left_relu", "relu", {}),
    ("right_relu", "relu", {"inputs": ("stem",)}),
    ("join", "add", {"inputs": ("left_relu", "right_relu")}),
    ("twice", "add", {"inputs": ("join", "join")}),
    ("relu", "relu", {}),
    ("pool", "avg_pool", {"kernel": 3, "stride": 3}),
    ("fc", "fc", {"out_channels": 3}),
    SQUARED,
    name="forked",
)
OF_SAMPLES = made_network(
    (3, 9, 9),
    ("pool", "max_pool", {"kernel": 3, "stride": 3}),
    ("norm", "batch_norm", {"inputs": ("input",)}),
    _conv("conv1", 3, stride=3),
    ("join", "add", {"inputs": ("pool", "conv1")}),
    ("fc", "fc", {"out_channels": 2}),
    SQUARED,
    name="of_samples",
)
NETWORKS = {network.name: network for network in (CNN, RESIDUAL, SEPARABLE, BIASED, FORKED, OF_SAMPLES)}
