"""The three phases against explicit loops and, for floats, against the definition of a derivative."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.golden import Window, forward, input_grad, weight_grad
from dse.golden.product import Array, product, product_type
from tests.golden import loops

EXTREMES = {8: np.int8, 16: np.int16}


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], Window]:
    """Shapes of x and w and a window that fits: groups (depthwise too), strides, uneven padding, dilation."""
    kernel = (draw(st.integers(1, 4)), draw(st.integers(1, 4)))
    dilation = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    padding = tuple(draw(st.integers(0, 2)) for _ in range(4))
    extents = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    size = tuple(
        max(1, extents[axis] - padding[axis] - padding[axis + 2]) + draw(st.integers(0, 4)) for axis in range(2)
    )
    groups = draw(st.integers(1, 3))
    n, m = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    stride = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
    window = Window(kernel, stride, (padding[0], padding[1], padding[2], padding[3]), dilation, groups)
    return (draw(st.integers(1, 3)), n * groups, *size), (m * groups, n, *kernel), window


def drawn(rng: np.random.Generator, shape: tuple[int, ...], bits: int) -> Array:
    """Integers of the whole range, a third of them at its ends."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    values = rng.integers(low, high, shape, endpoint=True)
    return np.where(rng.random(shape) < 0.3, rng.choice([low, high], shape), values).astype(EXTREMES[bits])


@settings(deadline=None, max_examples=60)
@given(cases(), st.sampled_from([8, 16]), st.integers(0, 2**32 - 1))
def test_integers_are_those_of_the_loops(
    case: tuple[tuple[int, ...], tuple[int, ...], Window], bits: int, seed: int
) -> None:
    x_shape, w_shape, window = case
    rng = np.random.default_rng(seed)
    x, w = drawn(rng, x_shape, bits), drawn(rng, w_shape, bits)
    y = forward(x, w, window)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y, loops.forward(x, w, window))
    e = drawn(rng, y.shape, bits)
    of_x, of_w = loops.gradients(x, w, e, window)
    np.testing.assert_array_equal(input_grad(e, w, window, x_shape[2:]), of_x)
    np.testing.assert_array_equal(weight_grad(x, e, window), of_w)


@settings(deadline=None, max_examples=30)
@given(cases(), st.integers(0, 2**32 - 1))
def test_floats_are_those_of_the_loops(case: tuple[tuple[int, ...], tuple[int, ...], Window], seed: int) -> None:
    x_shape, w_shape, window = case
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=x_shape), rng.normal(size=w_shape)
    y = forward(x, w, window)
    np.testing.assert_allclose(y, loops.forward(x, w, window).astype(float), rtol=1e-12, atol=1e-12)
    e = rng.normal(size=y.shape)
    of_x, of_w = loops.gradients(x, w, e, window)
    np.testing.assert_allclose(input_grad(e, w, window, x_shape[2:]), of_x.astype(float), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(weight_grad(x, e, window), of_w.astype(float), rtol=1e-12, atol=1e-12)
    assert forward(x.astype(np.float32), w.astype(np.float32), window).dtype == np.float32


@pytest.mark.parametrize(
    ("x_shape", "w_shape", "window"),
    [
        ((2, 3, 23, 23), (4, 3, 11, 11), Window((11, 11), (4, 4), (2, 2, 2, 2))),
        ((2, 6, 9, 8), (6, 1, 3, 3), Window((3, 3), (2, 2), (1, 1, 1, 1), groups=6)),
        ((2, 4, 10, 7), (6, 2, 3, 2), Window((3, 2), (1, 2), (2, 0, 1, 1), (2, 3), 2)),
        ((5, 12, 1, 1), (7, 12, 1, 1), Window()),
    ],
)
def test_gradients_are_derivatives(x_shape: tuple[int, ...], w_shape: tuple[int, ...], window: Window) -> None:
    """Of sum(e * y), which is linear in x and in w: a difference quotient of any step is the derivative."""
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=x_shape), rng.normal(size=w_shape)
    e = rng.normal(size=forward(x, w, window).shape)
    dx, dw = rng.normal(size=x_shape), rng.normal(size=w_shape)
    along_x = (e * (forward(x + dx, w, window) - forward(x - dx, w, window))).sum() / 2
    along_w = (e * (forward(x, w + dw, window) - forward(x, w - dw, window))).sum() / 2
    assert along_x == pytest.approx((dx * input_grad(e, w, window, x_shape[2:])).sum(), rel=1e-9)
    assert along_w == pytest.approx((dw * weight_grad(x, e, window)).sum(), rel=1e-9)


@pytest.mark.parametrize("bits", [8, 16, 25, 31])
@pytest.mark.parametrize("terms", [1, 1040, 1041, 5000])
def test_products_stay_exact_where_floats_end(bits: int, terms: int) -> None:
    """All operands at one end of the range: the largest sum there is, in each of the three formats."""
    low = -(1 << (bits - 1))
    a, b = np.full((2, terms), low, np.int64), np.full((terms, 3), low, np.int64)
    a[1, 0] += 1
    if low * low * terms >= 1 << 63:
        with pytest.raises(OverflowError, match="more than 64 bits"):
            product(a, b)
        return
    np.testing.assert_array_equal(product(a, b), [[low * low * terms] * 3, [low * low * terms + low] * 3])


def test_the_format_follows_the_values() -> None:
    small = np.array([[127]], np.int8)
    assert product_type(small, small, 1040) == np.float32
    assert product_type(small, small, 1041) == np.float64
    assert product_type(np.array([[2**31]]), np.array([[2**31]]), 1) == np.int64
    assert product_type(small.astype(np.float32), small.astype(np.float32), 10**9) == np.float32


def test_many_samples_are_worked_off_in_parts() -> None:
    """The columns of 12 such samples take 7 MB, more than is made at once; each sample is what it is alone."""
    rng = np.random.default_rng(1)
    x, w = drawn(rng, (12, 16, 32, 32), 8), drawn(rng, (16, 16, 3, 3), 8)
    window = Window((3, 3), padding=(1, 1, 1, 1))
    y, e = forward(x, w, window), drawn(rng, (12, 16, 32, 32), 8)
    np.testing.assert_array_equal(y[9:10], forward(x[9:10], w, window))
    np.testing.assert_array_equal(
        weight_grad(x, e, window), sum(weight_grad(x[b : b + 1], e[b : b + 1], window) for b in range(12))
    )
    np.testing.assert_array_equal(input_grad(e, w, window, (32, 32))[7:8], input_grad(e[7:8], w, window, (32, 32)))


def test_shapes_that_do_not_fit_are_refused() -> None:
    x, w, window = np.zeros((1, 4, 5, 5)), np.zeros((6, 2, 3, 3)), Window((3, 3))
    with pytest.raises(ValueError, match="do not fit 4 input channels"):
        forward(x, w, window)
    with pytest.raises(ValueError, match="does not fit 6 channels"):
        input_grad(np.zeros((1, 6, 4, 3)), w, window, (5, 5))
    with pytest.raises(ValueError, match="do not fit"):
        weight_grad(x, np.zeros((2, 6, 3, 3)), window)
