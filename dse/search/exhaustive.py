"""The proven optimum, or exact Pareto front, of a search space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.estimate import Float
from dse.search.bound import branch_and_bound
from dse.search.collector import Budget, Collector, Limits, OnProgress, OutOfBudgetError, Record
from dse.search.pareto import Front
from dse.search.problem import CHUNK, Points, Problem, feasible_count, feasible_points, root

__all__ = ["ExactResult", "exact_search"]


@dataclass(frozen=True)
class ExactResult:
    """What an exact search found.

    ``kind`` is that of ``results.Proof``: ``exhaustive``, ``bound``, or ``none`` where it was stopped by its limits or
    interrupted; the front is then only the best of what was seen.
    """

    kind: str
    front: Float
    """Distinct non-dominated objective vectors [M,K], in lexicographic order; M is at most 1 for one objective."""
    points: Points
    """The point of each row of ``front``, [M]. Among equals: least dsp, then bram36, then lexicographic."""
    floor: tuple[float, ...]
    """Lower bounds of the objectives over all points that fit [K]; empty where none is known."""
    evaluated: int
    space_size: int
    seconds: float
    interrupted: bool = False


def exact_search(
    problem: Problem,
    *,
    limits: Limits | None = None,
    record: Record | None = None,
    on_progress: OnProgress | None = None,
) -> ExactResult:
    """The best feasible point (one objective) or all non-dominated ones (several), with proof.

    Points whose resources do not fit are never built (no resource falls when a parameter is raised). Without slack
    parameters every other point is evaluated; with them, branch and bound leaves out what cannot be better. Ctrl-C
    returns what was found, with ``interrupted``.

    What a family wants searched first (``subspaces``) is searched so, each part for at most a share of the time limit:
    its optimum is where the search of the whole starts.
    """
    budget = Budget(limits or Limits())
    collector = Collector(problem, budget, record, Front.empty(len(problem.objectives)))
    if problem.objectives == ("latency",):
        collector.floor = np.array([problem.mac_floor_seconds])
    interrupted = False
    kind = "bound"
    try:
        if problem.may_fit:
            for part in problem.subproblems():
                _search_part(collector, part, on_progress)
            kind = _search(collector, on_progress)
    except OutOfBudgetError:
        kind = "none"
    except KeyboardInterrupt:
        kind, interrupted = "none", True
    names = problem.space.names
    empty = np.empty(0, dtype=np.int64)
    return ExactResult(
        kind=kind,
        front=collector.front.values,
        points={name: np.asarray(collector.front.payload.get(name, empty), dtype=np.int64) for name in names},
        floor=tuple(collector.floor.tolist()) if collector.floor is not None else (),
        evaluated=budget.evaluated,
        space_size=problem.space.size,
        seconds=budget.seconds,
        interrupted=interrupted,
    )


_PART = 0.2
"""Share of the time limit for each part that is searched first."""


def _search(collector: Collector, on_progress: OnProgress | None) -> str:
    search = branch_and_bound if collector.problem.outer_and_slack[1] else _enumerate
    return search(collector, on_progress)


def _search_part(collector: Collector, part: Problem, on_progress: OnProgress | None) -> None:
    """Search ``part`` of the problem alone; what it finds joins the front of the whole."""
    limits, spent = collector.budget.limits, collector.budget.evaluated
    seconds = None if limits.time_limit_s is None else _PART * limits.time_limit_s
    own = Budget(Limits(limits.max_points - spent, seconds))
    try:
        if part.may_fit:
            _search(Collector(part, own, collector.record, collector.front), on_progress)
    except OutOfBudgetError:
        pass
    finally:
        collector.budget.evaluated += own.evaluated


def _enumerate(collector: Collector, on_progress: OnProgress | None) -> str:
    """Evaluate every point that fits."""
    problem, budget = collector.problem, collector.budget
    parameters = problem.space.parameters
    total = feasible_count(problem, parameters, budget.limits.max_points)
    if total > budget.limits.max_points:
        raise OutOfBudgetError
    done = 0
    for block, rows in feasible_points(problem, root(problem), parameters, chunk=CHUNK):
        collector.evaluate(block)
        done += len(rows)
        if on_progress is not None:
            on_progress(done, total)
    return "exhaustive"
