"""What a schedule is: which unit runs which task when, which tensor moves when, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dse.offload.platform import Platform

__all__ = ["Run", "Schedule", "Transfer", "power_steps", "units_of"]


@dataclass(frozen=True, slots=True)
class Run:
    """A task on a unit (``gpu0``, ``fpga1``); power in watts is the unit's meanwhile, ``level`` the clock's share."""

    task: str
    unit: str
    start_s: float
    end_s: float
    watts: float
    peak_watts: float
    level: float = 1.0


@dataclass(frozen=True, slots=True)
class Transfer:
    """A tensor on its way from one unit's memory to another's."""

    tensor: str
    source: str
    target: str
    start_s: float
    end_s: float
    count_bytes: float


@dataclass(frozen=True)
class Schedule:
    """Runs and transfers by start time. Seconds, joules and watts are of one training step of the whole machine."""

    runs: tuple[Run, ...]
    transfers: tuple[Transfer, ...]
    seconds: float
    energy_j: float
    peak_w: float
    offloaded: frozenset[str]

    @property
    def mean_w(self) -> float:
        """Energy over time; 0 for a step that takes none."""
        return self.energy_j / self.seconds if self.seconds else 0.0

    def busy_s(self, unit: str) -> float:
        """Seconds for which ``unit`` runs tasks."""
        return sum(run.end_s - run.start_s for run in self.runs if run.unit == unit)


def units_of(platform: Platform) -> dict[str, float]:
    """Unit name -> idle power in watts, GPUs first."""
    gpus = {f"gpu{number}": platform.gpu_idle_w for number in range(platform.gpus)}
    return gpus | {f"fpga{number}": platform.fpga_idle_w for number in range(platform.fpgas)}


def power_steps(runs: Sequence[Run], platform: Platform, *, peak: bool = False) -> list[tuple[float, float]]:
    """(time in seconds, watts from then on) of the machine, in order of time; ``peak`` takes the tasks' peak power."""
    idle = units_of(platform)
    changes: dict[float, float] = {0.0: 0.0}
    for run in runs:
        if run.end_s > run.start_s:
            above = (run.peak_watts if peak else run.watts) - idle[run.unit]
            changes[run.start_s] = changes.get(run.start_s, 0.0) + above
            changes[run.end_s] = changes.get(run.end_s, 0.0) - above
    watts, steps = platform.host_w + sum(idle.values()), []
    for time in sorted(changes):
        watts += changes[time]
        steps.append((time, watts))
    return steps
