"""Branch and bound over boxes of buffer sizes (slack parameters), for spaces too large to enumerate.

A box fixes the other parameters and gives each buffer a range. No point of it is faster than the largest buffers
(whether or not they fit together), and none takes fewer resources than the smallest, so that the two corners bound
every objective. A box whose bound is no better than what was found is dropped; one whose largest corner fits and costs
what the smallest does is finished by that one estimate; any other is cut in two. Boxes are taken from the lowest bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dse.estimate import Float
from dse.search.collector import Collector, OnProgress, OutOfBudgetError
from dse.search.pareto import covered
from dse.search.problem import Points, Problem, feasible_count, feasible_points, prefix_lengths, root
from dse.search.refine import refine
from dse.space import Parameter

__all__ = ["branch_and_bound"]

_OUTER = 4096
_FIRST, _MOST = 64, 2048
"""Boxes cut at a time: few while the first good points are still to be found."""


@dataclass
class _Boxes:
    """N boxes. ``points`` holds the other parameters; its slack parameters mean nothing."""

    points: Points
    low: NDArray[np.int64]
    """Steps of the smallest buffers [N,S]."""
    high: NDArray[np.int64]
    """Steps of the largest buffers [N,S]."""
    seconds: Float
    """Time with the largest buffers [N]."""
    fits: NDArray[np.bool_]
    """Whether the largest buffers fit [N]."""
    bounds: Float
    """Lower bounds of the objectives [N,K]."""
    least: Float
    """Lower bounds of dsp and bram36 [N,2], which break ties."""
    final: NDArray[np.bool_]
    """Whether the estimate of the largest corner settles the box [N]."""

    def __len__(self) -> int:
        return len(self.low)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> _Boxes:
        arrays = {name: getattr(self, name)[rows] for name in _ARRAYS}
        return _Boxes(_at(self.points, rows), **arrays)

    @staticmethod
    def joined(parts: list[_Boxes]) -> _Boxes:
        points = {name: np.concatenate([part.points[name] for part in parts]) for name in parts[0].points}
        return _Boxes(points, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS})


_ARRAYS = ("low", "high", "seconds", "fits", "bounds", "least", "final")


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
    outer, slack = collector.problem.outer_and_slack
    search = _Search(collector, slack)
    timed = collector.problem.objectives == ("latency",)
    total = feasible_count(search.problem, outer, collector.budget.limits.max_points) if outer else 1
    if total > collector.budget.limits.max_points:
        raise OutOfBudgetError
    parts: list[_Boxes] = []
    started = 0
    for block, floor in _from_lowest_floor(search.problem, outer):
        if timed:
            collector.floor = np.array([min([floor, *(part.bounds.min() for part in parts if len(part))])])
        kept = np.flatnonzero(~_above_front(search, block))
        started += len(next(iter(block.values())))
        if len(kept) or not parts:
            parts.append(_still_open(search, _whole(search, _at(block, kept))))
        if on_progress is not None:
            on_progress(0, total + sum(map(len, parts)))
    closed, step = started, _FIRST
    boxes = _Boxes.joined(parts)
    while len(boxes := _still_open(search, boxes)):
        collector.floor = boxes.bounds.min(axis=0)
        if on_progress is not None:
            on_progress(closed, closed + len(boxes))
        chosen = _most_promising(boxes, step)
        rest = np.ones(len(boxes), dtype=bool)
        rest[chosen] = False
        children = _cut(search, boxes.take(chosen))
        closed += len(chosen)
        step = min(2 * step, _MOST)
        boxes = _Boxes.joined([boxes.take(rest), children])
    collector.floor = None
    if len(search.problem.objectives) == 1 and search.best == _best_of(collector):
        refine(collector, slack, search.tied)
    if on_progress is not None:
        on_progress(closed, closed)
    return "bound" if search.pruned else "exhaustive"


def _best_of(collector: Collector) -> float:
    """The best value of the one objective so far."""
    return float(collector.front.values[0, 0]) if len(collector.front.values) else np.inf


def _from_lowest_floor(problem: Problem, outer: Sequence[Parameter]) -> Iterator[tuple[Points, float]]:
    """The outer points that fit, blocks of them, from the lowest floor of the time up: good points come early.

    With each block goes the floor, in seconds, of what is in it and in those to come.
    """
    blocks = [block for block, _ in feasible_points(problem, root(problem), outer)]
    points = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    floors = problem.floor_seconds(points)
    order = np.argsort(floors, kind="stable")
    start, step = 0, _FIRST
    while start < len(order):
        yield _at(points, order[start : start + step]), float(floors[order[start]])
        start, step = start + step, min(2 * step, _OUTER)


def _above_front(search: _Search, points: Points) -> NDArray[np.bool_]:
    """Outer points whose floor, a bound that costs little, already shows that they hold nothing better; bool [N]."""
    problem = search.problem
    resources = problem.resources(points)
    bounds = _lower_bounds(problem, problem.floor_seconds(points), resources)
    hopeless = _no_better(search, bounds, np.stack([resources["dsp"], resources["bram36"]], axis=1))
    search.pruned |= bool(hopeless.any())
    return hopeless


def _lower_bounds(problem: Problem, seconds: Float, smallest: Mapping[str, Float]) -> Float:
    """Bounds of the objectives [N,K] from one of the time and the fewest resources; of the bandwidth none is known."""
    columns = {
        "latency": seconds,
        "energy": seconds * problem.power_w(smallest),
        "dsp": smallest["dsp"],
        "bram": smallest["bram36"],
        "bandwidth": np.zeros_like(seconds),
    }
    return np.stack([columns[name] for name in problem.objectives], axis=1)


def _at(points: Points, rows: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Points:
    return {name: column[rows] for name, column in points.items()}


# Boxes -------------------------------------------------------------------------------------------------------------


def _whole(search: _Search, points: Points) -> _Boxes:
    """One box of all buffer sizes for each of ``points``."""
    steps = np.zeros((len(next(iter(points.values()))), len(search.slack)), dtype=np.int64)
    most = np.array([len(p.values) - 1 for p in search.slack], dtype=np.int64)
    return _estimated(search, points, steps, _tightened(search, points, steps, np.broadcast_to(most, steps.shape)))


def _sized(search: _Search, points: Points, steps: NDArray[np.int64]) -> Points:
    """``points`` with buffers at ``steps`` [N,S]."""
    return {**points, **{p.name: p.values[steps[:, axis]] for axis, p in enumerate(search.slack)}}


def _tightened(search: _Search, points: Points, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """``high`` no larger than what fits when all other buffers are at ``low``, which must fit."""
    base = _sized(search, points, low)
    fit = [prefix_lengths(search.problem, base, parameter) - 1 for parameter in search.slack]
    return np.minimum(high, np.stack(fit, axis=1))


def _estimated(search: _Search, points: Points, low: NDArray[np.int64], high: NDArray[np.int64]) -> _Boxes:
    """Boxes with their bounds; the largest corners that fit join the front."""
    corner = _sized(search, points, high)
    estimate, values, good = search.collector.evaluate(corner)
    if values.shape[1] == 1 and good.any():
        lowest = float(values[good, 0].min())
        if lowest < search.best:
            search.best, search.tied = lowest, []
        tied = np.flatnonzero(good & (values[:, 0] == search.best))
        search.tied += [_at(corner, slice(row, row + 1)) for row in tied]
    kept = np.flatnonzero(search.problem.fits_otherwise(estimate))
    search.pruned |= len(kept) < len(good)
    seconds, fits = estimate.iteration_s[kept], search.problem.within(estimate.resources)[kept]
    return _bounded(search, _at(points, kept), low[kept], high[kept], seconds, fits)


def _bounded(
    search: _Search,
    points: Points,
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    seconds: Float,
    fits: NDArray[np.bool_],
) -> _Boxes:
    """Boxes of which the largest corners' times are known; nothing is known of a box's bandwidth."""
    problem = search.problem
    smallest = problem.resources(_sized(search, points, low))
    largest = problem.resources(_sized(search, points, high))
    single = (low == high).all(axis=1)
    flat = fits.copy()
    if "energy" in problem.objectives:
        flat &= problem.power_w(smallest) == problem.power_w(largest)
    for objective, resource in (("dsp", "dsp"), ("bram", "bram36")):
        if objective in problem.objectives:
            flat &= smallest[resource] == largest[resource]
    if "bandwidth" in problem.objectives:
        flat[:] = False
    search.pruned |= bool((flat & ~single).any())
    return _Boxes(
        points=points,
        low=low,
        high=high,
        seconds=seconds,
        fits=fits,
        bounds=_lower_bounds(problem, seconds, smallest),
        least=np.stack([smallest["dsp"], smallest["bram36"]], axis=1),
        final=single | flat,
    )


def _cut(search: _Search, boxes: _Boxes) -> _Boxes:
    """Each box in two halves along its longest side."""
    rows = np.arange(len(boxes))
    axis = np.argmax(boxes.high - boxes.low, axis=1)
    middle = (boxes.low[rows, axis] + boxes.high[rows, axis]) // 2
    lower_high, upper_low = boxes.high.copy(), boxes.low.copy()
    lower_high[rows, axis] = middle
    upper_low[rows, axis] = middle + 1
    upper = np.flatnonzero(search.problem.fits(_sized(search, boxes.points, upper_low)))
    part = replace(boxes.take(upper), low=upper_low[upper])
    high = _tightened(search, part.points, part.low, part.high)
    same = (high == part.high).all(axis=1)
    kept, changed = part.take(same), part.take(~same)
    return _Boxes.joined(
        [
            _bounded(search, kept.points, kept.low, kept.high, kept.seconds, kept.fits),
            _estimated(
                search,
                {name: np.concatenate([column, changed.points[name]]) for name, column in boxes.points.items()},
                np.concatenate([boxes.low, changed.low]),
                np.concatenate([lower_high, high[~same]]),
            ),
        ]
    )


# Order and pruning -------------------------------------------------------------------------------------------------


def _still_open(search: _Search, boxes: _Boxes) -> _Boxes:
    """The boxes that may hold something better than the front and are not settled."""
    hopeless = _hopeless(search, boxes) & ~boxes.final
    search.pruned |= bool(hopeless.any())
    return boxes.take(~(hopeless | boxes.final))


def _hopeless(search: _Search, boxes: _Boxes) -> NDArray[np.bool_]:
    """Whether a box holds nothing better than the front; bool [N]."""
    return _no_better(search, boxes.bounds, boxes.least)


def _no_better(search: _Search, bounds: Float, least: Float) -> NDArray[np.bool_]:
    """Whether nothing within ``bounds`` [N,K] is better than the front, ties by ``least`` included; bool [N]."""
    front = search.collector.front
    if len(front.values) == 0:
        return np.zeros(len(bounds), dtype=bool)
    if bounds.shape[1] > 1:
        return covered(front.values, bounds)
    best = (front.values[0, 0], float(front.payload["_dsp"][0]), float(front.payload["_bram36"][0]))
    bound, dsp, bram = bounds[:, 0], least[:, 0], least[:, 1]
    tied = bound == best[0]
    return np.asarray((bound > best[0]) | (tied & (dsp > best[1])) | (tied & (dsp == best[1]) & (bram > best[2])))


def _most_promising(boxes: _Boxes, count: int) -> NDArray[np.int64]:
    """Rows of the ``count`` boxes with the lowest bounds."""
    low, extent = boxes.bounds.min(axis=0), np.ptp(boxes.bounds, axis=0)
    share = ((boxes.bounds - low) / np.where(extent > 0, extent, 1.0)).sum(axis=1)
    if len(share) > 4 * count:
        near = np.flatnonzero(share <= np.partition(share, count)[count])
        return near[np.lexsort((boxes.least[near, 1], boxes.least[near, 0], share[near]))][:count]
    return np.lexsort((boxes.least[:, 1], boxes.least[:, 0], share))[:count]
