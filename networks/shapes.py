"""Shape inference: a table from operation to the keys it takes, its number of inputs and its rule.

A rule takes a layer as written and the shapes of its inputs and returns the layer with its shapes, window and parameter
count. To add an operation, write its rule and one line of ``OPERATIONS``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dse.errors import InputError, did_you_mean
from dse.network import Layer, Shape
from dse.networks.layer_spec import MAX_DIMENSION, LayerSpec
from dse.networks.sequence_shapes import SEQUENCE_OPERATIONS
from dse.networks.shape_rule import Operation, describe, shaped

__all__ = ["MAX_ELEMENTS", "MAX_MACS", "OPERATIONS", "infer_layer"]

MAX_ELEMENTS = 2**40
"""Most elements of one feature map, and most parameters of one layer."""
MAX_MACS = 2**50
"""Most forward multiply-accumulates of one layer and sample, so that a training step of a batch fits int64."""


def _same_sides(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + dilation * (kernel - 1) + 1 - size, 0)
    return total // 2, total - total // 2


def _padding(spec: LayerSpec, shape: Shape, stride: tuple[int, int]) -> tuple[int, int, int, int]:
    if spec.padding != "same":
        return spec.padding
    top, bottom = _same_sides(shape[1], spec.kernel[0], stride[0], spec.dilation[0])
    left, right = _same_sides(shape[2], spec.kernel[1], stride[1], spec.dilation[1])
    return top, left, bottom, right


def _window(spec: LayerSpec, shape: Shape, where: str, channels: int, stride: tuple[int, int]) -> Layer:
    """A layer whose window slides over a map of ``shape`` and writes ``channels``, rounding sizes down."""
    top, left, bottom, right = _padding(spec, shape, stride)
    padded = (shape[1] + top + bottom, shape[2] + left + right)
    extent = [d * (k - 1) + 1 for d, k in zip(spec.dilation, spec.kernel, strict=True)]
    if extent[0] > padded[0] or extent[1] > padded[1]:
        got = f"{extent[0]} x {extent[1]} (dilation included)"
        raise InputError(f"{where}: kernel", "is larger than the padded map", got, f"up to {padded[0]} x {padded[1]}")
    rows, columns = ((p - e) // s + 1 for p, e, s in zip(padded, extent, stride, strict=True))
    layer = shaped(spec, shape, (channels, rows, columns))
    return replace(layer, kernel=spec.kernel, stride=stride, padding=(top, left, bottom, right), dilation=spec.dilation)


def _conv(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    m, n, groups = spec.out_channels, shapes[0][0], spec.groups
    for channels, side in ((n, "input"), (m, "output")):
        if channels % groups:
            raise InputError(f"{where}: groups", f"must divide the {side} channels", groups, f"divisors of {channels}")
    layer = _window(spec, shapes[0], where, m, spec.stride or (1, 1))
    parameters = m * (n // groups) * spec.kernel[0] * spec.kernel[1] + m * spec.bias
    return replace(layer, groups=groups, bias=spec.bias, parameters=parameters)


def _conv_transpose(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    """The input gradient of the convolution that maps this layer's output to its input, as a layer."""
    m, (n, h, w), groups = spec.out_channels, shapes[0], spec.groups
    if m % groups or n % groups:
        raise InputError(f"{where}: groups", "must divide the channels of input and output", groups, f"divisors of {n}")
    if spec.padding == "same":
        raise InputError(f"{where}: padding", "of a conv_transpose is written in pixels", "same", "whole numbers")
    stride, (top, left, bottom, right) = spec.stride or (1, 1), spec.padding
    removed = (top + bottom, left + right)
    sizes = [
        (size - 1) * s + d * (k - 1) + 1 - cut + more
        for size, s, d, k, cut, more in zip(
            (h, w), stride, spec.dilation, spec.kernel, removed, spec.output_padding, strict=True
        )
    ]
    if min(sizes) < 1:
        raise InputError(f"{where}: padding", "leaves no output", spec.padding, "less than the kernels cover")
    parameters = n * (m // groups) * spec.kernel[0] * spec.kernel[1] + m * spec.bias
    return replace(
        shaped(spec, shapes[0], (m, sizes[0], sizes[1]), parameters), kernel=spec.kernel, stride=stride,
        padding=spec.padding, dilation=spec.dilation, groups=groups, bias=spec.bias,
    )  # fmt: skip


def _fc(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    n, m = math.prod(shapes[0]), spec.out_channels
    return replace(shaped(spec, (n, 1, 1), (m, 1, 1), m * n + m * spec.bias), bias=spec.bias)


def _pool(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    layer = _window(spec, shapes[0], where, shapes[0][0], spec.stride or spec.kernel)
    if any(side >= size for side, size in zip(layer.padding, spec.kernel * 2, strict=True)):
        kernel = f"each side below the kernel {spec.kernel}"
        raise InputError(f"{where}: padding", "leaves windows that hold no pixel", layer.padding, kernel)
    return layer


def _global_avg_pool(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    c, h, w = shapes[0]
    return replace(shaped(spec, shapes[0], (c, 1, 1)), kernel=(h, w), stride=(h, w))


def _im2col(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    channels = shapes[0][0] * spec.kernel[0] * spec.kernel[1]
    return _window(spec, shapes[0], where, channels, spec.stride or (1, 1))


def _elementwise(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    return shaped(spec, shapes[0], shapes[0])


def _bias(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    return shaped(spec, shapes[0], shapes[0], parameters=shapes[0][0])


def _batch_norm(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    return shaped(spec, shapes[0], shapes[0], parameters=2 * shapes[0][0])


def _flatten(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    return shaped(spec, shapes[0], (math.prod(shapes[0]), 1, 1))


def _add(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    if len(set(shapes)) > 1:
        raise InputError(f"{where}: from", f"{spec.op} needs inputs of equal shapes", describe(spec, shapes))
    return shaped(spec, shapes[0], shapes[0])


def _channel_mul(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    if shapes[1] != (shapes[0][0], 1, 1):
        raise InputError(f"{where}: from", "channel_mul needs a map and one number per channel", describe(spec, shapes))
    return shaped(spec, shapes[0], shapes[0])


def _prelu(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    if spec.slopes not in (1, shapes[0][0]):
        raise InputError(f"{where}: slopes", "must be one or one per channel", spec.slopes, f"1 or {shapes[0][0]}")
    return shaped(spec, shapes[0], shapes[0], spec.slopes)


def _target(spec: LayerSpec, where: str) -> Shape:
    if spec.shape is None:
        raise InputError(f"{where}: shape", "required key is missing")
    return spec.shape


def _reshape(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    shape = _target(spec, where)
    if math.prod(shape) != math.prod(shapes[0]):
        raise InputError(
            f"{where}: shape", "must keep the number of elements", shape, f"{math.prod(shapes[0])} elements"
        )
    return shaped(spec, shapes[0], shape)


def _slice(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    shape, step = _target(spec, where), (1, *(spec.stride or (1, 1)))
    last = [s + (n - 1) * d for s, n, d in zip(spec.start, shape, step, strict=True)]
    if any(end >= size for end, size in zip(last, shapes[0], strict=True)):
        raise InputError(f"{where}: shape", "reaches beyond the map", (spec.start, shape), f"inside {shapes[0]}")
    return replace(shaped(spec, shapes[0], shape), stride=step[1:])


def _upsample(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    shape = _target(spec, where)
    if shape[0] != shapes[0][0]:
        raise InputError(f"{where}: shape", "upsample keeps the channels", shape, f"{shapes[0][0]} channels")
    return shaped(spec, shapes[0], shape)


def _pad(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    if spec.padding == "same":
        raise InputError(f"{where}: padding", "of a pad is written in pixels", "same", "whole numbers")
    (c, h, w), (top, left, bottom, right) = shapes[0], spec.padding
    return replace(shaped(spec, shapes[0], (c, h + top + bottom, w + left + right)), padding=spec.padding)


def _loss(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    if shapes[0][1:] != (1, 1):
        raise InputError(f"{where}: from", "a loss reads one number per class", shapes[0], "(classes, 1, 1)")
    return shaped(spec, shapes[0], shapes[0])


_ELEMENTWISE = (
    "clip", "leaky_relu", "sigmoid", "tanh", "hard_swish", "hard_sigmoid", "swish", "gelu", "elu", "erf", "softmax",
    "scale", "lrn",
)  # fmt: skip
_WINDOW = ("kernel", "stride", "padding")

OPERATIONS: Mapping[str, Operation] = {
    "conv": Operation(_conv, ("out_channels", *_WINDOW, "dilation", "groups", "bias")),
    "conv_transpose": Operation(
        _conv_transpose, ("out_channels", *_WINDOW, "output_padding", "dilation", "groups", "bias")
    ),
    "fc": Operation(_fc, ("out_channels", "bias")),
    "max_pool": Operation(_pool, (*_WINDOW, "dilation")),
    "avg_pool": Operation(_pool, (*_WINDOW, "dilation")),
    "global_avg_pool": Operation(_global_avg_pool),
    "im2col": Operation(_im2col, _WINDOW),
    "batch_norm": Operation(_batch_norm),
    "bias": Operation(_bias),
    "relu": Operation(_elementwise),
    "relu6": Operation(_elementwise),
    **dict.fromkeys(_ELEMENTWISE, Operation(_elementwise)),
    "prelu": Operation(_prelu, ("slopes",)),
    "channel_scale": Operation(_bias),
    "instance_norm": Operation(_batch_norm),
    "layer_norm": Operation(_batch_norm),
    "group_norm": Operation(_batch_norm),
    "dropout": Operation(_elementwise),
    "flatten": Operation(_flatten),
    "add": Operation(_add, min_inputs=2, max_inputs=None),
    "sub": Operation(_add, min_inputs=2, max_inputs=2),
    "mul": Operation(_add, min_inputs=2, max_inputs=2),
    "channel_mul": Operation(_channel_mul, min_inputs=2, max_inputs=2),
    "slice": Operation(_slice, ("shape", "start", "stride")),
    "pad": Operation(_pad, ("padding",)),
    "upsample": Operation(_upsample, ("shape",)),
    "reshape": Operation(_reshape, ("shape",)),
    "transpose": Operation(_reshape, ("shape",)),
    **SEQUENCE_OPERATIONS,
    "softmax_cross_entropy": Operation(_loss, is_loss=True),
    "sum_square_error": Operation(_loss, is_loss=True),
}
"""Every operation a network may hold, by the string that ``Layer.op`` carries."""


def infer_layer(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    """The layer that ``spec`` describes when its inputs have ``shapes``, each (channels, height, width) of one sample.

    ``needs_input_grad`` is left True: it depends on the graph. ``where`` opens every message. Raises InputError for an
    unknown operation, a wrong number of inputs, shapes that do not fit and sizes beyond the limits of this module.
    """
    if spec.op not in OPERATIONS:
        raise InputError(f"{where}: op", "unknown value", spec.op, did_you_mean(spec.op, OPERATIONS))
    operation, count = OPERATIONS[spec.op], len(shapes)
    if count < operation.min_inputs or (operation.max_inputs is not None and count > operation.max_inputs):
        allowed = f"{operation.min_inputs}" if operation.max_inputs else f"{operation.min_inputs} or more"
        raise InputError(f"{where}: from", f"wrong number of inputs for {spec.op}", count, allowed)
    layer = operation.rule(spec, shapes, where)
    _check_limits(layer, where)
    return layer


def _check_limits(layer: Layer, where: str) -> None:
    sizes = {
        "output dimension": (max(layer.out_shape), MAX_DIMENSION),
        "input dimension": (max(layer.in_shape), MAX_DIMENSION),
        "output elements": (layer.out_elements, MAX_ELEMENTS),
        "input elements": (layer.in_elements, MAX_ELEMENTS),
        "parameters": (layer.parameters, MAX_ELEMENTS),
        "multiply-accumulates": (layer.macs, MAX_MACS),
    }
    for what, (size, limit) in sizes.items():
        if size > limit:
            raise InputError(where, f"{what} beyond the limit", size, f"up to {limit}")
