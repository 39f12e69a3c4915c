"""Whole training steps: integers against a second writing of the rules, floats against difference quotients."""

from __future__ import annotations

import numpy as np
import pytest

from dse.errors import InputError
from dse.golden import FloatArithmetic, GoldenModel, IntegerArithmetic, Scaled, normalise, shift_round
from dse.golden.product import Array
from dse.layout import BlockedLayout, RowImage
from dse.schedule import Tensor
from tests.golden import by_hand
from tests.golden.conftest import Load

CHAIN = (
    'name = "conv1", op = "conv", out_channels = 4, kernel = 3, padding = 1',
    'name = "relu1", op = "relu"',
    'name = "pool1", op = "max_pool", kernel = 3, stride = 2',
    'name = "conv2", op = "conv", out_channels = 6, kernel = [3, 2], stride = 2, padding = [1, 0, 0, 1], groups = 2',
    'name = "relu2", op = "relu"',
    'name = "flatten", op = "flatten"',
    'name = "fc", op = "fc", out_channels = 3',
    'name = "loss", op = "sum_square_error"',
)
EVERYTHING = (
    'name = "conv1", op = "conv", out_channels = 4, kernel = 3, padding = 1, bias = true',
    'name = "bn1", op = "batch_norm"',
    'name = "relu1", op = "relu"',
    'name = "depthwise", op = "conv", out_channels = 4, kernel = 3, padding = 1, groups = 4',
    'name = "bias", op = "bias"',
    'name = "sum", op = "add", from = ["bias", "relu1"]',
    'name = "relu2", op = "relu"',
    'name = "overlap", op = "max_pool", kernel = 3, stride = 2, padding = 1',
    'name = "average", op = "avg_pool", from = "relu2", kernel = 2',
    'name = "join", op = "concat", from = ["overlap", "average"]',
    'name = "point", op = "conv", out_channels = 6, kernel = 1',
    'name = "bn2", op = "batch_norm"',
    'name = "relu3", op = "relu"',
    'name = "mean", op = "global_avg_pool"',
    'name = "fc", op = "fc", out_channels = 5, bias = true',
    'name = "loss", op = "softmax_cross_entropy"',
)


def batch(rng: np.random.Generator, classes: int, samples: int = 6) -> tuple[Array, Array]:
    return rng.uniform(-1, 1, (samples, 2, 8, 8)), rng.integers(0, classes, samples)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_five_integer_steps_are_those_written_by_hand(load: Load, seed: int) -> None:
    """Every weight after every step, with overlapping pooling, groups, stride and uneven padding on the way."""
    network, rng = load(*CHAIN), np.random.default_rng(seed)
    arithmetic = IntegerArithmetic(8, rate_shift=2, seed=seed)
    model = GoldenModel(network, arithmetic, seed)
    weights = {name: own["weight"].astype(object) for name, own in model.parameters.items() if own}
    state = seed
    for _ in range(5):
        x, labels = batch(rng, 3)
        encoded = arithmetic.encode(x)
        before = {name: w.copy() for name, w in weights.items()}
        model.iterate(encoded, labels)
        state = by_hand.step(network, weights, encoded, labels, 2, state)
        for name, expected in weights.items():
            np.testing.assert_array_equal(model.parameters[name]["weight"], expected, name)
            assert (expected != before[name]).any()
    assert arithmetic.random.state == state


def test_float_gradients_are_difference_quotients(load: Load) -> None:
    """Of the loss by every parameter of every operation there is, in float64, along random directions."""
    network, rng = load(*EVERYTHING), np.random.default_rng(4)
    model = GoldenModel(network, FloatArithmetic(learning_rate=0.0), 0)
    model.parameters = {
        name: {key: value + 0.1 * rng.normal(size=value.shape) for key, value in own.items()}
        for name, own in model.parameters.items()
    }
    x, labels = batch(rng, 5)
    gradients = model.iterate(x, labels).gradients
    checked = 0
    for name, own in gradients.items():
        for key, gradient in own.items():
            start, direction, losses = model.parameters[name], rng.normal(size=gradient.shape), []
            for sign in (1e-5, -1e-5):
                model.parameters[name] = {**start, key: start[key] + sign * direction}
                losses.append(model.iterate(x, labels).loss)
            model.parameters[name] = start
            quotient = (losses[0] - losses[1]) / 2e-5
            assert quotient == pytest.approx((gradient * direction).sum(), rel=1e-4, abs=1e-8), (name, key)
            checked += 1
    assert checked == 11


def test_every_operation_trains_in_integers(load: Load) -> None:
    """Types and ranges of everything stored, for int8 and int16, and a loss that falls on one batch."""
    network, rng = load(*EVERYTHING), np.random.default_rng(5)
    x, labels = batch(rng, 5, 16)
    for bits, kind in ((8, np.int8), (16, np.int16)):
        arithmetic = IntegerArithmetic(bits, rate_shift=5)
        model, losses = GoldenModel(network, arithmetic, 0), []
        for _ in range(80):
            done = model.iterate(arithmetic.encode(x), labels)
            losses.append(done.loss)
            for tensor in [*done.activations.values(), *(error.values for error in done.errors.values())]:
                assert tensor.dtype == kind
                assert tensor.min() > np.iinfo(kind).min
        assert np.mean(losses[-10:]) < 0.5 * np.mean(losses[:3]), bits
        bound = 1 << (31 if bits == 8 else 47)
        assert all(np.abs(g).max() < bound for own in done.gradients.values() for g in own.values())


