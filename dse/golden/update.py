"""The update of integer weights: a step that is stochastically rounded, so that it is right on average.

Source: Luo et al., Journal of Semiconductors 41(2), 022403, 2020, equation for g_q in the form with a random addend.
The learning rate is a power of two here, which goes into the shift: the largest step is 2^-rate_shift of the weights'
range, whatever the gradient's scale.
"""

from __future__ import annotations

import numpy as np

from dse.golden.product import Array, magnitude
from dse.golden.rounding import limit, shift_round

__all__ = ["VELOCITY_BITS", "stochastic_step", "updated", "updated_with_momentum"]

VELOCITY_BITS = 8
"""Fraction bits of a velocity, below the unit of a weight."""
MOMENTUM_SHIFT = 3
"""A velocity loses 2^-3 of itself in each step: a momentum of 7/8."""


def stochastic_step(gradient: Array, rate_shift: int, draws: Array, bits: int) -> Array:
    """The step that is subtracted from weights of ``bits``, int64 of the shape of ``gradient``.

    With s the bit length of the OR over the magnitudes of ``gradient``, shift = s + ``rate_shift`` - (bits - 1). The
    step is (gradient + r) >> shift, clipped, where r is the lowest ``shift`` bits of the weight's draw (uint32), moved
    up by shift - 32 where that is positive. A shift <= 0 is one to the left, without a draw's influence.
    """
    length = magnitude(gradient).bit_length()
    shift = length + rate_shift - (bits - 1)
    wide = gradient.astype(np.int64)
    if length == 0:
        return np.zeros_like(wide)
    if shift <= 0:
        step = np.left_shift(wide, -shift)
    else:
        random = draws.astype(np.int64) & ((1 << min(shift, 32)) - 1)
        step = (wide + (random << max(shift - 32, 0))) >> shift
    clipped: Array = np.clip(step, -limit(bits), limit(bits))
    return clipped


def updated(weights: Array, gradient: Array, rate_shift: int, draws: Array, bits: int) -> Array:
    """``weights`` after one step against ``gradient``, clipped, of their own type."""
    step = stochastic_step(gradient, rate_shift, draws, bits)
    moved: Array = np.clip(weights - step, -limit(bits), limit(bits)).astype(weights.dtype)
    return moved


def updated_with_momentum(
    weights: Array, velocity: Array, gradient: Array, rate_shift: int, draws: Array, bits: int
) -> tuple[Array, Array]:
    """(Weights, velocity) after one step; the velocity (int64) has ``VELOCITY_BITS`` fraction bits.

    It loses 2^-3 of itself and gains the step, shifted as in ``stochastic_step`` but rounded to those fraction bits;
    weights lose the velocity, stochastically rounded.
    """
    shift = magnitude(gradient).bit_length() + rate_shift - (bits - 1) - VELOCITY_BITS
    most = limit(bits + VELOCITY_BITS)
    step = np.clip(shift_round(gradient, shift), -most, most)
    moved: Array = velocity - shift_round(velocity, MOMENTUM_SHIFT) + step
    random = draws.astype(np.int64) & ((1 << VELOCITY_BITS) - 1)
    applied = np.clip((moved + random) >> VELOCITY_BITS, -limit(bits), limit(bits))
    changed: Array = np.clip(weights - applied, -limit(bits), limit(bits)).astype(weights.dtype)
    return changed, moved
