"""The FPGA side from our own families: the estimate's times and power, and boards that cannot."""

from __future__ import annotations

import math

import pytest

from dse import Workload, estimate, load_device, load_network
from dse.errors import InputError
from dse.offload.fpga_model import fpga_side
from dse.power import PowerModel
from dse.registry import family_named
from dse.workload import PHASES, precision_named

POINT = {"tm": 16, "tn": 16, "ifm_words": 1024, "ofm_words": 512, "wei_words": 512}
ZCU102 = load_device("zcu102")
CHANNEL = family_named("channel")


def workload(name: str, batch: int) -> Workload:
    return Workload(load_network(name), batch, precision_named("fp32"))


def test_times_and_power_are_the_estimates() -> None:
    work = workload("lenet10", 16)
    side = fpga_side(work, ZCU102, CHANNEL, POINT)
    known = estimate("lenet10", "zcu102", "channel", POINT, batch_size=16)
    assert known.layers is not None
    fused = {layer.name for layer in work.network.layers if layer.op == "relu"}
    layers = [number for number, layer in enumerate(work.network.layers) if layer.name not in fused]
    wanted = known.layers.cycles[layers].sum() / ZCU102.clock_hz
    assert sum(c.seconds for (name, _), c in side.costs.items() if name not in fused) == pytest.approx(wanted, rel=0.02)
    conv2 = [layer.name for layer in work.network.layers].index("conv2")
    cycles = float(known.layers.cycles[conv2, PHASES.index("weight_grad")])
    assert side.costs["conv2", "weight_grad"].seconds == pytest.approx(cycles / ZCU102.clock_hz)
    assert {cost.watts for cost in side.costs.values()} == {float(known.power_w)}
    assert side.idle_w == PowerModel.of(ZCU102).static_w < float(known.power_w)


def test_a_power_that_is_given_counts_and_its_idle_share_is_not_known() -> None:
    side = fpga_side(workload("lenet10", 16), load_device("zcu104"), CHANNEL, POINT, watts=12.0)
    assert {cost.watts for cost in side.costs.values()} == {side.idle_w} == {12.0}
    assert "not known" in side.description


def test_the_board_need_not_hold_the_whole_step() -> None:
    """ResNet-50 at batch 256 takes ten times a ZCU102's DRAM, a single operation does not."""
    side = fpga_side(workload("resnet18", 256), ZCU102, CHANNEL, trials=20)
    assert ("layer4_1_conv2", "forward") in side.costs
    relu = side.costs["relu1", "forward"]
    moved = (2 + 1 / 32) * 64 * 112 * 112 * 256 * 4
    assert relu.seconds == pytest.approx(moved / (ZCU102.dram_bytes_per_cycle * ZCU102.clock_hz), rel=1e-3)
    told: list[tuple[int, int]] = []
    fpga_side(workload("lenet10", 16), ZCU102, CHANNEL, trials=5, on_progress=lambda *now: told.append(now))
    assert told


def test_an_operation_that_the_board_cannot_hold_is_left_out() -> None:
    side = fpga_side(workload("vgg16", 1024), ZCU102, CHANNEL, trials=20)
    assert ("conv1_2", "forward") not in side.costs
    assert ("conv5_3", "forward") in side.costs


def test_what_does_not_fit_or_has_no_power_is_one_line() -> None:
    with pytest.raises(InputError, match=r"device zcu102: the accelerator does not fit: over .*dsp by \d+ %"):
        fpga_side(workload("lenet10", 16), ZCU102, CHANNEL, {**POINT, "tm": 64, "tn": 64})
    with pytest.raises(InputError, match="device zcu104: no power is published for this board"):
        fpga_side(workload("lenet10", 16), load_device("zcu104"), CHANNEL, POINT)
    assert math.isfinite(fpga_side(workload("lenet10", 16), ZCU102, CHANNEL, POINT).idle_w)
