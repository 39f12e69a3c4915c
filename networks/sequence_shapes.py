"""Shape rules of what transformers add: products of two activations, embeddings, learned maps, joined positions.

A sequence of T positions of D features is a map of D channels, 1 row and T columns; attention heads are groups of
channels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from dse.errors import InputError
from dse.network import Layer, Shape
from dse.networks.layer_spec import LayerSpec
from dse.networks.shape_rule import Operation, describe, shaped

__all__ = ["SEQUENCE_OPERATIONS"]


def _matmul(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    """In every group, out[m, p] = sum over n of second[m, n] * first[n, p], for each pixel p of the first input.

    The second input has m channels and n pixels per group; with ``transpose`` n channels and m pixels.
    """
    (channels, height, width), second = shapes
    groups, pixels = spec.groups, second[1] * second[2]
    for number in (channels, second[0]):
        if number % groups:
            rule = "must divide the channels of both inputs"
            raise InputError(f"{where}: groups", rule, groups, f"divisors of {channels} and {second[0]}")
    per_group = second[0] // groups
    m, n = (pixels, per_group) if spec.transpose else (per_group, pixels)
    if n != channels // groups:
        what = "channels" if spec.transpose else "pixels"
        rule = f"the second input of a matmul needs as many {what} per group as the first has channels"
        raise InputError(f"{where}: from", rule, describe(spec, shapes), f"{channels // groups} {what}")
    return replace(shaped(spec, shapes[0], (groups * m, height, width)), groups=groups)


def _embedding(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    """Each element of the input is the number of a row of a table with ``rows`` rows of ``out_channels`` values."""
    channels, height, width = shapes[0]
    if channels > 1:
        height, width = 1, math.prod(shapes[0])
    return shaped(spec, shapes[0], (spec.out_channels, height, width), spec.rows * spec.out_channels)


def _parameter(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    """A learned map, the same for every sample: a positional embedding, a class token.

    Where its pixels are rows of a table, ``table_rows`` counts all of them.
    """
    if spec.shape is None:
        raise InputError(f"{where}: shape", "required key is missing")
    return shaped(spec, spec.shape, spec.shape, spec.table_rows * spec.shape[0] or math.prod(spec.shape))


def _concat(spec: LayerSpec, shapes: Sequence[Shape], where: str) -> Layer:
    place = {"channels": (0,), "rows": (1,), "columns": (2,), "pixels": (1, 2)}[spec.axis]
    fixed = {tuple(size for axis, size in enumerate(shape) if axis not in place) for shape in shapes}
    if len(fixed) > 1:
        equal = "equal height and width" if spec.axis == "channels" else f"equal sizes beside the {spec.axis}"
        raise InputError(f"{where}: from", f"concat needs inputs of {equal}", describe(spec, shapes))
    joined = list(shapes[0])
    joined[place[-1]] = sum(math.prod(shape[axis] for axis in place) for shape in shapes)
    if spec.axis == "pixels":
        joined[1] = 1
    channels, height, width = joined
    return shaped(spec, (channels, height, width), (channels, height, width))


SEQUENCE_OPERATIONS = {
    "matmul": Operation(_matmul, ("groups", "transpose"), min_inputs=2, max_inputs=2),
    "embedding": Operation(_embedding, ("rows", "out_channels")),
    "parameter": Operation(_parameter, ("shape", "table_rows"), min_inputs=0, max_inputs=0),
    "concat": Operation(_concat, ("axis",), min_inputs=2, max_inputs=None),
}
