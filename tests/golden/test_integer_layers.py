"""Integer operations that are not products: each element by the line of docs/training.md that defines it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.golden import Scaled
from dse.golden.integer_layers import activation_shift, integer_operations
from dse.golden.product import Array
from dse.network import Layer, Shape

OPERATIONS = integer_operations(8)
VALUES = st.lists(st.integers(-127, 127), min_size=36, max_size=36)


def clipped(value: int) -> int:
    return max(-127, min(127, value))


def maps(values: list[int], shape: Shape) -> Array:
    return np.array(values, np.int8).reshape(1, *shape)


def layer(op: str, out: Shape, kernel: tuple[int, int] = (1, 1), inputs: int = 1) -> Layer:
    return Layer("l", op, ("x",) * inputs, (1, 6, 6), out, kernel, kernel)


@settings(deadline=None)
@given(VALUES, st.sampled_from([(2, 2), (3, 3), (2, 3), (6, 6)]))
def test_an_average_is_a_rounded_product_with_the_reciprocal(values: list[int], kernel: tuple[int, int]) -> None:
    rows, columns = 6 // kernel[0], 6 // kernel[1]
    pool, x = layer("avg_pool", (1, rows, columns), kernel), maps(values, (1, 6, 6))
    y, kept = OPERATIONS["avg_pool"].forward(pool, {}, [x], True)
    factor = math.floor(2**16 / math.prod(kernel) + 0.5)
    for r, c in np.ndindex(rows, columns):
        window = x[0, 0, r * kernel[0] : (r + 1) * kernel[0], c * kernel[1] : (c + 1) * kernel[1]]
        assert y[0, 0, r, c] == clipped((int(window.astype(int).sum()) * factor + (1 << 15)) >> 16)
    (error,), _ = OPERATIONS["avg_pool"].backward(pool, {}, kept, Scaled(y, 3))
    assert error.exponent == 3 - 16
    np.testing.assert_array_equal(error.values, np.kron(y.astype(int), np.ones(kernel, int)) * factor)


@settings(deadline=None)
@given(VALUES, VALUES, VALUES)
def test_a_sum_is_clipped_once_and_its_error_goes_to_each(one: list[int], two: list[int], three: list[int]) -> None:
    add, inputs = layer("add", (1, 6, 6), inputs=3), [maps(v, (1, 6, 6)) for v in (one, two, three)]
    y, kept = OPERATIONS["add"].forward(add, {}, inputs, True)
    assert y.ravel().tolist() == [clipped(sum(parts)) for parts in zip(one, two, three, strict=True)]
    errors, _ = OPERATIONS["add"].backward(add, {}, kept, Scaled(y, 4))
    assert [(error.exponent, error.values.tolist()) for error in errors] == [(4, y.tolist())] * 3


@settings(deadline=None)
@given(VALUES, st.integers(-127, 127))
def test_a_bias_is_added_and_clipped(values: list[int], bias: int) -> None:
    own = {"bias": np.array([bias], np.int8)}
    y, kept = OPERATIONS["bias"].forward(layer("bias", (1, 6, 6)), own, [maps(values, (1, 6, 6))], True)
    assert y.ravel().tolist() == [clipped(value + bias) for value in values]
    (error,), gradients = OPERATIONS["bias"].backward(layer("bias", (1, 6, 6)), own, kept, Scaled(y, 0))
    assert error.values is y
    assert gradients["bias"].tolist() == [int(y.astype(int).sum())]


@settings(deadline=None)
@given(VALUES)
def test_relu_stops_errors_at_both_ends(values: list[int]) -> None:
    x, e = maps(values, (1, 6, 6)), np.full((1, 1, 6, 6), 5, np.int8)
    y, kept = OPERATIONS["relu"].forward(layer("relu", (1, 6, 6)), {}, [x], True)
    (error,), _ = OPERATIONS["relu"].backward(layer("relu", (1, 6, 6)), {}, kept, Scaled(e, 0))
    assert y.ravel().tolist() == [max(0, value) for value in values]
    assert error.values.ravel().tolist() == [5 * (0 < value < 127) for value in values]


@pytest.mark.parametrize(
    ("inputs", "shift"), [(1, 7), (9, 7), (27, 8), (1024, 11), (1152, 11), (2304, 11), (4608, 12), (8192, 12)]
)
def test_the_shift_of_activations(inputs: int, shift: int) -> None:
    """DarkFPGA's layers have 27 to 8192 products an output: shifts 8, 11 and 12."""
    fc = Layer("fc", "fc", ("x",), (inputs, 1, 1), (4, 1, 1))
    assert activation_shift(fc, 8) == shift
    assert activation_shift(fc, 16) == shift + 8
