"""The floating-point units against numpy, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.rtl.float_reference import Bits, FloatFormat
from tests.rtl.rtl_model import RtlModel, pack, unpack

FORMATS = [FloatFormat(8, 7), FloatFormat(8, 23), FloatFormat(5, 10), FloatFormat(4, 3)]
LATENCY = {"fp_mul": 3, "fp_add": 5}
VECTORS = 20_000
format_cases = pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: f"e{fmt.exp_width}m{fmt.man_width}")


def drive(model: RtlModel, a: Bits, b: Bits, latency: int, seed: int, stall: float) -> Bits:
    """Feed pairs with gaps and stalls; returns the valid results in order, and checks when they appear."""
    rng = np.random.default_rng(seed)
    cycles = int((len(a) + 100) * (1.8 if stall else 1.0) / (1 - stall)) + latency
    enable, offered = rng.random(cycles) >= stall, rng.random(cycles) >= stall / 2
    taken = enable & offered
    taken &= np.cumsum(taken) <= len(a)
    assert taken.sum() == len(a), "the stimulus is too short"
    inputs = [rng.integers(0, 1 << 63, cycles, np.uint64) for _ in range(2)]  # rubbish wherever it must be ignored
    inputs[0][taken], inputs[1][taken] = a, b
    valid_i = np.where(enable, taken, offered)
    out = model.run({"en_i": enable, "valid_i": valid_i, "a_i": inputs[0], "b_i": inputs[1]})
    valid, result = out["valid_o"][:, 0] != 0, out["result_o"][:, 0]
    # After the k-th enabled edge the output belongs to the operands of enabled edge k - latency + 1.
    expected_valid = np.concatenate([np.zeros(latency - 1, bool), taken[enable]])[: enable.sum()]
    np.testing.assert_array_equal(valid[enable], expected_valid)
    stalled = np.flatnonzero(~enable[1:]) + 1
    np.testing.assert_array_equal(valid[stalled], valid[stalled - 1])
    held = stalled[valid[stalled]]
    np.testing.assert_array_equal(result[held], result[held - 1])
    return result[enable & valid].astype(np.uint64)


def assert_same(fmt: FloatFormat, a: Bits, b: Bits, got: Bits, want: Bits) -> None:
    wrong = np.flatnonzero(got != want[: len(got)])
    lines = [
        f"{fmt.decode(a[i : i + 1])[0]!r} {fmt.decode(b[i : i + 1])[0]!r}: {int(a[i]):#x} {int(b[i]):#x} "
        f"got {int(got[i]):#x} want {int(want[i]):#x}"
        for i in wrong[:10]
    ]
    assert not len(wrong), "\n".join([f"{len(wrong)} of {len(got)} wrong", *lines])


def check_unit(
    build_model: Callable[..., RtlModel], unit: str, fmt: FloatFormat, pairs: tuple[Bits, Bits], stall: float
) -> None:
    model = build_model(unit, ExpWidth=fmt.exp_width, ManWidth=fmt.man_width)
    a, b = pairs
    latency = LATENCY[unit]
    padded = [np.concatenate([x, np.zeros(latency, np.uint64)]) for x in (a, b)]  # push the last results out
    got = drive(model, padded[0], padded[1], latency, seed=len(a), stall=stall)
    assert len(got) >= len(a)
    want = fmt.multiply(a, b) if unit == "fp_mul" else fmt.add(a, b)
    assert_same(fmt, a, b, got[: len(a)], want)


@format_cases
@pytest.mark.parametrize("unit", LATENCY)
def test_random_numbers_with_stalls(build_model: Callable[..., RtlModel], unit: str, fmt: FloatFormat) -> None:
    pairs = fmt.random_pairs(np.random.default_rng(fmt.width), VECTORS)
    check_unit(build_model, unit, fmt, pairs, stall=0.3)


@format_cases
@pytest.mark.parametrize("unit", LATENCY)
def test_corners(build_model: Callable[..., RtlModel], unit: str, fmt: FloatFormat) -> None:
    corners = fmt.corners()
    a, b = (x.ravel() for x in np.meshgrid(corners, corners))
    check_unit(build_model, unit, fmt, (a, b), stall=0.0)


@pytest.mark.parametrize("unit", LATENCY)
def test_every_pair_of_a_small_format(build_model: Callable[..., RtlModel], unit: str) -> None:
    fmt = FloatFormat(4, 3)
    a, b = (x.ravel() for x in np.meshgrid(np.arange(256, dtype=np.uint64), np.arange(256, dtype=np.uint64)))
    check_unit(build_model, unit, fmt, (a, b), stall=0.0)


@pytest.mark.parametrize("unit", LATENCY)
def test_reference_agrees_with_numpy_binary32(unit: str) -> None:
    """The reference itself against the machine's float32, wherever no subnormal number is involved."""
    fmt = FloatFormat(8, 23)
    a, b = fmt.random_pairs(np.random.default_rng(7), 200_000)
    x, y = (bits.astype(np.uint32).view(np.float32) for bits in (a, b))
    with np.errstate(all="ignore"):
        machine = x * y if unit == "fp_mul" else x + y
    tiny = np.finfo(np.float32).tiny
    subnormal = [(np.abs(v) < tiny) & (v != 0) for v in (x, y, machine)]
    usable = ~(subnormal[0] | subnormal[1] | subnormal[2] | np.isnan(machine) | (np.abs(machine) == tiny))
    got = (fmt.multiply(a, b) if unit == "fp_mul" else fmt.add(a, b))[usable]
    np.testing.assert_array_equal(got, machine.view(np.uint32)[usable])
    assert usable.mean() > 0.5


