"""Branch and bound over hardware parameters whose buffers (slack parameters) can only help.

An outer point fixes the parameters without slack. The best its buffers can do is bounded by the estimate with every
buffer at the largest size that fits next to the smallest others; resources are bounded by the smallest buffers. Outer
points are visited from the lowest bound up, until no bound is better than what was found. Of an outer point's buffer
sizes only those are evaluated that cannot be raised without using more of a resource that is itself an objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.estimate import Float
from dse.search.collector import Collector, OnProgress, OutOfBudgetError
from dse.search.pareto import covered
from dse.search.problem import (
    CHUNK,
    Points,
    Problem,
    feasible_count,
    feasible_points,
    largest_buffers,
    root,
)
from dse.search.refine import refine
from dse.space import Parameter

__all__ = ["branch_and_bound"]

_EVALUATE = 4096
"""Points per call of the model while bounding and visiting."""


@dataclass
class _Outer:
    """Outer points in the order in which they are visited, their slack parameters at the lowest."""

    points: Points
    seconds: Float
    """Lower bounds of the iteration's time [N]."""
    bounds: Float
    """Lower bounds of the objectives [N,K]."""
    least: Float
    """Lower bounds of dsp and bram36 [N,2], which break ties."""

    def take(self, rows: NDArray[np.int64]) -> _Outer:
        return _Outer(_at(self.points, rows), self.seconds[rows], self.bounds[rows], self.least[rows])


@dataclass
class _Search:
    collector: Collector
    slack: tuple[Parameter, ...]
    pruned: bool = False
    best: float = np.inf
    tied: list[Points] = field(default_factory=list)
    """For one objective: the evaluated points that reached ``best``, each a batch of one."""

    @property
    def problem(self) -> Problem:
        return self.collector.problem


