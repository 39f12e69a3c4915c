"""Static advice: for every profiled operation whether an FPGA should take it over, and from which link bandwidth on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dse.offload.platform import Platform
from dse.offload.profile import Cost, OpProfile
from dse.offload.rule import OffloadRule

__all__ = ["VERDICTS", "Advice", "RuleScore", "advise", "score"]

VERDICTS = {
    "offload": "no slower with its transfers, and saves energy while the GPU waits for it",
    "beside": "slower or dearer while the GPU waits, but saves energy beside other work, off the critical path",
    "keep": "costs energy even beside other work",
    "unknown": "not measured on the FPGA, or what it moves is not known",
}
"""Verdict -> what it means."""


@dataclass(frozen=True)
class Advice:
    """One operation. Seconds and joules are of one call; unknown is NaN, a bandwidth that cannot help is infinite."""

    operation: OpProfile
    rule: bool | None
    """What the threshold rule says; None where it lacks a counter."""
    faster: bool | None
    """Whether the FPGA alone takes no longer, transfers apart; None where it was not measured."""
    transfer_s: float
    energy_ratio: float
    """FPGA over GPU energy of the operation alone, without idle power and transfers: the paper's figure."""
    saved_j: float
    """Joules saved by a call of which the GPU waits for the end, with transfers and idle power of both devices."""
    saved_beside_j: float
    """Joules saved by a call that runs beside other work of the GPU: active minus idle energy."""
    break_even_bytes_per_s: float
    """Least link bandwidth at which FPGA and transfers take no longer than the GPU."""
    break_even_energy_bytes_per_s: float
    """Least link bandwidth at which ``saved_j`` is not negative."""
    verdict: str


@dataclass(frozen=True)
class RuleScore:
    """The rule against the measured times: how many operations it offloads rightly, wrongly, and misses."""

    right: int
    false_positive: int
    missed: int


def advise(operations: Sequence[OpProfile], platform: Platform, rule: OffloadRule) -> list[Advice]:
    """A verdict for each operation, in their order (VERDICTS says what they mean)."""
    return [_advice(operation, platform, rule) for operation in operations]


def score(advice: Sequence[Advice]) -> RuleScore:
    """Compare rule and measurement over the operations for which both are known."""
    known = [(a.rule, a.faster) for a in advice if a.rule is not None and a.faster is not None]
    return RuleScore(
        right=sum(rule and faster for rule, faster in known),
        false_positive=sum(rule and not faster for rule, faster in known),
        missed=sum(faster and not rule for rule, faster in known),
    )


def _advice(operation: OpProfile, platform: Platform, rule: OffloadRule) -> Advice:
    gpu, fpga = operation.gpu, operation.fpga
    moved = operation.moved_bytes
    transfer_s = 0.0 if math.isinf(platform.link_bytes_per_s) else platform.transfer_s(moved)
    transfer_s = transfer_s if not math.isnan(moved) or math.isinf(platform.link_bytes_per_s) else math.nan
    if fpga is None:
        nan = math.nan
        return Advice(operation, rule.holds(operation), None, transfer_s, nan, nan, nan, nan, nan, "unknown")
    idle_w = platform.gpu_idle_w + platform.fpga_idle_w
    slack_j = _saved_j(gpu, fpga, platform)
    saved_j = slack_j - idle_w * transfer_s
    beside_j = (gpu.watts - platform.gpu_idle_w) * gpu.seconds - (fpga.watts - platform.fpga_idle_w) * fpga.seconds
    slack_s = gpu.seconds - fpga.seconds
    return Advice(
        operation=operation,
        rule=rule.holds(operation),
        faster=slack_s >= 0,
        transfer_s=transfer_s,
        energy_ratio=fpga.joules / gpu.joules,
        saved_j=saved_j,
        saved_beside_j=beside_j,
        break_even_bytes_per_s=_least_bandwidth(moved, slack_s, platform.link_latency_s),
        break_even_energy_bytes_per_s=_least_bandwidth(
            moved, slack_j / idle_w if idle_w else math.copysign(math.inf, slack_j), platform.link_latency_s
        ),
        verdict=_verdict(slack_s - transfer_s, saved_j, beside_j),
    )


def _saved_j(gpu: Cost, fpga: Cost, platform: Platform) -> float:
    """GPU run with an idle FPGA minus FPGA run with an idle GPU."""
    return (gpu.watts + platform.fpga_idle_w) * gpu.seconds - (fpga.watts + platform.gpu_idle_w) * fpga.seconds


def _least_bandwidth(moved_bytes: float, available_s: float, latency_s: float) -> float:
    """Bytes per second that move ``moved_bytes`` within ``available_s``; infinite where there is no time for it."""
    if math.isnan(moved_bytes):
        return math.nan
    if moved_bytes == 0:
        return 0.0 if available_s >= 0 else math.inf
    return moved_bytes / (available_s - latency_s) if available_s > latency_s else math.inf


def _verdict(slack_s: float, saved_j: float, beside_j: float) -> str:
    if math.isnan(slack_s):
        return "unknown"
    if slack_s >= 0 and saved_j > 0:
        return "offload"
    return "beside" if beside_j > 0 else "keep"
