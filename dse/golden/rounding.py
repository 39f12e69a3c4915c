"""Rounding, clipping and scales of integer training: the arithmetic of DarkFPGA with its misprints put right.

Source: Luo et al., Journal of Semiconductors 41(2), 022403, 2020, equations for Q(x, k, shift), shift(x) and e_q. The
clip bounds are printed swapped and 1 << (shift - 1) is undefined at shift 0; docs/training.md states what holds here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.golden.product import Array, magnitude

__all__ = ["Scaled", "divide", "limit", "normalise", "requantise", "shift_round"]


def limit(bits: int) -> int:
    """The largest magnitude of a symmetric number of ``bits``: 127 for 8, so that -128 never occurs."""
    return (1 << (bits - 1)) - 1


def shift_round(values: Array, shift: int) -> Array:
    """``values`` / 2^shift to the nearest integer, ties towards +infinity; a left shift where ``shift`` <= 0. int64."""
    wide = values.astype(np.int64)
    if shift <= 0:
        return np.left_shift(wide, -shift)
    return np.right_shift(wide + (1 << (shift - 1)), shift)


def requantise(values: Array, shift: int, bits: int) -> Array:
    """``shift_round`` clipped to -limit(bits) .. limit(bits), in the smallest type of ``bits`` (int8 or int16)."""
    bound = limit(bits)
    return np.clip(shift_round(values, shift), -bound, bound).astype(np.int8 if bits <= 8 else np.int16)


def divide(numerator: Array, denominator: int) -> Array:
    """``numerator`` / ``denominator`` (> 0) to the nearest integer, ties towards +infinity."""
    result: Array = (2 * numerator + denominator) // (2 * denominator)
    return result


@dataclass(frozen=True, slots=True)
class Scaled:
    """An error: the derivative of the loss by an integer tensor is ``values`` * 2^``exponent`` (0 for floats)."""

    values: Array
    exponent: int = 0


def normalise(wide: Scaled, bits: int) -> Scaled:
    """The error in ``bits``: scaled so that its largest magnitude takes all of them, and rounded.

    s is the bit length of the OR over all magnitudes, which is that of the largest; the shift is s - (bits - 1), to the
    left where it is negative. An error of zeros stays as it is.
    """
    length = magnitude(wide.values).bit_length()
    shift = length - (bits - 1) if length else 0
    return Scaled(requantise(wide.values, shift, bits), wide.exponent + shift)
