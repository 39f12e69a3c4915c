"""What every family must keep: a new one is found by name and inherits these tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.devices import load_device
from dse.errors import InputError
from dse.estimate import BOUNDS, LOSSES, RESOURCES
from dse.model import ParallelismModel, phase_macs
from dse.networks import list_networks, load_network
from dse.registry import families
from dse.workload import PHASES
from tests.contract.helpers import PRECISIONS, one_conv, random_points, workload

BOARD = load_device("zcu102")


def _fits_buffers(estimate):
    """Points whose tiles fit their buffers: the family's own constraints hold."""
    own = [v <= 0 for name, v in estimate.violation.items() if name not in (*RESOURCES, "dram_bytes")]
    return np.logical_and.reduce(own) if own else np.ones(estimate.iteration_s.shape, dtype=bool)


@pytest.mark.parametrize("name", ["cnn_1x", "resnet20_cifar10", "mobilenet_v2", "nada_example", "deit_tiny"])
def test_scalar_call_equals_vector_call(family: ParallelismModel, name: str) -> None:
    work = workload(name)
    points = random_points(family.space(work, BOARD), 7)
    many = family.evaluate(work, BOARD, points, detail=True)
    for i in (0, 3, 6):
        one = family.evaluate(work, BOARD, {k: v[i] for k, v in points.items()}, detail=True)
        assert one.iteration_cycles.shape == ()
        assert one.iteration_cycles == many.iteration_cycles[i]
        assert one.feasible == many.feasible[i]
        np.testing.assert_array_equal(one.layers.cycles, many.layers.cycles[i])
        for tile, sizes in many.layers.tiling.items():
            np.testing.assert_array_equal(one.layers.tiling[tile], sizes[i])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_totals_are_the_sums_of_the_layers(family: ParallelismModel, precision: str) -> None:
    work = workload("resnet20_cifar10", 16, precision)
    points = random_points(family.space(work, BOARD), 40)
    for reading in family.readings:
        quick = family.evaluate(work, BOARD, points, reading=reading)
        full = family.evaluate(work, BOARD, points, reading=reading, detail=True)
        np.testing.assert_allclose(quick.iteration_cycles, full.layers.cycles.sum(axis=(1, 2)), rtol=1e-12)
        np.testing.assert_allclose(quick.dram_bytes, full.layers.dram_bytes.sum(axis=(1, 2)), rtol=1e-12)
        np.testing.assert_array_equal(quick.feasible, full.feasible)
        np.testing.assert_allclose(quick.iteration_s * BOARD.clock_hz, quick.iteration_cycles)
        np.testing.assert_allclose(quick.samples_per_s * quick.iteration_s, 16)
        np.testing.assert_allclose(quick.energy_j, quick.power_w * quick.iteration_s)


def test_chunks_do_not_show(family: ParallelismModel) -> None:
    work = workload("cnn_1x")
    points = random_points(family.space(work, BOARD), family.chunk_points + 3)
    whole = family.evaluate(work, BOARD, points)
    tail = family.evaluate(work, BOARD, {k: v[-5:] for k, v in points.items()})
    np.testing.assert_array_equal(whole.iteration_cycles[-5:], tail.iteration_cycles)


@pytest.mark.parametrize("name", sorted(list_networks()))
def test_every_shipped_network_is_estimated_above_its_floors(family: ParallelismModel, name: str) -> None:
    work = workload(name, 3)
    points = random_points(family.space(work, BOARD), 6)
    for reading in family.readings:
        estimate = family.evaluate(work, BOARD, points, reading=reading, detail=True)
        layers = estimate.layers
        assert np.all(np.isfinite(layers.cycles))
        assert np.all(layers.cycles >= layers.mac_floor_cycles - 1e-6)
        assert np.all(layers.cycles[:, layers.macs > 0] > 0)
        assert np.all(estimate.iteration_cycles >= family.floor_cycles(work, BOARD, points, reading) * (1 - 1e-12))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("network", "board"),
    [("alexnet", "zcu102"), ("alexnet", "pynq_z1"), ("alexnet", "max5"), ("deit_tiny", "zcu102")],
)
def test_no_estimate_is_below_the_dram_floor(
    family: ParallelismModel, network: str, board: str, precision: str
) -> None:
    device, work = load_device(board), workload(network, 4, precision)
    points = random_points(family.space(work, device), 20)
    layers = family.evaluate(work, device, points, detail=True).layers
    assert np.all(layers.cycles * device.dram_bytes_per_cycle >= layers.dram_bytes - 1e-3)
    assert np.all(layers.dram_bytes >= _compulsory_bytes(work) - 1e-6)


