"""Batch normalisation in integers: two sums per channel, one square root and one division, then only products.

The algorithm is that of Ioffe and Szegedy (ICML 2015, algorithm 1); its integer form is this project's own and is
stated in docs/training.md. With k bits, F = k - 3: a normalised value of 1 is 2^F (32 for int8), so that four standard
deviations fit; a scale of 1 is 2^(k - 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dse.golden.operation import Operation, Parameters
from dse.golden.product import Array
from dse.golden.rounding import Scaled, divide, requantise, shift_round
from dse.network import Layer

__all__ = ["IntegerBatchNorm", "error_exponent"]

MEAN_BITS = 8
"""Fraction bits of a mean."""
INVERSE_BITS = 8
"""Fraction bits, above k, of the inverse of a standard deviation, which is taken to be at least 1."""
ERROR_BITS = 4
"""Fraction bits of the centred error before it is scaled; chosen so that its product fits 32 bits for int8."""
FOLLOW_SHIFT = 3
"""The running statistics move by 1/8 of the difference; they serve evaluation only."""


class IntegerBatchNorm(Operation):
    """Forward statistics and normalisation, backward with both reductions."""

    def __init__(self, bits: int) -> None:
        self.bits, self.normal_bits, self.inverse_bits = bits, bits - 3, bits + INVERSE_BITS

    def start(self, layer: Layer, rng: np.random.Generator) -> Parameters:
        """Scales of 1 and offsets of 0; running statistics of mean 0 and deviation 1."""
        kind, channels = np.int8 if self.bits <= 8 else np.int16, layer.out_shape[0]
        return {
            "weight": np.full(channels, 1 << (self.bits - 2), kind),
            "bias": np.zeros(channels, kind),
            "mean": np.zeros(channels, np.int64),
            "inverse": np.full(channels, 1 << self.inverse_bits, np.int64),
        }

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        """With the batch's statistics in training, else with the running ones."""
        x = inputs[0].astype(np.int64)
        mean, inverse = statistics(x, self.inverse_bits) if training else (parameters["mean"], parameters["inverse"])
        centred = ((x << MEAN_BITS) - _per_channel(mean)) * _per_channel(inverse)
        normal = requantise(centred, MEAN_BITS + self.inverse_bits - self.normal_bits, self.bits)
        one = self.bits - 2
        wide = normal.astype(np.int64) * _per_channel(parameters["weight"]) + (_per_channel(parameters["bias"]) << one)
        return requantise(wide, one, self.bits), (normal, mean, inverse)

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        """The wide error of the input, and the sums that are the gradients of scale and offset."""
        normal, _, inverse = kept
        e, wide_normal = error.values.astype(np.int64), normal.astype(np.int64)
        gradients = {"weight": (e * wide_normal).sum(axis=(0, 2, 3)), "bias": e.sum(axis=(0, 2, 3))}
        count, fraction = e.size // e.shape[1], 2 * self.normal_bits
        of_bias, of_weight = (_per_channel(divide(gradients[n] << MEAN_BITS, count)) for n in ("bias", "weight"))
        centred = (e << fraction + MEAN_BITS) - (of_bias << fraction) - wide_normal * of_weight
        scale = shift_round(parameters["weight"] * inverse, self.bits)
        wide = shift_round(centred, fraction + MEAN_BITS - ERROR_BITS) * _per_channel(scale)
        return [Scaled(wide, error.exponent + error_exponent(self.bits))], gradients

    def settle(self, parameters: Parameters, kept: Any) -> Parameters:
        """Running statistics moved towards those of the batch."""
        followed = {
            name: parameters[name] + shift_round(now - parameters[name], FOLLOW_SHIFT)
            for name, now in zip(("mean", "inverse"), kept[1:], strict=True)
        }
        return {**parameters, **followed}


def error_exponent(bits: int) -> int:
    """What is added to an error's exponent on the way back, for operands of ``bits``: -13 for any width."""
    normal_bits, inverse_bits = bits - 3, bits + INVERSE_BITS
    return bits - ERROR_BITS - inverse_bits + normal_bits - (bits - 2)


def statistics(x: Array, inverse_bits: int) -> tuple[Array, Array]:
    """(mean, inverse of the standard deviation) of each channel of ``x`` [B, C, H, W], int64 [C] with fraction bits.

    mean = round(S1 * 2^8 / n) and inverse = floor(n * 2^inverse_bits / max(isqrt(n * S2 - S1^2), n)), where S1 and S2
    are the sums of the n values and of their squares.
    """
    count = x.size // x.shape[1]
    sums, squares = x.sum(axis=(0, 2, 3)), (x * x).sum(axis=(0, 2, 3))
    deviations = [math.isqrt(count * int(s2) - int(s1) ** 2) for s1, s2 in zip(sums, squares, strict=True)]
    inverse = [(count << inverse_bits) // max(deviation, count) for deviation in deviations]
    return divide(sums << MEAN_BITS, count), np.array(inverse, np.int64)


def _per_channel(values: Array) -> Array:
    return values.astype(np.int64)[:, None, None]
