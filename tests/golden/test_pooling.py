"""Pooling against explicit loops over windows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.golden import Window
from dse.golden.pooling import max_pool, max_pool_grad, reciprocal, sum_pool, sum_pool_grad
from dse.golden.product import Array


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, int], Window]:
    kernel = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    padding = tuple(draw(st.integers(0, k - 1)) for k in kernel * 2)
    size = tuple(max(1, k - padding[i] - padding[i + 2]) + draw(st.integers(0, 4)) for i, k in enumerate(kernel))
    stride = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    return (size[0], size[1]), Window(kernel, stride, (padding[0], padding[1], padding[2], padding[3]))


def pixels(window: Window, size: tuple[int, int], r: int, c: int) -> list[tuple[int, int, int]]:
    """(index in the window, row, column) of the pixels that window (r, c) meets."""
    found = []
    for number, (kr, kc) in enumerate(np.ndindex(window.kernel)):
        row, column = r * window.stride[0] + kr - window.padding[0], c * window.stride[1] + kc - window.padding[1]
        if 0 <= row < size[0] and 0 <= column < size[1]:
            found.append((number, row, column))
    return found


@settings(deadline=None, max_examples=60)
@given(cases(), st.integers(0, 2**32 - 1), st.booleans())
def test_pooling_is_that_of_the_loops(case: tuple[tuple[int, int], Window], seed: int, few: bool) -> None:
    size, window = case
    rng = np.random.default_rng(seed)
    span = 2 if few else 127  # few values: many equal ones
    x = rng.integers(-span, span, (2, 3, *size), np.int8, endpoint=True)
    out = window.out_size(size)
    e = rng.integers(-127, 127, (2, 3, *out), np.int8, endpoint=True)
    largest, index = max_pool(x, window)
    total = sum_pool(x, window)
    of_max, of_sum = np.zeros(x.shape, int), np.zeros(x.shape, int)
    for b, n, r, c in np.ndindex(2, 3, *out):
        inside = pixels(window, size, r, c)
        values = [int(x[b, n, row, column]) for _, row, column in inside]
        best = values.index(max(values))
        assert (largest[b, n, r, c], index[b, n, r, c]) == (values[best], inside[best][0])
        assert total[b, n, r, c] == sum(values)
        of_max[b, n, inside[best][1], inside[best][2]] += e[b, n, r, c]
        for _, row, column in inside:
            of_sum[b, n, row, column] += e[b, n, r, c]
    np.testing.assert_array_equal(max_pool_grad(e, index, window, size), of_max)
    np.testing.assert_array_equal(sum_pool_grad(e, window, size), of_sum)


def test_apart_windows_keep_the_type_and_overlapping_ones_are_sums() -> None:
    x = np.arange(36, dtype=np.int8).reshape(1, 1, 6, 6)
    for window, kind in ((Window((2, 2), (2, 2)), np.int8), (Window((3, 3), (2, 2)), np.int64)):
        largest, index = max_pool(x, window)
        assert max_pool_grad(largest, index, window, (6, 6)).dtype == kind


@pytest.mark.parametrize("count", [1, 2, 3, 4, 9, 16, 36, 49, 64, 196, 256])
def test_the_reciprocal_gives_the_nearest_average(count: int) -> None:
    """Of all sums of int8 that so many pixels can have, to within the rounding of the reciprocal itself."""
    sums: Array = np.arange(-127 * count, 127 * count + 1)
    averages = (sums * reciprocal(count) + (1 << 15)) >> 16
    assert np.abs(averages - sums / count).max() <= 0.5 + 127 * count * abs(reciprocal(count) / 2**16 - 1 / count)
    if math.log2(count).is_integer():
        np.testing.assert_array_equal(averages, np.floor(sums / count + 0.5))
