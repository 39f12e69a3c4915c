"""A scheduled training step beside the GPUs alone: what is offloaded, what it gains, how far it is from a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dse.offload.assignment import Plan, choose
from dse.offload.bound import LowerBound, lower_bound
from dse.offload.check import check_schedule
from dse.offload.platform import Platform
from dse.offload.schedule import Schedule
from dse.offload.task_graph import TaskGraph

__all__ = ["Kind", "Simulation", "simulate"]


@dataclass(frozen=True, slots=True)
class Kind:
    """The tasks of one operation and phase: how many there are, are offloaded, and their seconds on either device."""

    op: str
    phase: str
    tasks: int
    offloaded: int
    gpu_s: float
    """Of the offloaded ones, if they stayed."""
    fpga_s: float


@dataclass(frozen=True)
class Simulation:
    """A plan for a graph on a machine; ``critical_path`` names the longest chain of tasks as they are assigned."""

    graph: TaskGraph
    platform: Platform
    plan: Plan
    bound: LowerBound
    critical_path: tuple[str, ...]
    critical_s: float

    @property
    def kinds(self) -> list[Kind]:
        """Tasks by operation and phase, in the graph's order; those that cannot be offloaded apart."""
        schedule = self.plan.schedule
        offloaded = schedule.offloaded if schedule is not None else frozenset()
        groups: dict[tuple[str, str], list[str]] = {}
        for task in self.graph.tasks:
            if "fpga" in task.costs:
                groups.setdefault((task.op, task.phase), []).append(task.name)
        kinds = []
        for (op, phase), names in groups.items():
            costs = [self.graph.by_name[name].costs for name in names if name in offloaded]
            gpu_s = sum(c["gpu"].seconds for c in costs if "gpu" in c)
            kinds.append(Kind(op, phase, len(names), len(costs), gpu_s, sum(c["fpga"].seconds for c in costs)))
        return kinds

    @property
    def link_busy_s(self) -> float:
        """Seconds of transfers, those at the same time counted each."""
        schedule = self.plan.schedule
        return sum(t.end_s - t.start_s for t in schedule.transfers) if schedule is not None else 0.0

    def samples_per_s(self, schedule: Schedule) -> float:
        """Throughput of ``schedule``."""
        return self.graph.samples / schedule.seconds if schedule.seconds else float("nan")


def simulate(
    graph: TaskGraph,
    platform: Platform,
    goal: str = "energy",
    *,
    evaluations: int = 2000,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Choose what to offload (``choose``) and check the schedule with rules of their own (``check_schedule``).

    Raises InputError for an unknown goal and a graph that does not match the machine, RuntimeError for a schedule that
    fails its check, which is a fault of this program.
    """
    plan = choose(graph, platform, goal, evaluations=evaluations, progress=progress)
    offloaded: frozenset[str] = frozenset()
    if plan.schedule is not None:
        faults = check_schedule(graph, platform, plan.schedule)
        if faults:
            raise RuntimeError(f"the schedule of {graph.name} is unsound: {faults[0]}")
        offloaded = plan.schedule.offloaded
    path, seconds = graph.critical_path(offloaded)
    return Simulation(graph, platform, plan, lower_bound(graph, platform), tuple(path), seconds)
