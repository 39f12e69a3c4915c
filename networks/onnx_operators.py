"""ONNX operators that compute: convolutions, products, normalisation, pooling and functions of single elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dse.networks.layer_spec import MAX_DIMENSION
from dse.networks.onnx_graph import Known, Node, State
from dse.networks.onnx_layout import Map, fresh
from dse.networks.onnx_products import two_maps

__all__ = ["COMPUTE", "Handler"]

Handler = Callable[[Node, State], Known | Map | list[Map]]
Pair = tuple[int, int]
Sides = tuple[int, int, int, int]


def _pair(node: Node, name: str, spatial: int, given: tuple[int, ...] | None = None) -> Pair:
    """An attribute of one number per spatial axis, as (rows, columns)."""
    values = given if given is not None else node.integers(name)
    values = (1,) * spatial if values is None else values
    if len(values) != spatial or not all(1 <= value <= MAX_DIMENSION for value in values):
        raise node.error(f"{name} is out of range", values, f"{spatial} numbers from 1 to {MAX_DIMENSION}")
    return (1, values[0]) if spatial == 1 else (values[0], values[1])


def _pads(node: Node, spatial: int, size: Pair, kernel: Pair, stride: Pair, dilation: Pair) -> Sides:
    """(top, left, bottom, right), from ``pads`` or ``auto_pad``."""
    auto = node.text("auto_pad", "NOTSET") or "NOTSET"
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max((-(-s // t) - 1) * t + d * (k - 1) + 1 - s, 0)
            for s, t, d, k in zip(size, stride, dilation, kernel, strict=True)
        ]
        low = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in totals]
        return low[0], low[1], totals[0] - low[0], totals[1] - low[1]
    if auto not in ("NOTSET", "VALID"):
        raise node.error("auto_pad is unknown", auto, "NOTSET, VALID, SAME_UPPER, SAME_LOWER")
    pads = (node.integers("pads") if auto == "NOTSET" else None) or (0,) * 2 * spatial
    if len(pads) != 2 * spatial or not all(0 <= pad <= MAX_DIMENSION for pad in pads):
        raise node.error("pads are out of range", pads, f"{2 * spatial} numbers from 0 to {MAX_DIMENSION}")
    return (0, pads[0], 0, pads[1]) if spatial == 1 else (pads[0], pads[1], pads[2], pads[3])


def _image(node: Node, state: State) -> tuple[Map, int]:
    """Input 0 with its channels at axis 1, and how many spatial axes it has."""
    source = state.map(node)
    spatial = len(source.shape) - 2
    if spatial not in (1, 2) or not source.batch_front:
        raise node.error("is supported over one or two spatial axes", source.shape, "rank 3 or 4, the batch in front")
    return state.with_channels(node, source, (1,), ordered=True), spatial


def _weight(node: Node, state: State, ranks: tuple[int, ...]) -> tuple[int, ...]:
    known = state.known(node, 1)
    if known is None or len(known.shape) not in ranks or min(known.shape, default=0) < 1:
        got = known.shape if known else None
        raise node.error("needs a weight of known dimensions", got, f"rank {' or '.join(map(str, ranks))}")
    return known.shape


def _conv(node: Node, state: State) -> Map:
    source, spatial = _image(node, state)
    weight = _weight(node, state, (spatial + 2,))
    groups = node.integer("group", 1)
    channels = source.shape[1]
    if groups < 1 or weight[1] * groups != channels:
        raise node.error("its weight and group do not fit the input", (weight, groups), f"{channels} input channels")
    kernel = _pair(node, "weight", spatial, weight[2:])
    stride, dilation = _pair(node, "strides", spatial), _pair(node, "dilations", spatial)
    size = state.builder.shapes[source.layer][1:]
    pads = _pads(node, spatial, size, kernel, stride, dilation)
    bias = state.known(node, 2) is not None
    layer = state.emit(
        node, "conv", [source], out_channels=weight[0], kernel=kernel, stride=stride, padding=pads, dilation=dilation,
        groups=groups, bias=bias,
    )  # fmt: skip
    return state.layer_map(layer, spatial + 2, 1, source.shape[0])


def _conv_transpose(node: Node, state: State) -> Map:
    source, spatial = _image(node, state)
    weight, groups = _weight(node, state, (spatial + 2,)), node.integer("group", 1)
    if groups < 1 or weight[0] != source.shape[1]:
        raise node.error("its weight does not fit the input", weight, f"{source.shape[1]} input channels")
    if node.integers("output_shape") or node.text("auto_pad", "NOTSET") not in ("", "NOTSET", "VALID"):
        raise node.error("is supported with pads, not with output_shape or auto_pad")
    kernel = _pair(node, "weight", spatial, weight[2:])
    stride, dilation = _pair(node, "strides", spatial), _pair(node, "dilations", spatial)
    more = node.integers("output_padding") or (0,) * spatial
    if len(more) != spatial or not all(0 <= one <= MAX_DIMENSION for one in more):
        raise node.error("output_padding is out of range", more, f"{spatial} numbers of at least 0")
    size = state.builder.shapes[source.layer][1:]
    layer = state.emit(
        node, "conv_transpose", [source], out_channels=weight[1] * groups, kernel=kernel, stride=stride,
        padding=_pads(node, spatial, size, kernel, stride, dilation), dilation=dilation, groups=groups,
        output_padding=(0, more[0]) if spatial == 1 else (more[0], more[1]), bias=state.known(node, 2) is not None,
    )  # fmt: skip
    return state.layer_map(layer, spatial + 2, 1, source.shape[0])


def _gemm(node: Node, state: State) -> Map:
    source, weight = state.map(node), _weight(node, state, (2,))
    if node.integer("transB", 0):
        weight = weight[::-1]
    if len(source.shape) != 2 or node.integer("transA", 0):
        raise node.error("is supported on a (batch, features) input", source.shape, "transA = 0")
    return _product(node, state, source, weight, state.known(node, 2) is not None)


def _matmul(node: Node, state: State) -> Map:
    if len(node.inputs) > 1 and all(isinstance(state.get(node, position), Map) for position in (0, 1)):
        return two_maps(node, state, state.map(node, 0), state.map(node, 1))
    source = state.map(node)
    weight = _weight(node, state, tuple(range(2, len(source.shape) + 1)) or (2,))
    if math.prod(weight[:-2]) != 1:
        raise node.error("its weight is a stack of matrices", weight, "one matrix")
    return _product(node, state, source, weight[-2:], bias=False)


def _product(node: Node, state: State, source: Map, weight: tuple[int, ...], bias: bool) -> Map:
    """A product with a matrix over the last axis: fully connected, or a 1x1 convolution over the positions."""
    last = len(source.shape) - 1
    if last < 1 or source.shape[last] != weight[0]:
        raise node.error("its weight does not fit the input", weight, f"{source.shape[last]} rows")
    source = state.with_channels(node, source, (last,))
    pixels = math.prod(state.builder.shapes[source.layer][1:])
    layer = state.emit(node, "conv" if pixels > 1 else "fc", [source], out_channels=weight[1], bias=bias)
    features = fresh(layer, (1, weight[1]), 1).channels
    return Map(layer, (*source.axes[:-1], features), features, source.pixels)


def _pool(node: Node, state: State) -> Map:
    source, spatial = _image(node, state)
    kernel = _pair(node, "kernel_shape", spatial)
    stride, dilation = _pair(node, "strides", spatial), _pair(node, "dilations", spatial)
    size = state.builder.shapes[source.layer][1:]
    top, left, bottom, right = _pads(node, spatial, size, kernel, stride, dilation)
    if node.integer("ceil_mode", 0):
        extra = [
            _ceil_extra(*axis)
            for axis in zip(size, (top, left), (bottom, right), kernel, stride, dilation, strict=True)
        ]
        bottom, right = bottom + extra[0], right + extra[1]
    op = {"MaxPool": "max_pool", "AveragePool": "avg_pool"}[node.op]
    pads = (top, left, bottom, right)
    layer = state.emit(node, op, [source], kernel=kernel, stride=stride, padding=pads, dilation=dilation)
    return state.layer_map(layer, spatial + 2, 1, source.shape[0])


def _ceil_extra(size: int, before: int, after: int, kernel: int, stride: int, dilation: int) -> int:
    """Pixels to add behind so that rounding down gives what rounding up does without them.

    A window that would open in the padding behind is left out.
    """
    span = size + before + after - dilation * (kernel - 1) - 1
    steps = -(-span // stride)
    if steps * stride >= size + before:
        steps -= 1
    return max(steps * stride - span, 0)


def _global_pool(node: Node, state: State) -> Map:
    source, _ = _image(node, state)
    if node.op == "GlobalMaxPool":
        layer = state.emit(node, "max_pool", [source], kernel=state.builder.shapes[source.layer][1:])
    else:
        layer = state.emit(node, "global_avg_pool", [source])
    return Map(layer, (*source.axes[:2], *(() for _ in source.axes[2:])), source.channels, ())


def _reduce_mean(node: Node, state: State) -> Map:
    source = state.map(node)
    rank = len(source.shape)
    given = state.numbers(node, 1) if len(node.inputs) > 1 else node.integers("axes")
    axes = {axis + rank if axis < 0 else axis for axis in given or ()}
    left = [axis for axis in source.others() if axis not in axes]
    if len(left) != 1 or not axes or not axes <= set(source.others()):
        raise node.error("is supported over all spatial axes", sorted(axes), "the axes beside batch and channels")
    source = state.with_channels(node, source, left)
    layer = state.emit(node, "global_avg_pool", [source])
    keep = bool(node.integer("keepdims", 1))
    kept = [() if axis in axes else atoms for axis, atoms in enumerate(source.axes) if keep or axis not in axes]
    return Map(layer, tuple(kept), source.channels, ())


def _same(node: Node, state: State, op: str, source: Map) -> Map:
    return replace(source, layer=state.emit(node, op, [source]))


def _norm(node: Node, state: State) -> Map:
    source = state.map(node)
    if node.op == "LayerNormalization":
        last = len(source.shape) - 1
        if node.integer("axis", -1) not in (-1, last):
            raise node.error("is supported over the last axis", node.integer("axis", -1), "-1")
        return _same(node, state, "layer_norm", state.with_channels(node, source, (last,)))
    ops = {"BatchNormalization": "batch_norm", "InstanceNormalization": "instance_norm", "LRN": "lrn"}
    return _same(node, state, ops.get(node.op, "group_norm"), state.with_channels(node, source, (1,)))


def _function(node: Node, state: State) -> Map:
    return _same(node, state, _FUNCTIONS[node.op], state.map(node))


def _softmax(node: Node, state: State) -> Map:
    source = state.map(node)
    axis = node.integer("axis", 1 if node.opset < 13 else -1)
    axis = axis + len(source.shape) if axis < 0 else axis
    if not 0 <= axis < len(source.shape) or any(atom.batch for atom in source.axes[axis]):
        raise node.error("axis is out of range, or the batch", axis, f"1 to {len(source.shape) - 1}")
    return _same(node, state, "softmax", source)


def _clip(node: Node, state: State) -> Map:
    bounds: list[float | None] = []
    for position, name, default in ((1, "min", -math.inf), (2, "max", math.inf)):
        if node.opset < 11:
            bounds.append(node.real(name, default))
            continue
        known = state.known(node, position)
        values = known.values if known else np.array(default)
        bounds.append(None if values is None else float(np.ravel(values)[0]))
    low, high = bounds
    unbounded = high is not None and high > 1e38
    op = "relu6" if (low, high) == (0, 6) else "relu" if low == 0 and unbounded else "clip"
    return _same(node, state, op, state.map(node))


def _prelu(node: Node, state: State) -> Map:
    source, slope = state.map(node), state.known(node, 1)
    count = math.prod(slope.shape) if slope else 1
    if count > 1:
        source = state.with_channels(node, source, (1,))
    return replace(source, layer=state.emit(node, "prelu", [source], slopes=max(count, 1)))


_FUNCTIONS: Mapping[str, str] = {
    "Relu": "relu", "LeakyRelu": "leaky_relu", "ThresholdedRelu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh",
    "HardSwish": "hard_swish", "HardSigmoid": "hard_sigmoid", "Swish": "swish", "Gelu": "gelu", "Erf": "erf",
    "Elu": "elu", "Celu": "elu", "Selu": "elu", "Dropout": "dropout",
}  # fmt: skip

COMPUTE: Mapping[str, Handler] = {
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization", "LayerNormalization", "LRN"), _norm),
    "GroupNormalization": _norm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MaxPool": _pool,
    "AveragePool": _pool,
    "GlobalAveragePool": _global_pool,
    "GlobalMaxPool": _global_pool,
    "ReduceMean": _reduce_mean,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "Clip": _clip,
    "PRelu": _prelu,
}
"""Operator -> how it becomes layers."""