def _compulsory_bytes(work) -> np.ndarray:
    """Every map and weight of a multiplier-array phase moves at least once [L,P]."""
    out = np.zeros((len(work.network.layers), len(PHASES)))
    for number, layer in enumerate(work.network.layers):
        if layer.macs:
            (n, h, w), (m, r, c) = layer.in_shape, layer.out_shape
            rows, cols = (
                min(size, (count - 1) * stride + kernel)
                for size, count, stride, kernel in zip((h, w), (r, c), layer.stride, layer.kernel, strict=True)
            )
            maps = work.batch_size * (n * rows * cols + m * r * c)
            weights = layer.parameters - m * layer.bias
            if layer.op == "matmul":  # the second input, each sample's own, and its gradients
                second = work.batch_size * layer.macs // (r * c)
                out[number] = maps + second
                out[number, 3] = 0
                continue
            out[number] = (maps + weights, (maps + weights) * layer.needs_input_grad, maps, 2 * weights)
    return out * work.precision.bytes


@settings(max_examples=40, deadline=None)
@given(
    m=st.integers(1, 40), n=st.integers(1, 40), size=st.integers(5, 20), kernel=st.sampled_from([1, 3, 5]),
    stride=st.integers(1, 2), grow=st.sampled_from(["m", "n", "size"]), by=st.integers(1, 9), seed=st.integers(0, 99),
)  # fmt: skip
def test_more_work_never_takes_fewer_cycles(m, n, size, kernel, stride, grow, by, seed) -> None:
    shape = {"m": m, "n": n, "size": size, "kernel": kernel, "stride": stride}
    small, large = workload(one_conv(**shape)), workload(one_conv(**{**shape, grow: shape[grow] + by}))
    for family in families().values():
        points = random_points(family.space(small, BOARD), 12, seed)
        before, after = family.evaluate(small, BOARD, points), family.evaluate(large, BOARD, points)
        fits = _fits_buffers(before) & _fits_buffers(after)
        assert np.all(after.iteration_cycles[fits] >= before.iteration_cycles[fits] - 1e-6), family.name


@settings(max_examples=15, deadline=None)
@given(
    batch=st.integers(1, 70), name=st.sampled_from(["cnn_1x", "lenet10", "resnet20_cifar10"]), seed=st.integers(0, 99)
)
def test_doubling_the_batch_costs_more_but_at_most_double(batch: int, name: str, seed: int) -> None:
    once, twice = workload(name, batch), workload(name, 2 * batch)
    for family in families().values():
        points = random_points(family.space(once, BOARD), 10, seed)
        for reading in family.readings:
            before = family.evaluate(once, BOARD, points, reading=reading)
            after = family.evaluate(twice, BOARD, points, reading=reading)
            fits = _fits_buffers(before) & _fits_buffers(after)
            assert np.all(after.iteration_cycles[fits] <= 2 * before.iteration_cycles[fits] * (1 + 1e-12)), family.name
            assert np.all(after.iteration_cycles >= before.iteration_cycles - 1e-6), family.name


@settings(max_examples=20, deadline=None)
@given(
    name=st.sampled_from(["cnn_1x", "alexnet", "mobilenet_v2"]), precision=st.sampled_from(PRECISIONS),
    seed=st.integers(0, 9999),
)  # fmt: skip
def test_no_resource_falls_and_slack_never_slows(name: str, precision: str, seed: int) -> None:
    work = workload(name, 4, precision)
    rng = np.random.default_rng(seed)
    for family in families().values():
        space = family.space(work, BOARD)
        points = random_points(space, 6, seed)
        ordered = [p for p in space.parameters if not p.choice]
        parameter = ordered[int(rng.integers(len(ordered)))]
        step = np.searchsorted(parameter.values, points[parameter.name])
        up = np.minimum(step + rng.integers(1, 4, step.size), len(parameter.values) - 1)
        raised = {**points, parameter.name: parameter.values[up]}
        low, high = (family.evaluate(work, BOARD, p) for p in (points, raised))
        for resource in RESOURCES:
            assert np.all(high.resources[resource] >= low.resources[resource]), (family.name, resource)
        if parameter.slack:
            fits = _fits_buffers(low)
            assert np.all(_fits_buffers(high) >= fits)
            assert np.all(high.iteration_cycles[fits] <= low.iteration_cycles[fits] * (1 + 1e-12)), family.name


def test_every_constraint_can_be_violated(family: ParallelismModel) -> None:
    """Each constraint has an infeasible example: everything at its highest, or a board without the resource."""
    work = workload(one_conv(m=30, n=30, size=700, kernel=5), 64)
    tiny = replace(BOARD, lut=1000, ff=1000, dsp=10, bram36=4, dram_bytes=2**20, uram288=0)
    space = family.space(work, BOARD)
    seen = set()
    choices = [dict.fromkeys([p.name], v) for p in space.parameters if p.choice for v in p.values]
    corners = [space.corner(low=low) for low in (False, True)]
    for point in (*corners, *({**corner, **choice} for corner in corners for choice in choices)):
        for device in (BOARD, tiny, replace(load_device("max5"), uram288=1)):
            estimate = family.evaluate(work, device, point)
            over = {name for name, v in estimate.violation.items() if v > 0}
            assert not (over and estimate.feasible)
            seen |= over
    # A family that uses no UltraRAM at all cannot run out of it.
    uses_uram = family.resources(work, load_device("max5"), space.corner(low=False))["uram288"] > 0
    assert seen >= set(estimate.violation) - (set() if uses_uram else {"uram288"})


