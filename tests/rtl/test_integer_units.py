"""The integer units against numpy, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tests.rtl.rtl_model import RtlModel, pack, signed, unpack

CYCLES = 12_000
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def random_operands(rng: np.random.Generator, width: int, shape: tuple[int, ...]) -> Ints:
    """Signed operands of `width` bits, a fifth of them at the ends of the range or around zero."""
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    corners = rng.choice(np.array([low, low + 1, -1, 0, 1, high - 1, high]), shape)
    return np.where(rng.random(shape) < 0.2, corners, rng.integers(low, high, shape, endpoint=True))


def random_control(rng: np.random.Generator, cycles: int) -> tuple[Flags, Flags, Flags]:
    """Enable, valid and clear; the first valid operands carry clear."""
    enable, valid, clear = rng.random(cycles) >= 0.25, rng.random(cycles) >= 0.2, rng.random(cycles) < 0.05
    clear[np.flatnonzero(enable & valid)[0]] = True
    return enable, valid, clear


def wrap(values: Ints, width: int) -> Ints:
    """Modulo 2^width, in two's complement."""
    return signed(values.view(np.uint64), width)


def running_sums(terms: Ints, valid: Flags, clear: Flags, width: int) -> Ints:
    """[steps, ...] accumulator after each step: a valid term is added, or replaces the sum where clear is set."""
    total = np.zeros(terms.shape[1:], np.int64)
    result = np.empty_like(terms)
    for step, (term, is_valid, is_first) in enumerate(zip(terms, valid, clear, strict=True)):
        if is_valid:
            total = wrap((np.zeros_like(total) if is_first else total) + term, width)
        result[step] = total
    return result


def check_delayed(got: npt.NDArray[np.generic], want: npt.NDArray[np.generic], valid: Flags, latency: int) -> None:
    """`got` per enabled step equals `want` `latency` - 1 steps before, wherever that was valid."""
    steps = len(want) - latency + 1
    np.testing.assert_array_equal(got[latency - 1 :][valid[:steps]], want[:steps][valid[:steps]])


def check_valid(got: npt.NDArray[np.generic], valid: Flags, latency: int) -> None:
    """A valid flag follows valid_i by `latency` enabled steps and is low before."""
    want = np.concatenate([np.zeros(latency - 1, bool), valid])[: len(valid)]
    np.testing.assert_array_equal(got.ravel() != 0, want)


def check_stalls(out: dict[str, npt.NDArray[np.uint32]], enable: Flags, first: int) -> None:
    """Nothing moves on a stalled edge, once the data registers hold data."""
    stalled = np.flatnonzero(~enable)
    stalled = stalled[stalled > first]
    for words in out.values():
        np.testing.assert_array_equal(words[stalled], words[stalled - 1])


@pytest.mark.parametrize(("width", "acc_width"), [(8, 16), (8, 32), (16, 32), (16, 48)])
def test_mac_lane(build_model: Callable[..., RtlModel], width: int, acc_width: int) -> None:
    model = build_model("mac_lane", OperandWidth=width, AccWidth=acc_width)
    rng = np.random.default_rng(acc_width + width)
    a, b = random_operands(rng, width, (CYCLES, 1)), random_operands(rng, width, (CYCLES, 1))
    a[50:60], b[50:60] = -(1 << (width - 1)), -(1 << (width - 1))
    enable, valid, clear = random_control(rng, CYCLES)
    out = model.run({"en_i": enable, "valid_i": valid, "clear_i": clear, "a_i": pack(a, width), "b_i": pack(b, width)})
    product = a[enable] * b[enable]
    got_product = signed(unpack(out["product_o"], 2 * width, 1), 2 * width)[enable]
    np.testing.assert_array_equal(got_product, product)
    sums = running_sums(product, valid[enable], clear[enable], acc_width)
    check_delayed(signed(unpack(out["acc_o"], acc_width, 1), acc_width)[enable], sums, valid[enable], 2)
    check_valid(out["product_valid_o"][enable], valid[enable], 1)
    check_valid(out["acc_valid_o"][enable], valid[enable], 2)
    check_stalls(out, enable, first=20)


@pytest.mark.parametrize(("operands", "width"), [(1, 16), (2, 48), (3, 16), (7, 2), (16, 16), (48, 32), (256, 8)])
def test_adder_tree(build_model: Callable[..., RtlModel], operands: int, width: int) -> None:
    model = build_model("adder_tree", NumOperands=operands, InWidth=width)
    rng = np.random.default_rng(operands)
    data = random_operands(rng, width, (CYCLES, operands))
    data[50], data[51] = -(1 << (width - 1)), (1 << (width - 1)) - 1  # the most negative and most positive sums
    enable, valid, _ = random_control(rng, CYCLES)
    enable[50:52] = valid[50:52] = True
    out = model.run({"en_i": enable, "valid_i": valid, "data_i": pack(data, width)})
    latency = (operands - 1).bit_length()
    out_width = width + latency
    got = signed(unpack(out["sum_o"], out_width, 1), out_width)[:, 0]
    if latency == 0:
        np.testing.assert_array_equal(got, data[:, 0])
        np.testing.assert_array_equal(out["valid_o"][:, 0], valid)
        return
    check_delayed(got[enable], data[enable].sum(axis=1), np.ones(enable.sum(), bool), latency)
    check_valid(out["valid_o"][enable], valid[enable], latency)
    check_stalls(out, enable, first=20)


@pytest.mark.parametrize(
    ("width", "acc_width", "outputs", "inputs"), [(8, 32, 1, 1), (8, 32, 4, 4), (16, 48, 2, 3), (8, 24, 3, 8)]
)
def test_lane_array(
    build_model: Callable[..., RtlModel], width: int, acc_width: int, outputs: int, inputs: int
) -> None:
    model = build_model("int_lane_array", OperandWidth=width, AccWidth=acc_width, Outputs=outputs, Inputs=inputs)
    rng = np.random.default_rng(inputs)
    cycles, lanes = 4000, outputs * inputs
    a, b = random_operands(rng, width, (cycles, inputs)), random_operands(rng, width, (cycles, lanes))
    enable, valid, clear = random_control(rng, cycles)
    out = model.run({"en_i": enable, "valid_i": valid, "clear_i": clear, "a_i": pack(a, width), "b_i": pack(b, width)})
    steps = int(enable.sum())
    products = a[enable][:, None, :] * b[enable].reshape(steps, outputs, inputs)
    lane_sums = running_sums(products, valid[enable], clear[enable], acc_width)
    tree_sums = running_sums(products.sum(axis=2), valid[enable], clear[enable], acc_width)
    got_lane = signed(unpack(out["lane_acc_o"], acc_width, lanes), acc_width)[enable]
    got_tree = signed(unpack(out["tree_acc_o"], acc_width, outputs), acc_width)[enable]
    tree_latency = 2 + (inputs - 1).bit_length()
    check_delayed(got_lane.reshape(products.shape), lane_sums, valid[enable], 2)
    check_delayed(got_tree, tree_sums, valid[enable], tree_latency)
    check_valid(out["lane_valid_o"][enable], valid[enable], 2)
    check_valid(out["tree_valid_o"][enable], valid[enable], tree_latency)
    check_stalls(out, enable, first=30)
