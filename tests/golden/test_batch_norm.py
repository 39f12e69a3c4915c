"""Integer batch normalisation: statistics in exact numbers, both directions against floats, and its widths."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dse.golden.floating import FLOAT_OPERATIONS
from dse.golden.integer_batch_norm import IntegerBatchNorm, statistics
from dse.golden.operation import Parameters
from dse.golden.product import Array
from dse.golden.rounding import Scaled, limit
from dse.network import Layer

CHANNELS = 6


def layer(size: int) -> Layer:
    shape = (CHANNELS, size, size)
    return Layer("bn", "batch_norm", ("input",), shape, shape, parameters=2 * CHANNELS)


def drawn(bits: int, size: int, seed: int = 0) -> tuple[Array, Array, Parameters]:
    """Maps of several means and deviations, errors, and parameters that are not those of the start."""
    rng, scale = np.random.default_rng(seed), limit(bits) / 127
    kind = np.int8 if bits == 8 else np.int16
    deviations = np.array([3, 8, 20, 40, 60, 12])[:, None, None]
    means = np.array([0, 10, -30, 5, -20, 60])[:, None, None]
    x = np.clip(np.rint(scale * rng.normal(means, deviations, (5, CHANNELS, size, size))), -limit(bits), limit(bits))
    e = rng.integers(-limit(bits), limit(bits), x.shape, kind, endpoint=True)
    operation = IntegerBatchNorm(bits)
    parameters = {
        **operation.start(layer(size), rng),
        "weight": rng.integers(-limit(bits), limit(bits), CHANNELS, kind, endpoint=True),
        "bias": rng.integers(-limit(bits) // 8, limit(bits) // 8, CHANNELS, kind, endpoint=True),
    }
    return x.astype(kind), e, parameters


def test_statistics_are_exact_to_their_last_bit() -> None:
    x, _, _ = drawn(8, 7)
    x[:, 5] = 4  # no deviation at all: taken as 1
    mean, inverse = statistics(x.astype(np.int64), 16)
    for channel in range(CHANNELS):
        values = [int(v) for v in x[:, channel].ravel()]
        n, s1, s2 = len(values), sum(values), sum(v * v for v in values)
        assert mean[channel] == math.floor(Fraction(256 * s1, n) + Fraction(1, 2))
        assert inverse[channel] == (n << 16) // max(math.isqrt(n * s2 - s1 * s1), n)
    assert inverse[5] == 1 << 16


@pytest.mark.parametrize("bits", [8, 16])
def test_both_directions_follow_the_floats(bits: int) -> None:
    """Outputs to 1.6 units (two roundings, the first scaled by up to 2), errors to a fiftieth of their deviation.

    For int16 to 16 times that: its mean has no more fraction bits than that of int8.
    """
    x, e, parameters = drawn(bits, 7)
    operation, reference = IntegerBatchNorm(bits), FLOAT_OPERATIONS["batch_norm"]
    one = 1 << (bits - 2)
    real = {
        "weight": parameters["weight"] / one * 2 ** (bits - 3),
        "bias": parameters["bias"] * 1.0,
        "mean": 0,
        "inverse": 1,
    }
    y, kept = operation.forward(layer(7), parameters, [x], training=True)
    expected, expected_kept = reference.forward(layer(7), real, [x * 1.0], training=True)
    assert np.abs(y - np.clip(expected, -limit(bits), limit(bits))).max() <= 1.6 * (1 if bits == 8 else 16)
    (wide,), gradients = operation.backward(layer(7), parameters, kept, Scaled(e, 5))
    (exact,), of_parameters = reference.backward(layer(7), real, expected_kept, Scaled(e * 1.0))
    for channel in range(CHANNELS):
        got = wide.values[:, channel] * 2.0 ** (wide.exponent - 5)
        deviation = exact.values[:, channel].std()
        assert np.abs(got - exact.values[:, channel]).std() < 0.02 * deviation
    np.testing.assert_array_equal(gradients["bias"], of_parameters["bias"])
    np.testing.assert_allclose(
        gradients["weight"] / 2 ** (bits - 3), of_parameters["weight"], atol=0.05 * limit(bits) * math.sqrt(e.size)
    )


def test_the_wide_error_of_int8_fits_32_bits_at_its_worst() -> None:
    """Everything at its end at once: errors that are the sign of the normalised value, scale 127, deviation 1."""
    operation = IntegerBatchNorm(8)
    x, _, parameters = drawn(8, 7)
    parameters = {**parameters, "weight": np.full(CHANNELS, 127, np.int8)}
    normal = np.where(np.arange(x.size).reshape(x.shape) % 2, 127, -127).astype(np.int8)
    e = np.where(normal > 0, -127, 127).astype(np.int8)
    e[0, 0, 0, 0] = 127
    kept = (normal, np.zeros(CHANNELS, np.int64), np.full(CHANNELS, 1 << 16))
    (wide,), _ = operation.backward(layer(7), parameters, kept, Scaled(e))
    assert 2**29 < np.abs(wide.values).max() < 2**31


def test_evaluation_uses_what_was_followed() -> None:
    operation, rng = IntegerBatchNorm(8), np.random.default_rng(0)
    x, _, _ = drawn(8, 7)
    parameters = operation.start(layer(7), rng)
    for _ in range(80):
        y, kept = operation.forward(layer(7), parameters, [x], training=True)
        parameters = operation.settle(parameters, kept)
    mean, inverse = statistics(x.astype(np.int64), 16)
    assert np.abs(parameters["mean"] - mean).max() <= 4  # where an eighth of the difference rounds to 0
    assert np.abs(parameters["inverse"] - inverse).max() <= 4
    alone, _ = operation.forward(layer(7), parameters, [x[:1]], training=False)
    assert np.abs(alone.astype(int) - y[:1]).max() <= 1


def nearest(value: int, shift: int) -> int:
    """R of docs/training.md."""
    return (value + (1 << shift >> 1)) >> shift


@pytest.mark.parametrize("bits", [8, 16])
def test_both_directions_are_the_formulas_of_the_document(bits: int) -> None:
    """docs/training.md once more, in Python integers, element by element."""
    x, e, parameters = drawn(bits, 3, seed=2)
    operation, k = IntegerBatchNorm(bits), bits
    y, kept = operation.forward(layer(3), parameters, [x], training=True)
    (wide,), gradients = operation.backward(layer(3), parameters, kept, Scaled(e, 7))
    assert wide.exponent == 7 - 13
    for channel in range(CHANNELS):
        values, errors = [int(v) for v in x[:, channel].ravel()], [int(v) for v in e[:, channel].ravel()]
        n, s1, s2 = len(values), sum(values), sum(v * v for v in values)
        mean = (2 * (s1 << 8) + n) // (2 * n)
        inverse = (n << k + 8) // max(math.isqrt(n * s2 - s1 * s1), n)
        g, o = int(parameters["weight"][channel]), int(parameters["bias"][channel])
        bound = limit(bits)
        normal = [max(-bound, min(bound, nearest(((v << 8) - mean) * inverse, 19))) for v in values]
        out = [max(-bound, min(bound, nearest(v * g + (o << k - 2), k - 2))) for v in normal]
        assert y[:, channel].ravel().tolist() == out
        e1, e2 = sum(errors), sum(a * b for a, b in zip(errors, normal, strict=True))
        assert (gradients["bias"][channel], gradients["weight"][channel]) == (e1, e2)
        m1, m2, f = (2 * (e1 << 8) + n) // (2 * n), (2 * (e2 << 8) + n) // (2 * n), k - 3
        scale = nearest(g * inverse, k)
        for got, error, v in zip(wide.values[:, channel].ravel(), errors, normal, strict=True):
            assert got == nearest((error << 2 * f + 8) - (m1 << 2 * f) - v * m2, 2 * f + 4) * scale
