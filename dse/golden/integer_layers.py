"""Operations of integer training; docs/training.md states each rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.golden.convolution import Window, forward, input_grad, weight_grad
from dse.golden.integer_batch_norm import IntegerBatchNorm
from dse.golden.operation import SHARED, Operation, Parameters
from dse.golden.pooling import RECIPROCAL_BITS, reciprocal, sum_pool, sum_pool_grad
from dse.golden.product import Array
from dse.golden.rounding import Scaled, limit, requantise
from dse.network import Layer

__all__ = ["activation_shift", "integer_operations"]


def activation_shift(layer: Layer, bits: int) -> int:
    """The shift from the sums of a ``conv`` or ``fc`` layer to its outputs, of ``bits`` each.

    bits - 1 for weights in units of 2^-(bits - 1), and log2 of what a layer of n_in products per output exceeds the
    weights' bound of sqrt(6 / n_in) by (Luo et al., J. Semicond. 41(2), 2020, equation for a_shift, with L_min = 1),
    rounded, not below 0.
    """
    inputs = layer.in_shape[0] // layer.groups * layer.kernel[0] * layer.kernel[1]
    return bits - 1 + max(0, round(math.log2(1 / math.sqrt(6 / inputs))))


class _Convolution(Operation):
    """Convolution and fully connected layers: exact sums, shifted, rounded and clipped."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def start(self, layer: Layer, rng: np.random.Generator) -> Parameters:
        shape = (layer.out_shape[0], layer.in_shape[0] // layer.groups, *layer.kernel)
        kind, bound = _stored(self.bits), limit(self.bits)
        drawn = {"weight": rng.integers(-bound, bound, shape, kind, endpoint=True)}
        return drawn | ({"bias": np.zeros(shape[0], kind)} if layer.bias else {})

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        x, shift = inputs[0].reshape(-1, *layer.in_shape), activation_shift(layer, self.bits)
        sums = forward(x, parameters["weight"], Window.of(layer))
        if layer.bias:
            sums += parameters["bias"].astype(np.int64)[:, None, None] << shift
        return requantise(sums, shift, self.bits), x

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        e, window = error.values, Window.of(layer)
        gradients = {"weight": weight_grad(kept, e, window)}
        if layer.bias:
            gradients["bias"] = _channel_sums(e)
        if not layer.needs_input_grad:
            return [], gradients
        sums = input_grad(e, parameters["weight"], window, layer.in_shape[1:])
        return [Scaled(sums, error.exponent - activation_shift(layer, self.bits))], gradients


class _Bias(Operation):
    """One number per channel added, and clipped."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def start(self, layer: Layer, rng: np.random.Generator) -> Parameters:
        return {"bias": np.zeros(layer.out_shape[0], _stored(self.bits))}

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        wide = inputs[0].astype(np.int64) + parameters["bias"][:, None, None]
        return requantise(wide, 0, self.bits), None

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        return [error], {"bias": _channel_sums(error.values)}


class _Add(Operation):
    """The sum of all inputs, clipped; the error goes to each as it is."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        wide = sum((part.astype(np.int64) for part in inputs[1:]), inputs[0].astype(np.int64))
        return requantise(wide, 0, self.bits), len(inputs)

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        return [error] * kept, {}


class _Average(Operation):
    """The sum of each window times the reciprocal of its size in 16 fraction bits, rounded; padding counts as 0."""

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        wide = sum_pool(inputs[0], Window.of(layer)) * reciprocal(math.prod(layer.kernel))
        return requantise(wide, RECIPROCAL_BITS, self.bits), None

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        sums = sum_pool_grad(error.values, Window.of(layer), layer.in_shape[1:])
        return [Scaled(sums * reciprocal(math.prod(layer.kernel)), error.exponent - RECIPROCAL_BITS)], {}


def integer_operations(bits: int) -> Mapping[str, Operation]:
    """Every operation that is trained in integers of ``bits``, by name."""
    return {
        **SHARED,
        "conv": _Convolution(bits),
        "fc": _Convolution(bits),
        "bias": _Bias(bits),
        "add": _Add(bits),
        "avg_pool": _Average(bits),
        "global_avg_pool": _Average(bits),
        "batch_norm": IntegerBatchNorm(bits),
    }


def _stored(bits: int) -> type[np.int8 | np.int16]:
    return np.int8 if bits <= 8 else np.int16


def _channel_sums(e: Array) -> Array:
    sums: Array = e.sum(axis=(0, 2, 3), dtype=np.int64)
    return sums