def branch_and_bound(collector: Collector, on_progress: OnProgress | None) -> str:
    """Run the search; the collector's front is the answer. Returns the kind of proof, ``bound`` or ``exhaustive``."""
    problem = collector.problem
    outer_parameters, slack = problem.outer_and_slack
    search = _Search(collector, slack)
    outer = _bounded(search, outer_parameters, on_progress)
    total = len(outer.bounds)
    start, step = 0, 16
    while start < total:
        batch = outer.take(np.arange(start, min(start + step, total)))
        keep = ~_hopeless(search, batch)
        if len(problem.objectives) == 1 and not keep[0]:
            search.pruned = True
            break
        search.pruned |= not keep.all()
        visited = _visit(search, batch.take(np.flatnonzero(keep))) if keep.any() else 0
        start += len(keep)
        step = int(np.clip(step * _EVALUATE // max(visited, 1), 1, 4 * step))
        step = min(step, CHUNK)
        if on_progress is not None:
            on_progress(total + start, 2 * total)
    if len(problem.objectives) == 1:
        refine(search.collector, search.slack, search.tied)
    if on_progress is not None:
        on_progress(2 * total, 2 * total)
    return "bound" if search.pruned else "exhaustive"


def _at(points: Points, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Points:
    return {name: column[rows] for name, column in points.items()}


# Bounds ------------------------------------------------------------------------------------------------------------


def _bounded(search: _Search, parameters: Sequence[Parameter], on_progress: OnProgress | None) -> _Outer:
    """All outer points that fit, with their bounds, from the lowest bound up."""
    collector, problem = search.collector, search.problem
    limit = collector.budget.limits.max_points
    if not parameters:
        total, blocks = 1, iter([(root(problem), np.zeros(1, dtype=np.int64))])
    else:
        total = feasible_count(problem, parameters, limit)
        blocks = feasible_points(problem, root(problem), parameters, chunk=_EVALUATE)
    if total > limit:
        raise OutOfBudgetError
    parts: list[_Outer] = []
    done = 0
    for block, rows in blocks:
        parts.append(_bound(search, block))
        done += len(rows)
        if on_progress is not None:
            on_progress(done, 2 * total)
    outer = _Outer(
        {name: np.concatenate([part.points[name] for part in parts]) for name in parts[0].points},
        np.concatenate([part.seconds for part in parts]),
        np.concatenate([part.bounds for part in parts]),
        np.concatenate([part.least for part in parts]),
    )
    return outer.take(_visiting_order(outer))


def _bound(search: _Search, points: Points) -> _Outer:
    """Bounds of outer points; those whose largest buffers are still too small for some tile are left out."""
    problem = search.problem
    search.collector.budget.spend(len(next(iter(points.values()))))
    estimate = problem.evaluate(largest_buffers(problem, points))
    kept = np.flatnonzero(problem.fits_otherwise(estimate))
    search.pruned |= len(kept) < len(estimate.iteration_s)
    seconds, points = estimate.iteration_s[kept], _at(points, kept)
    resources = problem.resources(points)
    return _Outer(points, seconds, _lower_bounds(problem, seconds, resources), _tie_breakers(resources))


def _lower_bounds(problem: Problem, seconds: Float, resources: dict[str, Float]) -> Float:
    """[N,K] from a lower bound of the time and of the resources; nothing is known of the bandwidth."""
    columns = {
        "latency": seconds,
        "energy": seconds * problem.power_w(resources),
        "dsp": resources["dsp"],
        "bram": resources["bram36"],
        "bandwidth": np.zeros_like(seconds),
    }
    return np.stack([columns[name] for name in problem.objectives], axis=1)


def _tie_breakers(resources: dict[str, Float]) -> Float:
    return np.stack([resources["dsp"], resources["bram36"]], axis=1)


def _visiting_order(outer: _Outer) -> NDArray[np.int64]:
    if outer.bounds.shape[1] == 1:
        return np.lexsort((outer.least[:, 1], outer.least[:, 0], outer.bounds[:, 0]))
    if len(outer.bounds) == 0:
        return np.empty(0, dtype=np.int64)
    low, extent = outer.bounds.min(axis=0), np.ptp(outer.bounds, axis=0)
    share = (outer.bounds - low) / np.where(extent > 0, extent, 1.0)
    return np.argsort(share.sum(axis=1), kind="stable")


def _hopeless(search: _Search, outer: _Outer) -> NDArray[np.bool_]:
    """Outer points that hold nothing better than the front, ties included; bool [N]."""
    front = search.collector.front
    if len(front.values) == 0:
        return np.zeros(len(outer.bounds), dtype=bool)
    if outer.bounds.shape[1] > 1:
        return covered(front.values, outer.bounds)
    best = (front.values[0, 0], float(front.payload["_dsp"][0]), float(front.payload["_bram36"][0]))
    bound, dsp, bram = outer.bounds[:, 0], outer.least[:, 0], outer.least[:, 1]
    tied = bound == best[0]
    return np.asarray((bound > best[0]) | (tied & (dsp > best[1])) | (tied & (dsp == best[1]) & (bram > best[2])))


# Visits ------------------------------------------------------------------------------------------------------------


def _visit(search: _Search, outer: _Outer) -> int:
    """Evaluate what may be better than the front; returns how many points were evaluated."""
    problem = search.problem
    top = problem.objectives == ("latency",)
    search.pruned |= top
    evaluated = 0
    for wide, rows in feasible_points(problem, outer.points, search.slack, chunk=CHUNK, top=top):
        useful = np.flatnonzero(_useful(search, wide))
        search.pruned |= len(useful) < len(rows)
        block, seconds = _at(wide, useful), outer.seconds[rows[useful]]
        bounds = _lower_bounds(problem, seconds, problem.resources(block))
        for start in range(0, len(useful), _EVALUATE):
            part = slice(start, start + _EVALUATE)
            keep = ~_beaten(search, bounds[part])
            search.pruned |= not keep.all()
            if keep.any():
                _evaluate(search, _at(_at(block, part), keep))
                evaluated += int(keep.sum())
    return evaluated


def _useful(search: _Search, block: Points) -> NDArray[np.bool_]:
    """Whether no slack parameter of a point can go up one step without raising an objective, bool [N].

    Where one can, the raised point is at least as fast and costs the same, so the lower one need not be evaluated.
    """
    problem = search.problem
    useful = np.ones(len(next(iter(block.values()))), dtype=bool)
    if "bandwidth" in problem.objectives:
        return useful
    cost = _cost(problem, problem.resources(block))
    for parameter in search.slack:
        step = np.searchsorted(parameter.values, block[parameter.name]) + 1
        last = len(parameter.values) - 1
        raised = dict(block)
        raised[parameter.name] = parameter.values[np.minimum(step, last)]
        resources = problem.resources(raised)
        same = (_cost(problem, resources) == cost).all(axis=1)
        useful &= ~(same & (step <= last) & problem.within(resources))
    return useful


def _cost(problem: Problem, resources: dict[str, Float]) -> Float:
    """What the objectives depend on besides time, [N,C]; C may be 0."""
    columns = {"dsp": resources["dsp"], "bram": resources["bram36"], "energy": problem.power_w(resources)}
    chosen = [columns[name] for name in problem.objectives if name in columns]
    return np.stack(chosen, axis=1) if chosen else np.empty((len(resources["dsp"]), 0))


def _beaten(search: _Search, bounds: Float) -> NDArray[np.bool_]:
    """Points that cannot be better than the front; with one objective, nor as good."""
    front = search.collector.front.values
    if bounds.shape[1] == 1 and len(front):
        return np.asarray(bounds[:, 0] > front[0, 0])
    return covered(front, bounds)


def _evaluate(search: _Search, points: Points) -> None:
    values, good = search.collector.evaluate(points)
    if values.shape[1] > 1 or not good.any():
        return
    lowest = float(values[good, 0].min())
    if lowest < search.best:
        search.best, search.tied = lowest, []
    for row in np.flatnonzero(good & (values[:, 0] == search.best)):
        search.tied.append(_at(points, slice(row, row + 1)))
