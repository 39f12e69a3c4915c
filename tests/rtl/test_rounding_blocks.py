"""Requantisation, stochastic rounding, OR-tree scale and generator against integers of Python, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest

from tests.rtl.rtl_model import RtlModel, pack, signed, unpack

CYCLES = 2500
Ints = npt.NDArray[np.int64]


def any_magnitude(rng: np.random.Generator, width: int, count: int) -> list[int]:
    """Signed numbers of `width` bits whose lengths in bits are even, and the ends of the range."""
    lengths = rng.integers(0, width, count)
    values = [int(rng.integers(0, 1 << 62)) % (1 << int(n)) * int(rng.choice([-1, 1])) for n in lengths]
    values[:6] = [-(1 << (width - 1)), (1 << (width - 1)) - 1, 0, 1, -1, 1 - (1 << (width - 1))]
    return values


def clip(value: int, width: int) -> int:
    most = (1 << (width - 1)) - 1
    return max(-most, min(most, value))


def half_up(value: int, shift: int) -> int:
    """value / 2^shift to the nearest whole number, ties to +infinity, for a shift of either sign."""
    return (Fraction(value) / Fraction(2) ** shift + Fraction(1, 2)).__floor__()


def column(values: list[int], width: int) -> npt.NDArray[np.uint32]:
    return pack(np.array(values, np.int64)[:, None], width)


@pytest.mark.parametrize(("in_width", "out_width"), [(32, 8), (48, 16), (9, 2), (64, 33)])
def test_requantise(build_model: Callable[..., RtlModel], in_width: int, out_width: int) -> None:
    rng = np.random.default_rng(in_width + out_width)
    values = any_magnitude(rng, in_width, CYCLES)
    shifts = [int(s) for s in rng.integers(-128, 128, CYCLES)]
    near = rng.random(CYCLES) < 0.8
    shifts = [int(rng.integers(-out_width, in_width + 2)) if n else s for n, s in zip(near, shifts, strict=True)]
    model = build_model("requantise", InWidth=in_width, OutWidth=out_width)
    out = model.run({"value_i": column(values, in_width), "shift_i": column(shifts, 8)})
    got = signed(unpack(out["value_o"], out_width, 1), out_width)[:, 0]
    want = [clip(half_up(v, s), out_width) for v, s in zip(values, shifts, strict=True)]
    np.testing.assert_array_equal(got, want)


def stochastic(value: int, shift: int, draw: int) -> int:
    """(value + a draw below 2^shift) / 2^shift, rounded down."""
    if shift <= 0:
        return value << -shift
    return (value + ((draw % (1 << min(shift, 32))) << max(shift - 32, 0))) >> shift


@pytest.mark.parametrize(("in_width", "out_width", "most"), [(32, 8, 48), (48, 16, 32), (64, 33, 64)])
def test_stochastic_round(build_model: Callable[..., RtlModel], in_width: int, out_width: int, most: int) -> None:
    rng = np.random.default_rng(in_width)
    values = any_magnitude(rng, in_width, CYCLES)
    shifts = [int(s) for s in rng.integers(-128, 128, CYCLES)]
    near = rng.random(CYCLES) < 0.8
    shifts = [int(rng.integers(-out_width, in_width + 2)) if n else s for n, s in zip(near, shifts, strict=True)]
    draws = [int(r) for r in rng.integers(0, 1 << 32, CYCLES)]
    draws[:8] = [0, (1 << 32) - 1] * 4
    model = build_model("stochastic_round", InWidth=in_width, OutWidth=out_width, MaxShift=most)
    out = model.run({"value_i": column(values, in_width), "shift_i": column(shifts, 8), "random_i": column(draws, 32)})
    got = signed(unpack(out["value_o"], out_width, 1), out_width)[:, 0]
    rounded = [stochastic(v, min(s, most), r) for v, s, r in zip(values, shifts, draws, strict=True)]
    np.testing.assert_array_equal(got, [clip(value, out_width) for value in rounded])


def test_stochastic_rounding_keeps_the_mean(build_model: Callable[..., RtlModel]) -> None:
    model = build_model("stochastic_round", InWidth=32, OutWidth=8)
    draws = np.random.default_rng(1).integers(0, 1 << 32, 20_000)
    for value in (-37, -8, -1, 3, 29):
        stimulus = {"value_i": np.full(20_000, value), "shift_i": np.full(20_000, 4), "random_i": draws}
        got = signed(unpack(model.run(stimulus)["value_o"], 8, 1), 8)
        assert abs(got.mean() - value / 16) < 0.02  # five standard errors are 0.018


@pytest.mark.parametrize(("lanes", "width"), [(1, 8), (3, 32), (5, 64)])
def test_or_tree_scale(build_model: Callable[..., RtlModel], lanes: int, width: int) -> None:
    rng = np.random.default_rng(lanes)
    data = np.array(any_magnitude(rng, width, CYCLES * lanes)).reshape(CYCLES, lanes)
    data = np.where(rng.random((CYCLES, lanes)) < 0.5, data, data % 4)
    enable, valid, clear = rng.random(CYCLES) < 0.8, rng.random(CYCLES) < 0.7, rng.random(CYCLES) < 0.2
    model = build_model("or_tree_scale", Lanes=lanes, Width=width)
    out = model.run({"en_i": enable, "valid_i": valid, "clear_i": clear, "data_i": pack(data, width)})
    got = unpack(out["bitlen_o"], width.bit_length(), 1)[:, 0]
    largest, want = 0, []
    for beat, is_valid, is_first in zip(data[enable], valid[enable], clear[enable], strict=True):
        seen = max(abs(int(value)) for value in beat) if is_valid else 0
        largest = max(0 if is_first else largest, seen)
        want.append(largest.bit_length())
    np.testing.assert_array_equal(got[enable][1:], want[:-1])


def xorshift(state: int) -> int:
    state ^= state << 13 & 0xFFFFFFFF
    state ^= state >> 17
    return state ^ (state << 5 & 0xFFFFFFFF)


@pytest.mark.parametrize("draws", [1, 3, 12, 64])
def test_xorshift32(build_model: Callable[..., RtlModel], draws: int) -> None:
    rng = np.random.default_rng(draws)
    load, move = rng.random(2000) < 0.02, rng.random(2000) < 0.7
    seeds = rng.integers(0, 1 << 32, 2000)
    seeds[rng.random(2000) < 0.2] = 0
    model = build_model("xorshift32", Draws=draws)
    out = model.run({"load_i": load, "seed_i": seeds, "next_i": move}, before_edge=True)
    got = unpack(out["draws_o"], 32, draws)
    state = 1
    for cycle in range(2000):
        drawn, value = [], state
        for _ in range(draws):
            value = xorshift(value)
            drawn.append(value)
        assert list(got[cycle]) == drawn
        state = (int(seeds[cycle]) or 1) if load[cycle] else value if move[cycle] else state