def test_errors_that_meet_are_added_on_one_scale(load: Load) -> None:
    network = load(
        'name = "stem", op = "conv", out_channels = 3, kernel = 3, padding = 1',
        'name = "left", op = "conv", out_channels = 3, kernel = 3, padding = 1',
        'name = "right", op = "conv", from = "stem", out_channels = 3, kernel = 1',
        'name = "sum", op = "add", from = ["left", "right", "stem"]',
        'name = "mean", op = "global_avg_pool"',
        'name = "loss", op = "sum_square_error"',
    )
    arithmetic, rng = IntegerArithmetic(8, rate_shift=20), np.random.default_rng(6)
    model = GoldenModel(network, arithmetic, 1)
    start = {name: dict(own) for name, own in model.parameters.items()}
    x, labels = batch(rng, 3)
    done = model.iterate(arithmetic.encode(x), labels)
    of_sum = done.errors["sum"]
    parts = [of_sum]
    for name in ("left", "right"):
        operation, layer = arithmetic.operation(network[name]), network[name]
        (wide,), _ = operation.backward(layer, start[name], done.activations["stem"], of_sum)
        parts.append(normalise(wide, 8))
    top = max(part.exponent for part in parts)
    total = sum(shift_round(part.values, top - 8 - part.exponent) for part in parts)
    expected = normalise(Scaled(total, top - 8), 8)
    assert done.errors["stem"].exponent == expected.exponent
    np.testing.assert_array_equal(done.errors["stem"].values, expected.values)
    real = sum(part.values * 2.0**part.exponent for part in parts)
    got = expected.values * 2.0**expected.exponent
    assert np.abs(got - real).max() <= 2.0**expected.exponent


def test_the_order_of_storage_decides_who_draws_what(load: Load) -> None:
    network, rng = load(*CHAIN), np.random.default_rng(7)
    x, labels = batch(rng, 3)
    ends = []
    for block in (None, (1, 1), (3, 2)):
        blocked = BlockedLayout((4, 2, 3, 3), block or (1, 1))
        stored = Tensor("weight", "conv1", RowImage(blocked, 1, 1, 1), 0)
        arithmetic = IntegerArithmetic(8, layouts={("conv1", "weight"): stored} if block else None)
        model = GoldenModel(network, arithmetic, 0)
        model.iterate(arithmetic.encode(x), labels)
        ends.append((model.parameters["conv1"]["weight"], arithmetic.random.state))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    assert ends[0][1] == ends[1][1] != ends[2][1]
    assert (ends[0][0] != ends[2][0]).any()


def test_one_number_per_channel_steps_half_as_far(load: Load) -> None:
    """The largest step of a bias is half that of the weights, whose largest is 2^-rate_shift of their range."""
    network = load('name = "fc", op = "fc", out_channels = 4, bias = true', CHAIN[-1])
    arithmetic, rng = IntegerArithmetic(8, rate_shift=2), np.random.default_rng(9)
    model, largest = GoldenModel(network, arithmetic, 0), {"weight": 0, "bias": 0}
    for _ in range(60):
        x, labels = batch(rng, 4)
        before = model.parameters["fc"]
        model.iterate(arithmetic.encode(x), labels)
        for key in largest:
            moved = model.parameters["fc"][key].astype(int) - before[key]
            largest[key] = max(largest[key], int(np.abs(moved).max()))
    assert 28 <= largest["weight"] <= 32
    assert 14 <= largest["bias"] <= 16


def test_the_same_seed_gives_the_same_weights(load: Load) -> None:
    network = load(*EVERYTHING)
    x, labels = batch(np.random.default_rng(8), 5)
    for arithmetic in (IntegerArithmetic, FloatArithmetic):
        models = [GoldenModel(network, arithmetic(), 3) for _ in range(2)]
        for model in models:
            model.iterate(model.arithmetic.encode(x), labels)
        for name, own in models[0].parameters.items():
            for key, value in own.items():
                np.testing.assert_array_equal(value, models[1].parameters[name][key])


@pytest.mark.parametrize(
    ("layers", "says"),
    [
        (
            ('name = "fc", op = "fc", out_channels = 2', 'name = "s", op = "sigmoid"', CHAIN[-1]),
            "layer s: int8 does not train sigmoid; allowed: add, ",
        ),
        (('name = "fc", op = "fc", out_channels = 2',), "has no loss to train with; got 'fc'"),
    ],
)
def test_what_is_not_trained_is_named(load: Load, layers: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match="network net") as caught:
        GoldenModel(load(*layers), IntegerArithmetic())
    assert says in str(caught.value)
