"""Thresholds, verdicts and break-even bandwidths, against Table 1 and against their own definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.errors import InputError
from dse.offload import Cost, OffloadRule, OpProfile, Platform, advise, calibrate, load_profile, score

TABLE_1 = load_profile("hype_table1").operations


def test_thresholds_lie_where_matmul_and_conv2d_turn_slower() -> None:
    _, brackets = calibrate(TABLE_1)
    assert brackets["bandwidth"] == pytest.approx((60.31e9, 71.93e9))
    assert brackets["ipc"] == pytest.approx((5.549, 5.764))


@pytest.mark.parametrize(("combine", "wrong"), [("and", 3), ("or", 12), ("bandwidth", 4)])
def test_the_rule_finds_all_seven_and_overshoots_least_with_and(combine: str, wrong: int) -> None:
    rule, _ = calibrate(TABLE_1, combine=combine)
    counts = score(advise(TABLE_1, Platform(), rule))
    assert (counts.right, counts.false_positive, counts.missed) == (7, wrong, 0)


def test_the_operations_that_and_overshoots_are_the_small_ones() -> None:
    rule, _ = calibrate(TABLE_1)
    wrong = [a.operation.name for a in advise(TABLE_1, Platform(), rule) if a.rule and not a.faster]
    assert wrong == ["Mul large", "Transpose medium", "Transpose large"]


def test_thresholds_stay_unknown_without_a_slower_size() -> None:
    rule, brackets = calibrate([o for o in TABLE_1 if o.name == "MatMul small"], ["MatMul"])
    assert all(math.isnan(value) for pair in brackets.values() for value in pair)
    assert rule.holds(TABLE_1[0]) is None


def test_unknown_names_are_answered_with_the_near_miss() -> None:
    with pytest.raises(InputError, match=r"got 'MatMull'; allowed: did you mean|got 'MatMull'; allowed: choices"):
        calibrate(TABLE_1, ["MatMull"])
    with pytest.raises(InputError, match="rule: unknown combination; got 'xor'"):
        OffloadRule(1.0, 1.0, "xor")


def operation(gpu: Cost, fpga: Cost | None, moved: float) -> OpProfile:
    return OpProfile("op", "", gpu, fpga, link_bytes=moved)


ANY_RULE = OffloadRule(math.nan, math.nan)
TIMES = st.floats(1e-6, 1e2)
WATTS = st.floats(1, 500)
COSTS = st.builds(lambda s, w: Cost(s, w, w), TIMES, WATTS)


@given(gpu=COSTS, fpga=COSTS, moved=st.floats(1, 1e12), idle=st.floats(0, 50), latency=st.floats(0, 1e-3))
def test_break_even_is_where_time_and_energy_tie(
    gpu: Cost, fpga: Cost, moved: float, idle: float, latency: float
) -> None:
    fixed = {"gpu_idle_w": idle, "fpga_idle_w": idle / 2, "link_latency_s": latency}
    (first,) = advise([operation(gpu, fpga, moved)], Platform(**fixed), ANY_RULE)
    time_tie, energy_tie = first.break_even_bytes_per_s, first.break_even_energy_bytes_per_s
    if math.isfinite(time_tie):
        (at,) = advise([operation(gpu, fpga, moved)], Platform(link_bytes_per_s=time_tie, **fixed), ANY_RULE)
        assert fpga.seconds + at.transfer_s == pytest.approx(gpu.seconds)
    else:
        assert fpga.seconds + latency >= gpu.seconds
    if 0 < energy_tie < 1e30:
        (at,) = advise([operation(gpu, fpga, moved)], Platform(link_bytes_per_s=energy_tie, **fixed), ANY_RULE)
        assert at.saved_j == pytest.approx(0, abs=1e-6 * (gpu.joules + fpga.joules + idle * gpu.seconds))


@given(gpu=COSTS, fpga=COSTS, moved=st.floats(0, 1e12), link=st.floats(1e6, 1e13))
def test_a_verdict_is_what_the_figures_say(gpu: Cost, fpga: Cost, moved: float, link: float) -> None:
    platform = Platform(link_bytes_per_s=link, fpga_idle_w=min(fpga.watts, 10))
    (one,) = advise([operation(gpu, fpga, moved)], platform, ANY_RULE)
    in_time = fpga.seconds + one.transfer_s <= gpu.seconds
    if one.verdict == "offload":
        assert in_time
        assert one.saved_j > 0
        assert link >= one.break_even_bytes_per_s * (1 - 1e-9)
    elif one.verdict == "beside":
        assert one.saved_beside_j > 0
    else:
        assert one.saved_beside_j <= 0


def test_what_was_not_measured_or_moves_nobody_knows_what_is_unknown() -> None:
    gpu = Cost(1e-3, 200, 200)
    (alone,) = advise([operation(gpu, None, 1e6)], Platform(), ANY_RULE)
    (unmoved,) = advise([operation(gpu, Cost(1e-4, 20, 20), math.nan)], Platform(), ANY_RULE)
    assert alone.verdict == unmoved.verdict == "unknown"
    assert alone.faster is None
    assert unmoved.faster is True
    (free,) = advise([operation(gpu, Cost(1e-4, 20, 20), math.nan)], Platform(link_bytes_per_s=math.inf), ANY_RULE)
    assert free.verdict == "offload"


def test_moved_bytes_default_to_the_traffic_on_the_gpu() -> None:
    conv = next(o for o in TABLE_1 if o.name == "Conv2D large")
    assert conv.moved_bytes == pytest.approx(71.93e9 * 4.088e-3)


@pytest.mark.parametrize(
    ("field", "value"),
    [("contention", 0.5), ("gpus", 0), ("link_bytes_per_s", 0.0), ("cap_w", -1.0), ("dvfs_levels", (0.5,)),
     ("gpu_idle_w", math.nan), ("compute_share", 2.0), ("fpgas", -1)],
)  # fmt: skip
def test_a_machine_that_cannot_be_is_refused(field: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"^platform: {field}: is out of range; got .*; allowed: "):
        Platform(**{field: value})  # type: ignore[arg-type]
