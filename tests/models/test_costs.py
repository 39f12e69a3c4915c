"""Counts that can be had by hand: lanes, memories, operations, power."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.device import OperatorCost
from dse.devices import load_device
from dse.errors import InputError
from dse.models.auxiliary import published_dram_capacity
from dse.models.lanes import lane_logic
from dse.models.loop_nest import loop_nests
from dse.models.memory import bank_bram36, legal_depths, published_bank_bram36
from dse.models.operators import OPERATIONS, stream_table
from dse.network import MAC_OPERATIONS
from dse.networks import list_networks, load_network
from dse.networks.shapes import OPERATIONS as SHAPED
from dse.power import PowerModel
from dse.registry import families
from dse.workload import PHASES, precision_named
from tests.contract.helpers import one_conv, workload

BOARD = load_device("zcu102")
CHANNEL, BATCH, FEATURE_MAP = (families()[name] for name in ("channel", "batch", "feature_map"))


@pytest.mark.parametrize(
    ("words", "bits", "blocks"),
    [(512, 36, 0.5), (513, 36, 1.0), (1024, 32, 1.0), (1500, 32, 1.5), (2048, 9, 0.5), (2049, 8, 1.0), (96, 384, 5.5)],
)
def test_bram_of_a_bank_follows_the_aspect_ratios_of_ramb18(words: int, bits: int, blocks: float) -> None:
    assert float(bank_bram36(BOARD, np.asarray(words), np.asarray(bits))) == blocks


def test_an_m20k_is_wider_than_a_ramb18() -> None:
    intel = load_device("arria10_gx1150")
    assert float(bank_bram36(intel, np.asarray(512), np.asarray(40))) == 0.5
    assert float(bank_bram36(BOARD, np.asarray(512), np.asarray(40))) == 1.0


def test_published_banks_are_half_a_block_up_to_512_words() -> None:
    assert published_bank_bram36(np.array([1, 512, 513, 1024, 1025])).tolist() == [0.5, 0.5, 1.0, 1.0, 2.0]


def test_legal_depths_end_at_the_need() -> None:
    assert legal_depths(512, 1300, 912).tolist() == [512, 1024, 1536]
    assert legal_depths(512, 10**9, 3).tolist() == [512, 1024, 1536]
    assert legal_depths(512, 0, 912).tolist() == [512]


def test_strided_input_gradient_walks_stride_classes_not_zeros() -> None:
    nests = loop_nests(one_conv(m=8, n=6, size=17, kernel=3, stride=2))
    k = next(i for i in range(len(nests)) if nests.taps[i] == 9 and PHASES[nests.phase[i]] == "input_grad")
    assert (nests.m[k], nests.n[k]) == (6, 8)
    assert (nests.r[k], nests.c[k]) == (9, 9)
    assert (nests.kr[k], nests.sr[k]) == (2, 1)


def test_depthwise_puts_groups_on_the_diagonal() -> None:
    work = workload(one_conv(m=32, n=32, size=16, groups=32), 2)
    buffers = {"ifm_words": 1024, "ofm_words": 1024, "wei_words": 1024}
    layers = CHANNEL.evaluate(work, BOARD, {"tm": 8, "tn": 8, **buffers}, detail=True).layers
    forward = PHASES.index("forward")
    number = [layer.name for layer in work.network.layers].index("conv")
    # 8 of 64 lanes work: at least 8 times the floor, and not 64 times as one group after another would be.
    ratio = layers.cycles[number, forward] / layers.mac_floor_cycles[number, forward]
    assert 8 <= ratio < 24


def test_every_operation_that_networks_may_have_has_a_cost() -> None:
    assert set(SHAPED) <= set(OPERATIONS) | set(MAC_OPERATIONS)


@pytest.mark.parametrize("name", sorted(list_networks()))
def test_no_operation_is_free(name: str) -> None:
    """Every layer of every network takes time and traffic forward; the input gradient too where there is one."""
    work = workload(name, 2)
    for family in families().values():
        point = family.space(work, BOARD).corner(low=False)
        layers = family.evaluate(work, BOARD, point, detail=True).layers
        forward, input_grad = layers.cycles[:, 0], layers.cycles[:, 1]
        # Functions whose derivative is read off their output ride on the store of the layer before them.
        rides = np.array([layer.op in ("sigmoid", "tanh", "elu") for layer in work.network.layers])
        assert np.all(forward[~rides] > 0)
        needs = work.network.table["needs_input_grad"] == 1
        # Gradients pass an add as they are, and a bias; the sums at the forks before an add are the readers' there.
        learns = np.array([layer.op not in ("add", "bias") for layer in work.network.layers])
        assert np.all(input_grad[needs & learns] > 0)
        assert np.all(layers.cycles[work.network.table["parameters"] > 0, PHASES.index("update")] >= 0)
        assert layers.dram_bytes[work.network.table["parameters"] > 0, PHASES.index("update")].min() > 0


def test_an_unknown_operation_is_an_error_that_names_it() -> None:
    network = load_network("cnn_1x")
    strange = replace(network, layers=(*network.layers[:2], replace(network.layers[1], op="relo"), *network.layers[2:]))
    with pytest.raises(InputError, match=r"layer relu1: this operation has no cost; got 'relo'.*did you mean 'relu'"):
        stream_table(workload(strange))


def test_the_papers_dram_holds_all_maps_errors_weights_and_gradients() -> None:
    network = one_conv(m=4, n=2, size=8, kernel=1)
    maps = 3 * 64 + 2 * (2 * 64 + 4 * 64 + 5 + 5)
    assert published_dram_capacity(workload(network, 3)) == 4 * (3 * maps + 2 * network.parameters)


def test_darkfpga_bandwidths_at_its_design_point() -> None:
    """Section IV.A at (128, 48), 200 MHz: conv1 51.4 GB/s forward, the others 26.1 to 26.9, fully connected 35.4."""
    work = workload("vgg_cifar10", 128, "int8")
    layers = BATCH.evaluate(work, load_device("max5"), {"t_b": 128, "t_i": 48}, reading="published", detail=True).layers
    names = [layer.name for layer in work.network.layers]
    columns = {name: layers.cycles[names.index(name), 0] for name in ("conv2", "conv6")}
    for name in columns:
        # The im2col that shares the layer's row moves data too: the product alone is t_b + 1 + outputs a cycle.
        assert layers.dram_bytes[names.index(name), 0] > 0
    rates = {layer.name: _gemm_rate(work, layer.name) for layer in work.network.layers if layer.op in MAC_OPERATIONS}
    assert rates["conv1"] == pytest.approx(51.4, abs=0.05)
    assert all(26.0 <= rates[f"conv{i}"] <= 26.95 for i in range(2, 7))
    assert min(rates.values()) >= 26.0


def _gemm_rate(work, name: str) -> float:
    """GB/s of a layer's forward product at (128, 48) and 200 MHz."""
    from dse.models.batch import _gemm_round, _gemms

    cycles, words = _gemm_round(work, np.array([128]), np.array([48]), 0)
    gemms = _gemms(work.network)
    number = [layer.name for layer in work.network.layers].index(name)
    k = next(k for k in range(len(gemms.layer)) if gemms.layer[k] == number and gemms.phase[k] == 0)
    return float(words[0, k] / cycles[0, k]) * 0.2


