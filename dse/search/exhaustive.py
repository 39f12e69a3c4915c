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
    """
    budget = Budget(limits or Limits())
    collector = Collector(problem, budget, record, Front.empty(len(problem.objectives)))
    interrupted = False
    kind = "bound"
    try:
        if problem.may_fit:
            search = branch_and_bound if problem.outer_and_slack[1] else _enumerate
            kind = search(collector, on_progress)
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
        evaluated=budget.evaluated,
        space_size=problem.space.size,
        seconds=budget.seconds,
        interrupted=interrupted,
    )


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