def test_unknown_power_is_nan_and_never_zero(family: ParallelismModel) -> None:
    board = load_device("zcu104")
    work = workload("cnn_1x")
    estimate = family.evaluate(work, board, family.space(work, board).corner(low=True))
    assert np.isnan(estimate.power_w)
    assert np.isnan(estimate.energy_j)


def test_counts_stay_exact_at_the_largest_workload(family: ParallelismModel) -> None:
    """VGG-16 at a batch of 2^20 on one lane: 10^17 cycles, computed in the same units as anywhere."""
    work, small = workload("vgg16", 2**20), workload("vgg16", 2**10)
    point = family.space(small, BOARD).corner(low=True)
    point |= {name: family.space(work, BOARD)[name].values[-1] for name in point if name.endswith("_words")}
    large, less = (family.evaluate(w, BOARD, point, detail=True) for w in (work, small))
    assert large.iteration_cycles > 1e16
    assert np.all(large.layers.cycles >= 0)
    assert large.iteration_cycles == pytest.approx(2**10 * less.iteration_cycles, rel=0.35)


def test_bounds_are_named_where_there_is_time(family: ParallelismModel) -> None:
    work = workload("alexnet")
    layers = family.evaluate(work, BOARD, random_points(family.space(work, BOARD), 3), detail=True).layers
    assert np.all((layers.bound == BOUNDS.index("none")) == (layers.cycles == 0))


@pytest.mark.parametrize("name", ["alexnet", "mobilenet_v2", "resnet20_cifar10", "deit_tiny"])
def test_every_cycle_is_useful_or_lost_to_a_cause(family: ParallelismModel, name: str) -> None:
    work = workload(name, 3)
    points = random_points(family.space(work, BOARD), 8)
    for reading in family.readings:
        layers = family.evaluate(work, BOARD, points, reading=reading, detail=True).layers
        assert set(layers.lost_cycles) <= set(LOSSES)
        for lost in layers.lost_cycles.values():
            assert np.all(lost >= -1e-9 * np.maximum(layers.cycles, 1))
        total = layers.mac_floor_cycles + sum(layers.lost_cycles.values())
        np.testing.assert_allclose(total, layers.cycles, rtol=1e-9)


def test_a_first_layer_of_three_channels_is_named_as_such() -> None:
    """Sixteen lanes along input channels, three channels: five cycles of 16/3 are lost to them."""
    point = {"tm": 16, "tn": 16, "ifm_words": 4096, "ofm_words": 2048, "wei_words": 1024}
    layers = families()["channel"].evaluate(workload("lenet10", 16), BOARD, point, detail=True).layers
    lost = layers.lost_cycles["input_channels"][0, 0] / layers.mac_floor_cycles[0, 0]
    assert lost == pytest.approx(16 / 3 - 1)


def test_heuristics_are_legal_points(family: ParallelismModel) -> None:
    for name, board in (("alexnet", "zcu102"), ("cnn_1x", "pynq_z1"), ("vgg_cifar10", "max5")):
        work, device = workload(name, 128), load_device(board)
        points = family.heuristics(work, device)
        assert points
        assert all(family.space(work, device).contains(p) for p in points)
        assert len({tuple(p.items()) for p in points}) == len(points)


def test_macs_of_phases_are_the_networks(family: ParallelismModel) -> None:
    network = load_network("alexnet")
    macs = phase_macs(workload(network, 5))
    assert macs.sum() * 2 == 5 * network.training_flop


def test_bad_requests_are_one_line(family: ParallelismModel) -> None:
    work = workload("cnn_1x")
    point = family.space(work, BOARD).corner(low=True)
    known = list(family.readings)[-1]
    with pytest.raises(InputError, match="reading: unknown for family") as caught:
        family.evaluate(work, BOARD, point, reading=known[:-1])
    assert f"did you mean '{known}'" in str(caught.value)
    with pytest.raises(InputError, match="no DSP cost"):
        family.space(work, replace(BOARD, dsp_cost={}))
    with pytest.raises(InputError, match="unknown layer"):
        family.evaluate(work, BOARD, point, tiling={("conv9", "forward"): {}})
    with pytest.raises(InputError, match="has no such tile"):
        family.evaluate(work, BOARD, point, tiling={("conv1", "forward"): {"depth": 3}})


@settings(max_examples=40, deadline=None)
@given(
    m=st.integers(1, 40), n=st.integers(1, 40), size=st.integers(4, 20), kernel=st.sampled_from([1, 3, 5]),
    stride=st.integers(1, 3), batch=st.integers(1, 9), seed=st.integers(0, 999),
)  # fmt: skip
def test_the_cheap_floor_is_a_floor(m, n, size, kernel, stride, batch, seed) -> None:
    work = workload(one_conv(m=m, n=n, size=size, kernel=kernel, stride=stride), batch)
    for family in families().values():
        points = random_points(family.space(work, BOARD), 30, seed)
        for reading in family.readings:
            estimate = family.evaluate(work, BOARD, points, reading=reading)
            floor = family.floor_cycles(work, BOARD, points, reading)
            assert np.all(estimate.iteration_cycles >= floor * (1 - 1e-12)), (family.name, reading)