def test_relu_backward_is_what_the_dram_throttles_in_darkfpga() -> None:
    work, board = workload("vgg_cifar10", 128, "int8"), load_device("max5")
    layers = BATCH.evaluate(work, board, {"t_b": 128, "t_i": 48}, detail=True).layers
    bound = {
        (layer.op, PHASES[p])
        for number, layer in enumerate(work.network.layers)
        for p in range(4)
        if layers.bound[number, p] == 3 and layer.op in (*MAC_OPERATIONS, "relu", "max_pool")
    }
    assert ("relu", "input_grad") not in bound or bound <= {
        ("relu", "input_grad"),
        ("conv", "update"),
        ("fc", "update"),
    }


def test_re_optimised_batches_reach_the_stated_throughputs() -> None:
    """DarkFPGA's architecture at small batches: (1, 256) 19.8, (4, 256) 106.9 and (16, 256) 469 GOPS."""
    for batch, gops in ((1, 19.8), (4, 106.9), (16, 469)):
        work = workload("vgg_cifar10", batch, "int8")
        point = {"t_b": batch, "t_i": 256}
        estimate = BATCH.evaluate(work, load_device("max5"), point, reading="published")
        rate = work.network.training_flop * batch / float(estimate.iteration_s) / 1e9
        assert rate == pytest.approx(gops, rel=0.02)


def test_power_fit_is_least_squares_within_two_percent_on_five_measurements() -> None:
    power = PowerModel.of(BOARD)
    assert power.measurements == 5
    assert power.worst_residual < 0.02
    assert min(power.static_w, power.dsp_w_per_hz, power.bram_w_per_hz) >= 0
    more = power.watts(np.array([100.0, 2000.0]), np.array([100.0, 800.0]), 1e8)
    assert more[1] > more[0] > power.static_w


def test_one_measurement_gives_a_constant_and_none_gives_nan() -> None:
    one, none = PowerModel.of(load_device("pynq_z1")), PowerModel.of(load_device("zcu104"))
    assert one.watts(np.array([1.0, 200.0]), np.array([1.0, 100.0]), 1e8).tolist() == [1.85, 1.85]
    assert np.isnan(none.watts(np.array(1.0), np.array(1.0), 1e8))


def test_cross_tile_prefetch_gains_on_table_6_tilings() -> None:
    work = workload("alexnet")
    point = {"tm": 16, "tn": 16, "ifm_words": 3584, "ofm_words": 1024, "wei_words": 1024}
    exact, prefetch = (CHANNEL.evaluate(work, BOARD, point, reading=r) for r in ("exact", "prefetch"))
    assert 0.80 < float(prefetch.iteration_cycles / exact.iteration_cycles) < 0.95


def test_lanes_with_adders_in_dsp_blocks_take_the_logic_of_a_published_accelerator() -> None:
    lanes = np.array([448])
    assert float(lane_logic(BOARD, precision_named("fp32"), lanes)[0][0]) == 186_251
    assert float(lane_logic(BOARD, precision_named("fp32"), lanes)[1][0]) == 205_704
    in_luts = replace(BOARD, dsp_cost={"fp32": OperatorCost(2.0, 0.0)})
    assert float(lane_logic(in_luts, precision_named("fp32"), lanes)[0][0]) > 186_251
    hard = lane_logic(load_device("arria10_gx1150"), precision_named("fp32"), lanes)
    assert float(hard[0][0]) < 0.2 * 186_251
