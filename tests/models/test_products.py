"""Products of two activations, transposed convolutions and embeddings: their loop nests, time and traffic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.devices import load_device
from dse.models.hybrid import LAYOUTS
from dse.models.loop_nest import loop_nests
from dse.network import Network
from dse.networks.graph import build_network
from dse.networks.layer_spec import LayerSpec
from dse.registry import families
from dse.workload import PHASES
from tests.contract.helpers import random_points, workload

BOARD = load_device("zcu102")
FORWARD, INPUT_GRAD, WEIGHT_GRAD, UPDATE = range(4)
TILED = ("channel", "feature_map")


def attention(features: int = 8, positions: int = 6, heads: int = 2, trained: str = "qkv") -> Network:
    """One attention block; the operands not in ``trained`` are the input itself."""
    specs = [
        LayerSpec(name, "conv", ("input",), out_channels=features) if name in trained
        else LayerSpec(name, "scale", ("input",))
        for name in "qkv"
    ]  # fmt: skip
    specs += [
        LayerSpec("scores", "matmul", ("q", "k"), groups=heads, transpose=True),
        LayerSpec("softmax", "softmax", ("scores",)),
        LayerSpec("context", "matmul", ("softmax", "v"), groups=heads),
        LayerSpec("fc", "fc", ("context",), out_channels=3),
        LayerSpec("loss", "softmax_cross_entropy", ("fc",)),
    ]
    return build_network("attention", "made for a test", (features, 1, positions), specs, "test")


def layers_of(family: str, network: Network, batch: int, points, **options):
    """Cycles and bytes of every layer and phase, two dictionaries name -> [N,P]."""
    found = families()[family].evaluate(workload(network, batch), BOARD, points, detail=True, **options).layers
    names = [layer.name for layer in network.layers]
    return tuple({name: array[:, i] for i, name in enumerate(names)} for array in (found.cycles, found.dram_bytes))


@settings(max_examples=50, deadline=None)
@given(heads=st.integers(1, 4), size=st.integers(1, 9), positions=st.integers(1, 20))
def test_the_nests_of_a_product_are_its_three_sums(heads: int, size: int, positions: int) -> None:
    network = attention(heads * size, positions, heads)
    nests = loop_nests(network)
    work = nests.m * nests.n * nests.r * nests.c * nests.taps * nests.groups
    for name in ("scores", "context"):
        number = [layer.name for layer in network.layers].index(name)
        mine = nests.layer == number
        assert nests.phase[mine].tolist() == [FORWARD, INPUT_GRAD, WEIGHT_GRAD]
        assert (work[mine] == heads * size * positions**2).all()
        assert network.layers[number].macs == heads * size * positions**2
        assert nests.per_sample[mine].all()
    assert not nests.per_sample[nests.layer < 3].any()


def test_a_product_with_the_input_itself_has_one_gradient() -> None:
    only_first, only_second = attention(trained="qv"), attention(trained="kv")
    assert (only_first["scores"].needs_input_grad, only_first["scores"].needs_weight_grad) == (True, False)
    assert (only_second["scores"].needs_input_grad, only_second["scores"].needs_weight_grad) == (False, True)
    for network in (only_first, only_second):
        assert network["softmax"].needs_input_grad
        points = random_points(families()["channel"].space(workload(network), BOARD), 5)
        cycles, _ = layers_of("channel", network, 4, points)
        spared = INPUT_GRAD if network is only_second else WEIGHT_GRAD
        assert (cycles["scores"][:, spared] == 0).all()
        assert (cycles["scores"][:, INPUT_GRAD + WEIGHT_GRAD - spared] > 0).all()
        assert network["scores"].training_macs == 2 * network["scores"].macs


@pytest.mark.parametrize("family", sorted(families()))
def test_products_reuse_nothing_across_the_batch(family: str) -> None:
    """Time and traffic of a sample do not fall with the batch, as those of a layer with weights do."""
    network, model = attention(24, 40, 3), families()[family]
    points = random_points(model.space(workload(network, 1), BOARD), 30)
    if family == "hybrid":  # streamed maps are the batch family's
        points["layout"] = np.maximum(points["layout"], LAYOUTS["planar"])
    once, moved_once = layers_of(family, network, 1, points)
    # The batch family computes the eight samples side by side; the others one after the other.
    more = {**points, "t_b": 8 * points["t_b"]} if family == "batch" else points
    eight, moved_eight = layers_of(family, network, 8, more)
    # Where the lanes hold one head at a time; else heads of several samples may share them.
    channels = {"channel": ("tm", "tn"), "hybrid": ("um", "un")}.get(family, ())
    alone = np.all([np.ones(30, dtype=bool), *(points[name] < 16 for name in channels)], axis=0)
    assert alone.any()
    for name in ("scores", "context"):
        np.testing.assert_array_equal(moved_eight[name][alone], 8 * moved_once[name][alone])
        factors = 24 * 40 * 2 + 3 * 40 * 40
        assert (moved_eight[name][:, :UPDATE] >= 8 * 4 * factors).all()
        assert (eight[name][:, UPDATE] == 0).all()
        if family != "batch":
            np.testing.assert_array_equal(eight[name][alone], 8 * once[name][alone])
        if family in TILED:
            assert (eight[name] <= 8 * once[name]).all()
    assert (moved_eight["q"][:, FORWARD] < 8 * moved_once["q"][:, FORWARD]).all()


@pytest.mark.parametrize("family", TILED)
def test_one_sample_of_a_product_is_a_grouped_convolution_with_its_own_weights(family: str) -> None:
    heads, size, positions = 2, 10, 14
    product = attention(heads * size, positions, heads)
    specs = [
        LayerSpec("q", "conv", ("input",), out_channels=heads * size),
        LayerSpec("scores", "conv", ("q",), out_channels=heads * positions, groups=heads),
        LayerSpec("fc", "fc", ("scores",), out_channels=3),
        LayerSpec("loss", "softmax_cross_entropy", ("fc",)),
    ]
    convolution = build_network("grouped", "made for a test", (heads * size, 1, positions), specs, "test")
    model = families()[family]
    points = random_points(model.space(workload(product, 1), BOARD), 40)
    (ours, our_bytes), (theirs, their_bytes) = (layers_of(family, net, 1, points) for net in (product, convolution))
    for phase in (FORWARD, INPUT_GRAD):
        np.testing.assert_array_equal(ours["scores"][:, phase], theirs["scores"][:, phase])
        np.testing.assert_array_equal(our_bytes["scores"][:, phase], their_bytes["scores"][:, phase])
    # Its second gradient is stored like any error: no weights are read and written in an update.
    stored = heads * size * positions * 4
    np.testing.assert_allclose(our_bytes["scores"][:, WEIGHT_GRAD], their_bytes["scores"][:, WEIGHT_GRAD] + stored)
    assert (ours["scores"][:, WEIGHT_GRAD] >= theirs["scores"][:, WEIGHT_GRAD]).all()


def test_the_batch_family_reads_both_factors_of_a_product_per_sample() -> None:
    """At t_b = 4: two values a cycle and sample, where a convolution reads one and a weight that all share."""
    network = attention(32, 32, 1)
    points = {"t_b": np.array([4]), "t_i": np.array([16])}
    cycles, moved = layers_of("batch", network, 4, points, reading="published")
    work = cycles["scores"][0, FORWARD]
    assert work == 32 * 32 * 32 / 16
    assert moved["scores"][0, FORWARD] == 4 * (4 * 2 * work + 4 * 32 * 32)  # bytes: factors, results
    assert moved["scores"][0, UPDATE] == 0


def transposed(n: int, m: int, size: int, kernel: int, stride: int, groups: int = 1) -> tuple[Network, Network]:
    """A transposed convolution, and the convolution whose input gradient it is, each with its own input gradient."""
    large = (size - 1) * stride + kernel
    window = {"kernel": (kernel, kernel), "stride": (stride, stride), "groups": groups}
    up = [
        LayerSpec("before", "conv", ("input",), out_channels=n),
        LayerSpec("it", "conv_transpose", ("before",), out_channels=m, **window),
        LayerSpec("fc", "fc", ("it",), out_channels=3),
        LayerSpec("loss", "softmax_cross_entropy", ("fc",)),
    ]
    down = [LayerSpec("before", "conv", ("input",), out_channels=m), replace(up[1], op="conv", out_channels=n), *up[2:]]
    return (
        build_network("up", "made for a test", (2, size, size), up, "test"),
        build_network("down", "made for a test", (2, large, large), down, "test"),
    )


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 6), m=st.integers(1, 6), size=st.integers(2, 9), kernel=st.integers(1, 4),
    stride=st.integers(1, 3), groups=st.integers(1, 2), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_transposed_convolution_runs_a_convolution_backwards(n, m, size, kernel, stride, groups, seed) -> None:
    up, down = transposed(n * groups, m * groups, size, kernel, stride, groups)
    assert up["it"].in_shape == down["it"].out_shape
    assert up["it"].out_shape == down["it"].in_shape
    assert (up["it"].macs, up["it"].parameters) == (down["it"].macs, down["it"].parameters)
    nests = [loop_nests(network) for network in (up, down)]
    names = ("m", "n", "r", "c", "taps", "kr", "kc", "sr", "sc", "groups", "reads")
    forward, backward = (
        [tuple(getattr(one, name)[k] for name in names) for k in np.flatnonzero(one.layer == 1)] for one in nests
    )
    assert forward[FORWARD] == backward[INPUT_GRAD]
    assert forward[INPUT_GRAD] == backward[FORWARD]
    assert forward[WEIGHT_GRAD] == backward[WEIGHT_GRAD]
    for family in families():
        model = families()[family]
        points = random_points(model.space(workload(up, 2), BOARD), 4, seed)
        reading = list(model.readings)[-1]
        cycles, moved = layers_of(family, up, 2, points, reading=reading)
        other, others_moved = layers_of(family, down, 2, points, reading=reading)
        np.testing.assert_array_equal(cycles["it"][:, WEIGHT_GRAD], other["it"][:, WEIGHT_GRAD])
        np.testing.assert_array_equal(moved["it"][:, UPDATE], others_moved["it"][:, UPDATE])
        if family == "batch":  # the im2col of one is the col2im of the other
            np.testing.assert_array_equal(cycles["it"][:, FORWARD], other["it"][:, INPUT_GRAD])
            np.testing.assert_array_equal(cycles["it"][:, INPUT_GRAD], other["it"][:, FORWARD])
            np.testing.assert_allclose(moved["it"][:, FORWARD], others_moved["it"][:, INPUT_GRAD])


def test_an_embedding_costs_the_rows_it_reads_and_the_table_it_updates() -> None:
    positions, features, rows, batch = 12, 8, 100, 3
    specs = [
        LayerSpec("words", "embedding", ("input",), out_channels=features, rows=rows),
        LayerSpec("where", "parameter", (), shape=(features, 1, positions)),
        LayerSpec("sum", "add", ("words", "where")),
        LayerSpec("fc", "fc", ("sum",), out_channels=3),
        LayerSpec("loss", "softmax_cross_entropy", ("fc",)),
    ]
    network = build_network("words", "made for a test", (1, 1, positions), specs, "test")
    assert network.parameters == rows * features + positions * features + 3 * positions * features
    assert not network["words"].needs_input_grad
    for family in families():
        model = families()[family]
        _, moved = layers_of(family, network, batch, random_points(model.space(workload(network), BOARD), 2))
        vectors = positions * features
        assert (moved["words"][:, FORWARD] == 4 * batch * (positions + 2 * vectors)).all()
        assert (moved["words"][:, INPUT_GRAD] == 0).all()
        assert (moved["words"][:, WEIGHT_GRAD] == 4 * batch * (positions + 3 * vectors)).all()
        assert (moved["words"][:, UPDATE] == 4 * 3 * rows * features).all()
        assert (moved["where"][:, UPDATE] == 4 * 3 * vectors).all()
    assert PHASES[UPDATE] == "update"
