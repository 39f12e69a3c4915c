"""The static offload rule of Hype-training: operations with low memory bandwidth and low IPC on the GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dse.errors import InputError, did_you_mean
from dse.offload.profile import OpProfile

__all__ = ["CALIBRATION", "COMBINE", "OffloadRule", "calibrate"]

CALIBRATION = ("MatMul", "Conv2D")
"""Operations from which section 3.2 of the paper takes its thresholds."""

COMBINE = {
    "and": "bandwidth and IPC both below their thresholds",
    "or": "bandwidth or IPC below its threshold (as the paper prints it)",
    "bandwidth": "bandwidth below its threshold",
    "ipc": "IPC below its threshold",
}
"""How the two thresholds are combined -> what it means."""


@dataclass(frozen=True)
class OffloadRule:
    """Thresholds below which an operation is expected to be no slower on the FPGA."""

    max_gpu_dram_bytes_per_s: float
    max_gpu_ipc: float
    combine: str = "and"

    def __post_init__(self) -> None:
        """Refuse an unknown combination."""
        if self.combine not in COMBINE:
            raise InputError("rule", "unknown combination", self.combine, did_you_mean(self.combine, COMBINE))

    def holds(self, operation: OpProfile) -> bool | None:
        """Whether the rule would offload it; None where a counter that the rule needs is unknown."""
        bandwidth = _below(operation.gpu_dram_bytes_per_s, self.max_gpu_dram_bytes_per_s)
        ipc = _below(operation.gpu_ipc, self.max_gpu_ipc)
        if self.combine == "bandwidth":
            return bandwidth
        if self.combine == "ipc":
            return ipc
        if bandwidth is None or ipc is None:
            return None
        return bandwidth and ipc if self.combine == "and" else bandwidth or ipc


def _below(value: float, threshold: float) -> bool | None:
    return None if math.isnan(value) or math.isnan(threshold) else value < threshold


def calibrate(
    operations: Sequence[OpProfile], names: Sequence[str] = CALIBRATION, combine: str = "and"
) -> tuple[OffloadRule, dict[str, tuple[float, float]]]:
    """The rule whose thresholds separate faster from slower sizes of the operations ``names``, and its brackets.

    Per operation and counter the threshold lies between the largest value at which the FPGA is no slower and the next
    larger one; of the operations' brackets the highest counts (the paper's "maximum"), and the rule takes its middle.
    Brackets are counter name -> (low, high), bytes per second for ``bandwidth``; NaN where no operation has both a
    faster and a slower size. Raises InputError for a name that is not in the profile.
    """
    known = {operation.op for operation in operations}
    for name in names:
        if name not in known:
            raise InputError("calibration", "no such operation in the profile", name, did_you_mean(name, known))
    both = [operation for operation in operations if operation.fpga is not None]
    brackets = {
        "bandwidth": _highest([[(o.gpu_dram_bytes_per_s, _faster(o)) for o in both if o.op == name] for name in names]),
        "ipc": _highest([[(o.gpu_ipc, _faster(o)) for o in both if o.op == name] for name in names]),
    }
    return OffloadRule(sum(brackets["bandwidth"]) / 2, sum(brackets["ipc"]) / 2, combine), brackets


def _faster(operation: OpProfile) -> bool:
    return operation.fpga is not None and operation.fpga.seconds <= operation.gpu.seconds


def _highest(operations: Sequence[Sequence[tuple[float, bool]]]) -> tuple[float, float]:
    """The highest of the operations' brackets, unknown counters left out; NaN where there is none."""
    known = [[(value, faster) for value, faster in points if not math.isnan(value)] for points in operations]
    return max((bracket for points in known if (bracket := _bracket(points))), default=(math.nan, math.nan))


def _bracket(points: Sequence[tuple[float, bool]]) -> tuple[float, float] | None:
    """The largest value with a faster FPGA and the next larger with a slower one."""
    low = max((value for value, faster in points if faster), default=None)
    high = min((value for value, faster in points if not faster and (low is None or value > low)), default=None)
    return None if low is None or high is None else (low, high)
