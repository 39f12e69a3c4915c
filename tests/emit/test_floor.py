"""The lower bound of a schedule is one, for any engine, layer and tiling."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.emit.floor import Floor, least_command_cycles
from dse.engine import Convolution, EngineParameters, Tiling, command_cycles, compute_cycles, phase_nest
from dse.golden import Window
from dse.schedule import build_schedule, least_hardware
from dse.workload import Workload, optimiser_named, precision_named

ENGINES = {
    "channel": {"um": 16, "un": 32, "channel_block": 16, "data_bits": 128},
    "batch": {"ub": 4, "um": 1, "un": 12, "channel_block": 1, "data_bits": 64},
    "feature map": {"um": 6, "un": 1, "ur": 3, "uc": 4, "channel_block": 1, "data_bits": 64},
    "hybrid, int16": {"ub": 2, "um": 6, "un": 3, "ur": 2, "uc": 3, "channel_block": 3, "operand_bits": 16},
}


@st.composite
def commands(draw: st.DrawFn) -> tuple[EngineParameters, Convolution, str, Tiling]:
    """An engine, a convolution with groups, strides and padding, a phase and a tiling."""

    def up_to(most: int) -> int:
        return draw(st.integers(1, most))

    block, groups = draw(st.sampled_from([1, 2, 3, 4])), draw(st.sampled_from([1, 1, 2, 3]))
    bits, ports = draw(st.sampled_from([8, 16])), draw(st.sampled_from([32, 64, 128]))
    hw = EngineParameters(
        up_to(3), block * up_to(3), block * up_to(3), up_to(3), up_to(3), block, bits, data_bits=ports
    )  # fmt: skip
    kernel = (up_to(4), up_to(4))
    pads = tuple(draw(st.integers(0, size - 1)) for size in (*kernel, *kernel))
    window = Window(kernel, (up_to(4), up_to(4)), pads, groups=groups)
    size = (kernel[0] + up_to(6), kernel[1] + up_to(6))
    conv = Convolution(up_to(4), groups * up_to(5), groups * up_to(5), size, window)
    phase = draw(st.sampled_from(["forward", "input_grad", "weight_grad"]))
    return hw, conv, phase, Tiling(up_to(3), up_to(3), up_to(2), up_to(6))


@settings(max_examples=150, deadline=None)
@given(case=commands(), raw=st.booleans())
def test_no_tiling_takes_fewer_cycles(case: tuple[EngineParameters, Convolution, str, Tiling], raw: bool) -> None:
    hw, conv, phase, tiling = case
    nest = phase_nest(conv, phase, hw.channel_block)
    assert least_command_cycles(hw, nest, raw) <= command_cycles(hw, nest, tiling, raw=raw)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("network", ["shapes_residual", "shapes_separable"])
def test_no_schedule_takes_fewer_cycles(network: str, engine: str) -> None:
    hw = EngineParameters(**ENGINES[engine], feature_depth=8192, operand_depth=8192, sum_depth=8192)
    precision = precision_named(f"int{hw.operand_bits}")
    workload = Workload(dse.load_network(network), 4, precision, optimiser_named("momentum"))
    schedule = build_schedule(workload, least_hardware(workload.network, hw, "momentum"))
    least = Floor(workload).cycles(hw)
    assert least <= schedule.cycles
    units = sum(step.cycles for step in schedule.steps if step.unit != "engine")
    assert 0.5 * (schedule.cycles - units) < least - units, "the bound is of no use"


def test_the_bound_of_a_compute_bound_layer_is_close() -> None:
    hw = EngineParameters(um=16, un=16, channel_block=16, data_bits=128)
    conv = Convolution(2, 64, 64, (28, 28), Window((3, 3), padding=(1, 1, 1, 1)))
    nest = phase_nest(conv, "forward", 16)
    least = least_command_cycles(hw, nest, raw=False)
    assert least >= 0.999 * compute_cycles(hw, nest, Tiling(4, 4, 2, 28))


def test_what_has_no_schedule_has_no_finite_bound() -> None:
    workload = Workload(dse.load_network("shapes_residual"), 4, precision_named("int16"))
    narrow = EngineParameters(um=4, un=4, channel_block=4, operand_bits=16, data_bits=32)
    assert Floor(workload).cycles(narrow) == float("inf")