def expected_sums(fmt: FloatFormat, products: Bits, partial: Bits, tree: bool) -> Bits:
    """[cycles, outputs, inputs] products and addends to what the shared adders of fp_lane_array give."""
    if not tree:
        return fmt.add(products, partial)
    level = products
    while level.shape[2] > 1:
        level = fmt.add(level[:, :, 0::2], level[:, :, 1::2])
    return fmt.add(level[:, :, 0], partial[:, :, 0])


@pytest.mark.parametrize("tree", [False, True], ids=["lanes", "tree"])
@pytest.mark.parametrize(
    ("outputs", "inputs", "fmt"),
    [
        (1, 1, FORMATS[0]),
        (2, 2, FORMATS[0]),
        (2, 4, FORMATS[0]),
        (1, 2, FORMATS[1]),
    ],
    ids=["1x1-bf16", "2x2-bf16", "2x4-bf16", "1x2-fp32"],
)
def test_lane_array(
    build_model: Callable[..., RtlModel], outputs: int, inputs: int, fmt: FloatFormat, tree: bool
) -> None:
    model = build_model("fp_lane_array", ExpWidth=fmt.exp_width, ManWidth=fmt.man_width, Outputs=outputs, Inputs=inputs)
    rng = np.random.default_rng(inputs)
    cycles, count = 3000, outputs * inputs
    enable = rng.random(cycles) >= 0.25
    exponents = rng.integers(fmt.bias - 6, fmt.bias + 6, (cycles, inputs + 2 * count), np.uint64)
    bits = rng.integers(0, 1 << (fmt.width), exponents.shape, np.uint64)
    keep = np.uint64(1 << (fmt.width - 1) | (1 << fmt.man_width) - 1)
    bits = np.where(rng.random(bits.shape) < 0.02, bits, bits & keep | exponents << np.uint64(fmt.man_width))
    a, b, partial = bits[:, :inputs], bits[:, inputs : inputs + count], bits[:, inputs + count :]
    out = model.run(
        {
            "en_i": enable,
            "tree_i": np.full(cycles, tree),
            "valid_i": np.ones(cycles),
            "a_i": pack(a, fmt.width),
            "b_i": pack(b, fmt.width),
            "partial_i": pack(partial, fmt.width),
        }
    )
    levels = int(np.log2(inputs)) if tree else 0
    meets = LATENCY["fp_mul"] + LATENCY["fp_add"] * levels
    latency = meets + LATENCY["fp_add"]
    steps = int(enable.sum())
    taken_a, taken_b, taken_partial = (x[enable].reshape(steps, -1, inputs) for x in (a, b, partial))
    products = fmt.multiply(np.broadcast_to(taken_a, taken_b.shape), taken_b)
    last = steps - latency + 1
    want = expected_sums(fmt, products[:last], taken_partial[meets : meets + last], tree)
    got = unpack(out["result_o"], fmt.width, count)[enable][latency - 1 :].reshape(last, outputs, inputs)
    np.testing.assert_array_equal(got[:, :, 0] if tree else got, want)
    valid = out["valid_o"][enable, 0]
    np.testing.assert_array_equal(valid, np.arange(steps) >= latency - 1)
