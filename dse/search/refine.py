"""Among points as good as the proven optimum, find the one that takes the fewest DSPs, then the fewest RAM blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dse.search.collector import Collector
from dse.search.problem import Points, feasible_points
from dse.space import Parameter

__all__ = ["refine"]

_BLOCK = 256


def refine(collector: Collector, slack: Sequence[Parameter], tied: Sequence[Points]) -> None:
    """Lower the slack parameters of the best points as far as the objective allows; the collector's front is updated.

    ``tied`` are evaluated points, each a batch of one, that reach the optimum of the problem's one objective. Buffers
    can only help, so whether some point within an amount of resources reaches the optimum is answered by the largest
    buffers within that amount, and the least amount is found by bisection.
    """
    if collector.problem.objectives == ("bandwidth",):
        return
    seen: set[tuple[object, ...]] = set()
    for point in tied:
        low = {name: column.copy() for name, column in point.items()}
        for parameter in slack:
            low[parameter.name] = parameter.values[:1]
        key = (*(int(column[0]) for column in low.values()), _cost(collector, point)[0].item())
        if key not in seen:
            seen.add(key)
            _refine_one(collector, slack, low, point)


def _cost(collector: Collector, points: Points) -> NDArray[np.float64]:
    """What the objective depends on besides time, [N]; constant where it is time alone."""
    problem = collector.problem
    resources = problem.resources(points)
    columns = {"dsp": resources["dsp"], "bram": resources["bram36"], "energy": problem.power_w(resources)}
    return np.asarray(columns.get(problem.objectives[0], np.zeros_like(resources["dsp"])))


def _refine_one(collector: Collector, slack: Sequence[Parameter], low: Points, point: Points) -> None:
    """Refine over the points that share ``point``'s outer parameters and its cost."""
    blocks = [block for block, _ in feasible_points(collector.problem, low, slack)]
    points = {name: np.concatenate([block[name] for block in blocks]) for name in low}
    resources = collector.problem.resources(points)
    dsp, bram = resources["dsp"], resources["bram36"]
    best_dsp, best_bram = (float(collector.front.payload[name][0]) for name in ("_dsp", "_bram36"))
    wanted = _cost(collector, points) == _cost(collector, point)[0]
    wanted &= (dsp < best_dsp) | ((dsp == best_dsp) & (bram <= best_bram))
    chosen = np.flatnonzero(wanted)
    if len(chosen) == 0:
        return
    points = {name: column[chosen] for name, column in points.items()}
    amounts, rank = np.unique(np.stack([dsp[chosen], bram[chosen]], axis=1), axis=0, return_inverse=True)
    rank = rank.reshape(-1)
    lowest, highest = 0, len(amounts)
    while lowest < highest:
        middle = (lowest + highest) // 2
        if _reaches(collector, {n: c[_largest(points, slack, rank <= middle)] for n, c in points.items()}):
            highest = middle
        else:
            lowest = middle + 1
    exact = np.flatnonzero(rank == lowest)
    for start in range(0, len(exact), _BLOCK):
        if _reaches(collector, {n: c[exact[start : start + _BLOCK]] for n, c in points.items()}):
            return


def _largest(points: Points, slack: Sequence[Parameter], member: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Rows of the ``member`` points none of whose single steps up is a member."""
    index = tuple(np.searchsorted(p.values, points[p.name]) for p in slack)
    grid = np.zeros([len(p.values) + 1 for p in slack], dtype=bool)
    grid[tuple(column[member] for column in index)] = True
    largest = member.copy()
    for axis in range(len(slack)):
        above = tuple(column + (number == axis) for number, column in enumerate(index))
        largest &= ~grid[above]
    return np.flatnonzero(largest)


def _reaches(collector: Collector, points: Points) -> bool:
    _, values, good = collector.evaluate(points)
    return bool(np.any(good & (values[:, 0] == collector.front.values[0, 0])))
