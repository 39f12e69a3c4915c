"""A placement made better piece by piece: most stages stay where they are, the solver moves the rest.

A neighbourhood is the stages on a few nodes (those that are over their limits more often), or a window of the graph's
order; some stages move together. Neighbourhoods are drawn in a fixed order and looked at in rounds of ``workers`` at
once, the best of a round is taken: the same work gives the same placement on any machine. Rounds that do not help make
the next neighbourhoods larger.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.cluster.budget import Budget
from dse.cluster.contraction import contracted
from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES
from dse.cluster.placement import Placement
from dse.cluster.placement_model import RAM_WEIGHT, PlacementModel, Region
from dse.cluster.solve import Solved, solve
from dse.cluster.solver_costs import SolverCosts
from dse.cluster.usage import usage

__all__ = ["approach", "excesses", "ram_exceeded"]

_WORK = 0.5
"""Work on a neighbourhood at first; doubled with each level of size."""

_OVERHEAD = 0.06
"""Work charged for building a neighbourhood's model."""

_LEVELS = 3
_PATIENCE = 6
"""Rounds without success before the next level of size."""

_WINDOWS = 0.3
"""Share of neighbourhoods that are windows of the order."""

_TIES = (0.05, 0.05, 0.1, 0.0)
"""Stages that together take at most such a share of an average node move together; drawn for every neighbourhood."""


def excesses(table: DemandTable, placement: Placement, fps: float) -> NDArray[np.float64]:
    """What exceeds the limits of each node at ``fps``, in limits, RAM weighted as the model does [N]."""
    taken = usage(table, placement, fps)
    over = np.maximum(taken.used / np.maximum(taken.limit, 1e-9) - 1, 0.0)
    over[over < 1e-9] = 0.0
    over[:, NODE_RESOURCES.index("ram_bits")] *= RAM_WEIGHT
    if taken.too_slow:
        over[:] = np.inf
    return np.asarray(over.sum(axis=1))


@dataclass(frozen=True)
class _Neighbourhood:
    """Nodes whose stages may move among them, only those in the window where there is one; how stages are tied."""

    nodes: frozenset[int]
    window: tuple[int, int] | None
    tie: float
    work: float
    seed: int


class _Draw:
    """The order in which neighbourhoods are looked at."""

    def __init__(self, table: DemandTable, seed: int) -> None:
        self.table, self.random = table, random.Random(seed)
        self.count, self.stages = len(table.cluster.nodes), len(table.graph.stages)

    def one(self, now: Placement, over: NDArray[np.float64], level: int) -> _Neighbourhood:
        """The next neighbourhood of ``now``."""
        draw, hot = self.random, [int(n) for n in np.flatnonzero(over > 0)]
        size, window = draw.randint(2, 3 + level), None
        if draw.random() < _WINDOWS:
            width = draw.randint(10, 20 + 12 * level)
            first = draw.randrange(-width // 2, self.stages)
            window = (first, first + width)
            size = self.count if draw.random() < 0.5 else size + 2
        chosen = {draw.choice(hot)} if hot else set()
        while len(chosen) < min(size, self.count):
            near = self._beside(now, chosen) if draw.random() < 0.5 else []
            chosen.add(draw.choice(near or [n for n in range(self.count) if n not in chosen]))
        seed = draw.randrange(2**30)
        return _Neighbourhood(frozenset(chosen), window, draw.choice(_TIES), _WORK * 2**level, seed)

    def _beside(self, now: Placement, chosen: set[int]) -> list[int]:
        """Nodes that exchange maps with the chosen ones."""
        ends = {(now.node[edge.source], now.node[edge.target]) for edge in self.table.graph.edges}
        return sorted({b for pair in ends for a, b in (pair, pair[::-1]) if a in chosen and b not in chosen})


def approach(
    table: DemandTable, start: Placement, fps: float, work: float, workers: int, seed: int, budget: Budget
) -> Iterator[Placement]:
    """Placements that exceed ever less of the limits at ``fps``, the last nothing if it gets there with ``work`` units.

    ``start`` may exceed limits but has equal hops and few enough connections. Ends when nothing is exceeded, the work
    or the budget is used up, or the largest neighbourhoods no longer help.
    """
    costs, ties = SolverCosts(table, fps), {tie: contracted(table, fps, tie) for tie in _TIES}
    draw, now, level, dry = _Draw(table, seed), start, 0, 0
    over = excesses(table, now, fps)
    end = budget.spent + work
    with ThreadPoolExecutor(workers) as pool:
        while over.sum() > 0 and min(end - budget.spent, budget.left) > 0:
            strict = not ram_exceeded(table, now)
            around = [draw.one(now, over, level) for _ in range(workers)]
            calls = [pool.submit(_look, costs, ties[one.tie], now, one, strict, budget) for one in around]
            found = [call.result() for call in calls]
            budget.spent += sum(one.work + _OVERHEAD for one in found)
            better = [one.placement for one in found if one.placement is not None]
            pairs = [(excesses(table, placement, fps), placement) for placement in better]
            best = min(pairs, key=lambda pair: float(pair[0].sum()), default=None)
            gained = best is not None and best[0].sum() < over.sum() - 1e-9
            if best is not None and best[0].sum() <= over.sum() + 1e-12:
                over, now = best
            level, dry = (max(level - 1, 0), 0) if gained else (level, dry + 1)
            if gained:
                yield now
            if dry >= _PATIENCE:
                if level == _LEVELS and dry >= 3 * _PATIENCE:
                    return
                level, dry = (level + 1, 0) if level < _LEVELS else (level, dry)


def ram_exceeded(table: DemandTable, placement: Placement) -> bool:
    """Whether a node has less RAM than what is placed on it takes, at any throughput."""
    ram = [0.0] * len(table.cluster.nodes)
    for options, node, way in zip(table.storages, placement.node, placement.storage, strict=True):
        ram[node] += options[way].ram_bits
    return any(used > node.ram_bits for used, node in zip(ram, table.cluster.nodes, strict=True))


def _look(
    costs: SolverCosts, ties: list[list[int]], now: Placement, one: _Neighbourhood, strict: bool, budget: Budget
) -> Solved:
    """The best placement in a neighbourhood of ``now``."""
    parts: list[tuple[list[int], frozenset[int]]] = []
    for tied in ties:
        homes: dict[int, list[int]] = {}
        for stage in tied:
            homes.setdefault(now.node[stage], []).append(stage)
        for node, group in homes.items():
            if node in one.nodes and (one.window is None or one.window[0] <= group[0] < one.window[1]):
                parts.append((group, one.nodes))
            else:
                parts += [([stage], frozenset({node})) for stage in group]
    parts.sort(key=lambda part: part[0][0])
    region = Region([part for part, _ in parts], [homes for _, homes in parts], now)
    model = PlacementModel(costs, region, slack=True, strict_ram=strict)
    if not model.possible:
        return Solved("infeasible", 0.0)
    model.hint(now)
    return solve(model, one.work, 1, one.seed, budget)
