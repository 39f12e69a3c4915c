"""Which tasks to offload: least energy without losing throughput, or most throughput under a power cap."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from dse.errors import InputError, did_you_mean
from dse.offload.list_schedule import list_schedule
from dse.offload.placement import modes_of
from dse.offload.platform import Platform
from dse.offload.schedule import Schedule
from dse.offload.task_graph import TaskGraph

__all__ = ["EXHAUSTIVE", "GOALS", "Plan", "choose", "cost_key", "gpu_only"]

GOALS = {
    "energy": "least energy without a longer step than the GPUs alone take",
    "cap": "shortest step within the power cap",
}
"""Goal -> what it means."""

EXHAUSTIVE = 10
"""Up to this many offloadable tasks every assignment is tried."""

_SAME = 1e-9
_RESTARTS = 30


@dataclass(frozen=True)
class Plan:
    """What was chosen, beside the GPUs alone (on a machine without FPGAs); None where the cap bars it."""

    goal: str
    schedule: Schedule | None
    baseline: Schedule | None
    proof: str
    """``exhaustive``: the best of all assignments under list scheduling; ``none``: the best of those tried."""
    evaluated: int
    interrupted: bool = False

    @property
    def throughput_ratio(self) -> float:
        """Samples per second over the baseline's; NaN without either."""
        if self.schedule is None or self.baseline is None or not self.schedule.seconds:
            return float("nan")
        return self.baseline.seconds / self.schedule.seconds

    @property
    def energy_ratio(self) -> float:
        """Joules a step over the baseline's; NaN without either."""
        if self.schedule is None or self.baseline is None or not self.baseline.energy_j:
            return float("nan")
        return self.schedule.energy_j / self.baseline.energy_j


def gpu_only(graph: TaskGraph, platform: Platform) -> Schedule | None:
    """The step on the same GPUs in a machine without FPGAs; None where the cap or a task without GPU cost bars it."""
    return None if graph.fpga_only else list_schedule(graph, platform.without_fpgas(), ())


def cost_key(goal: str, schedule: Schedule | None, limit_s: float) -> tuple[float, float, float]:
    """What is minimised: first whether it is feasible and no slower than ``limit_s``, then the goal's figures."""
    if schedule is None:
        return (2.0, 0.0, 0.0)
    if goal == "cap":
        return (0.0, schedule.seconds, schedule.energy_j)
    if schedule.seconds > limit_s * (1 + _SAME):
        return (1.0, schedule.seconds, schedule.energy_j)
    return (0.0, schedule.energy_j, schedule.seconds)


