"""Rounding, scales, random draws and the update against definitions in exact rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.golden.rounding import Scaled, divide, limit, normalise, requantise, shift_round
from dse.golden.update import stochastic_step, updated, updated_with_momentum
from dse.golden.xorshift import Xorshift32, leap, step
from dse.layout import BlockedLayout

WIDE = st.integers(-(2**40), 2**40)


@settings(deadline=None)
@given(WIDE, st.integers(-20, 45))
def test_shifts_round_half_up(value: int, shift: int) -> None:
    got = int(shift_round(np.array([value]), shift)[0])
    assert got == math.floor(Fraction(value) / Fraction(2) ** shift + Fraction(1, 2))


@settings(deadline=None)
@given(WIDE, st.integers(-20, 45), st.sampled_from([8, 16]))
def test_requantise_clips_symmetrically(value: int, shift: int, bits: int) -> None:
    got = requantise(np.array([value]), shift, bits)
    assert got.dtype == (np.int8 if bits == 8 else np.int16)
    nearest = math.floor(Fraction(value) / Fraction(2) ** shift + Fraction(1, 2))
    assert int(got[0]) == max(-limit(bits), min(limit(bits), nearest))


@settings(deadline=None)
@given(WIDE, st.integers(1, 2**20))
def test_divide_rounds_half_up(value: int, count: int) -> None:
    assert int(divide(np.array([value]), count)[0]) == math.floor(Fraction(value, count) + Fraction(1, 2))


@settings(deadline=None)
@given(st.lists(WIDE, min_size=1, max_size=6), st.integers(-30, 30), st.sampled_from([8, 16]))
def test_a_normalised_error_uses_all_its_bits(values: list[int], exponent: int, bits: int) -> None:
    wide = np.array(values)
    got = normalise(Scaled(wide, exponent), bits)
    joined = 0
    for value in values:
        joined |= abs(value)
    if joined == 0:
        assert (got.exponent, got.values.tolist()) == (exponent, [0] * len(values))
        return
    shift = joined.bit_length() - (bits - 1)
    assert got.exponent == exponent + shift
    assert np.abs(got.values.astype(int)).max() > limit(bits) // 2
    real = [Fraction(int(v)) * Fraction(2) ** shift for v in got.values]
    for value, near in zip(values, real, strict=True):
        assert abs(value - near) <= Fraction(2) ** shift  # half a unit, or one where the clip takes 128 to 127


def test_xorshift_is_marsaglia_s() -> None:
    assert step(1) == 270369  # 1 ^ 1 << 13 = 8193, ^ >> 17 = 8193, ^ << 5 = 270369
    assert Xorshift32(0).draw(1)[0] == Xorshift32(1).draw(1)[0] == 270369


@pytest.mark.parametrize("seed", [1, 2463534242, 0xFFFFFFFF])
def test_long_sequences_are_those_of_single_steps(seed: int) -> None:
    random, state, expected = Xorshift32(seed), seed, []
    for _ in range(3000):
        state = step(state)
        expected.append(state)
    got = np.concatenate([random.draw(count) for count in (1, 0, 2, 3, 700, 1023, 1024, 247)])
    assert got.tolist() == expected
    assert random.state == state


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(1, 2**32 - 1))
def test_a_leap_is_so_many_steps(steps: int, state: int) -> None:
    """What lane i of L does: the XOR of the matrix's columns for the bits that are set."""
    leapt = 0
    for bit, column in enumerate(leap(steps)):
        leapt ^= column * (state >> bit & 1)
    for _ in range(steps):
        state = step(state)
    assert leapt == state


@settings(deadline=None)
@given(st.integers(-(2**33), 2**33), st.integers(0, 12), st.integers(0, 2**32 - 1), st.sampled_from([8, 16]))
def test_a_step_is_the_formula_and_never_further_than_one_from_exact(
    gradient: int, rate_shift: int, draw: int, bits: int
) -> None:
    got = int(stochastic_step(np.array([gradient]), rate_shift, np.array([draw], np.uint32), bits)[0])
    if gradient == 0:
        assert got == 0
        return
    shift = abs(gradient).bit_length() + rate_shift - (bits - 1)
    exact = Fraction(gradient) / Fraction(2) ** shift
    exact = max(Fraction(-limit(bits)), min(Fraction(limit(bits)), exact))
    assert abs(got - exact) < 1
    if shift > 0 and abs(exact) < limit(bits):
        random = draw % 2**shift if shift <= 32 else draw * 2 ** (shift - 32)
        assert got == (gradient + random) // 2**shift


@pytest.mark.parametrize("gradient", [-1000, -513, -512, -1, 1, 3, 511, 900])
def test_steps_are_unbiased(gradient: int) -> None:
    """The mean of 200,000 steps lies within five standard errors of the exact step, for negatives too."""
    gradients = np.full(200_000, gradient)
    gradients[0] = 1023  # so that the scale is the same for all
    steps = stochastic_step(gradients, 7, Xorshift32(7).draw(200_000), 8)[1:]
    share = gradient / 1024 % 1
    error = 5 * math.sqrt(max(share * (1 - share), 1e-9) / len(steps)) + 1e-9
    assert steps.mean() == pytest.approx(gradient / 1024, abs=error)
    assert set(steps.tolist()) <= {math.floor(gradient / 1024), math.ceil(gradient / 1024)}


def test_weights_stay_in_range_and_in_their_type() -> None:
    weights = np.array([127, -127, 100], np.int8)
    moved = updated(weights, np.array([-(2**20), 2**20, 1]), 0, Xorshift32(1).draw(3), 8)
    assert moved.dtype == np.int8
    assert moved.tolist() == [127, -127, 100]
    assert updated(weights, np.zeros(3, np.int64), 0, Xorshift32(1).draw(3), 8).tolist() == weights.tolist()


def test_a_velocity_loses_an_eighth_and_gains_the_step() -> None:
    """By hand: the largest gradient, 64, steps by 64 * 2^8 / 2^(7 + 4 - 7) = 1024 in units of 2^-8, that is by 4."""
    weights, gradient = np.array([10, -10, 0], np.int8), np.array([64, -32, 0])
    velocity = np.array([800, 0, -12])
    moved, after = updated_with_momentum(weights, velocity, gradient, 4, np.array([0, 255, 11], np.uint32), 8)
    assert after.tolist() == [800 - 100 + 1024, -512, -12 + 1]  # R(-12, 3) = -1: ties go up
    assert moved.tolist() == [10 - 1724 // 256, -10 - (-512 + 255) // 256, 0]


def test_a_constant_gradient_ends_at_eight_steps() -> None:
    weights, velocity, random = np.zeros(2, np.int8), np.zeros(2, np.int64), Xorshift32(3)
    for _ in range(100):
        _, velocity = updated_with_momentum(weights, velocity, np.array([1000, -1000]), 5, random.draw(2), 8)
    step = 1000 / 2 ** (10 + 5 - 7)
    assert velocity.tolist() == pytest.approx([8 * step * 256, -8 * step * 256], rel=0.01)


def test_draws_go_to_weights_in_the_order_of_storage() -> None:
    """Filling of the blocks takes draws too: what the hardware streams, word for word."""
    layout = BlockedLayout((3, 2, 2, 1), (2, 2))
    draws = Xorshift32(9).draw(layout.elements)
    tensor = layout.unpack(draws)
    assert tensor[2, 1, 1, 0] == draws[layout.element(2, 1, 1, 0)]
    assert layout.elements > tensor.size