def choose(
    graph: TaskGraph,
    platform: Platform,
    goal: str = "energy",
    *,
    evaluations: int = 2000,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Search assignments of tasks to kinds of devices; each is scheduled (``list_schedule``) and judged by ``goal``.

    Up to EXHAUSTIVE offloadable tasks all are tried. Beyond, groups of tasks (all, an operation's, a layer's, a task
    and the one after it, one) are moved to the other kind for as long as that helps, then again from the best with a
    few of them moved at random, at most ``evaluations`` times in all. An interrupt ends the search with the best so
    far. Raises InputError for an unknown goal.
    """
    if goal not in GOALS:
        raise InputError("goal", "unknown goal", goal, did_you_mean(goal, GOALS))
    baseline = gpu_only(graph, platform)
    limit_s = baseline.seconds if baseline is not None else float("inf")
    search = _Search(graph, platform, goal, limit_s, evaluations, progress)
    forced = _forced(graph, platform)
    free = [name for name in graph.candidates if name not in forced] if platform.fpgas else []
    exhaustive = len(free) <= EXHAUSTIVE
    interrupted = False
    try:
        search.key(forced)
        if exhaustive:
            search.total = 2 ** len(free)
            search.enumerate(forced, free)
        else:
            groups = _groups(graph, set(free))
            search.climb(forced, groups)
            search.restart(groups)
    except KeyboardInterrupt:
        interrupted = True
    proof = "exhaustive" if exhaustive and not interrupted else "none"
    return Plan(goal, search.best, baseline, proof, len(search.seen), interrupted)


def _forced(graph: TaskGraph, platform: Platform) -> frozenset[str]:
    """Candidates that the cap keeps off the GPU at every clock level."""
    idle_w = platform.host_w + (platform.gpus - 1) * platform.gpu_idle_w + platform.fpgas * platform.fpga_idle_w
    return frozenset(
        name
        for name in graph.candidates
        if idle_w + min(m.peak_watts for m in modes_of(graph.by_name[name], "gpu", platform, True)) > platform.cap_w
    )


def _groups(graph: TaskGraph, free: set[str]) -> list[frozenset[str]]:
    """Sets of tasks to be moved together, from all to one; within a size in the graph's order."""
    by_op: dict[tuple[str, str], set[str]] = {}
    by_layer: dict[str, set[str]] = {}
    pairs: list[set[str]] = []
    for task in graph.tasks:
        if task.name not in free:
            continue
        by_op.setdefault((task.op, task.phase), set()).add(task.name)
        by_layer.setdefault(task.name.rpartition(" ")[0], set()).add(task.name)
        pairs += [{source, task.name} for source in task.inputs if source in free]
    saving = {name: graph.by_name[name].costs["gpu"].joules - graph.by_name[name].costs["fpga"].joules for name in free}
    singles = sorted(({name} for name in free), key=lambda one: (-saving[next(iter(one))], next(iter(one))))
    groups = [free, *by_op.values(), *by_layer.values(), *singles, *pairs]
    return list(dict.fromkeys(frozenset(group) for group in groups))


_Key = tuple[float, float, float]


def _better(key: _Key, than: _Key) -> bool:
    """Whether ``key`` is lower, differences of rounding apart."""
    if key[0] != than[0]:
        return key[0] < than[0]
    return key[1] < than[1] * (1 - _SAME) or (key[1] <= than[1] and key[2] < than[2])


@dataclass
class _Search:
    graph: TaskGraph
    platform: Platform
    goal: str
    limit_s: float
    evaluations: int
    progress: Callable[[int, int], None] | None
    total: int = 0
    best: Schedule | None = None
    best_of: frozenset[str] = frozenset()
    best_key: _Key = (3.0, 0.0, 0.0)
    seen: dict[frozenset[str], _Key] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.total = self.evaluations

    def spent(self) -> bool:
        """Whether as many assignments were scheduled as may be."""
        return len(self.seen) >= self.evaluations

    def key(self, offloaded: frozenset[str]) -> _Key:
        """What an assignment costs; the best so far is kept."""
        if offloaded not in self.seen:
            schedule = list_schedule(self.graph, self.platform, offloaded)
            key = self.seen[offloaded] = cost_key(self.goal, schedule, self.limit_s)
            if _better(key, self.best_key):
                self.best, self.best_of, self.best_key = schedule, offloaded, key
            if self.progress is not None:
                self.progress(min(len(self.seen), self.total), self.total)
        return self.seen[offloaded]

    def enumerate(self, forced: frozenset[str], free: Iterable[str]) -> None:
        """Every subset of ``free``."""
        for chosen in _subsets(list(free)):
            self.key(forced | chosen)

    def climb(self, start: frozenset[str], groups: list[frozenset[str]]) -> None:
        """Move groups to the other kind for as long as that helps."""
        current, moved = start, True
        while moved and not self.spent():
            moved = False
            for group in groups:
                for candidate in dict.fromkeys((current | group, current - group)):
                    if self.spent():
                        return
                    if _better(self.key(candidate), self.key(current)):
                        current, moved = candidate, True

    def restart(self, groups: list[frozenset[str]]) -> None:
        """Climb again from the best with a few groups moved at random, until that has not helped for a while."""
        draw, fruitless = Random(0), 0
        while fruitless < _RESTARTS and not self.spent():
            before, start = self.best_key, self.best_of
            for group in draw.sample(groups, min(3, len(groups))):
                start = start ^ group
            self.climb(start, groups)
            fruitless = 0 if _better(self.best_key, before) else fruitless + 1


def _subsets(names: list[str]) -> Iterator[frozenset[str]]:
    for size in range(len(names) + 1):
        yield from map(frozenset, itertools.combinations(names, size))
