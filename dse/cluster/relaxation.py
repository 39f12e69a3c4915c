"""An upper bound by linear programming: stages may be split over nodes and storages, and the network is free.

Every placement is a solution of the program, so that no placement is faster than the highest throughput at which it has
one. Unlike the sum over all nodes it sees that a stage takes different shares of different boards, and that RAM, DSP
blocks and DRAM bandwidth run short on the same board together. Equal nodes are one: by symmetry that loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from dse.cluster.bounds import LEAST_FPS, Bound
from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES

__all__ = ["relaxed_bound"]

_TOLERANCE = 1e-7
"""What the program's solver may be off by, in limits; the bound is raised by it."""

_PRECISION = 1e-4
"""Relative width of the interval in which the bound is looked for; its upper end is the bound."""


def relaxed_bound(table: DemandTable, below: Bound) -> Bound:
    """The bound, or ``below`` where that is lower already; 0 where not even the slowest pipeline fits."""
    if below.fps <= LEAST_FPS or _least_share(table, below.fps).share <= 1 + _TOLERANCE:
        return below
    low, high = below.fps, below.fps
    while low > LEAST_FPS and _least_share(table, low).share > 1 + _TOLERANCE:
        low, high = low / 2, low
    if low <= LEAST_FPS and _least_share(table, low).share > 1 + _TOLERANCE:
        return Bound(0.0, *_least_share(table, low).binding)
    while high / low - 1 > _PRECISION:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if _least_share(table, middle).share <= 1 + _TOLERANCE else (low, middle)
    return Bound(high, *_least_share(table, high).binding)


@dataclass(frozen=True)
class _Shares:
    """The least share of every resource of every node with which the stages get by; what sets it."""

    share: float
    binding: tuple[str, str]


class _Program:
    """Columns: the share of a stage on a group of equal nodes with a storage, the last one the share to minimise."""

    def __init__(self, table: DemandTable, fps: float) -> None:
        self.table, self.fps = table, fps
        kinds: dict[object, list[int]] = {}
        for number, node in enumerate(table.cluster.nodes):
            kinds.setdefault("host" if number == 0 else node.kind, []).append(number)
        self.groups = list(kinds.values())
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.values: list[float] = []
        self.stage_of: list[int] = []
        for stage in range(len(table.graph.stages)):
            for group in range(1 if stage in table.graph.on_host else len(self.groups)):
                self._columns(stage, group)

    def _columns(self, stage: int, group: int) -> None:
        """A column for every storage with which the stage by itself fits a node of the group."""
        nodes = self.groups[group]
        limits = np.array([self.table.cluster.nodes[nodes[0]].limits[name] for name in NODE_RESOURCES])
        for way, dsp in self.table.ways(stage, nodes[0], self.fps):
            kept = self.table.storages[stage][way]
            read, write = kept.dram_read_bits * self.fps, kept.dram_write_bits * self.fps
            amounts = np.array([dsp, kept.ram_bits, read, write, read + write])
            if (amounts > limits * (1 + _TOLERANCE)).any():
                continue
            column = len(self.stage_of)
            self.stage_of.append(stage)
            for place in np.flatnonzero(amounts):
                self.rows.append(group * len(NODE_RESOURCES) + int(place))
                self.columns.append(column)
                self.values.append(float(amounts[place] / (limits[place] * len(nodes))))

    def solve(self) -> _Shares:
        """Infinity where a stage fits nowhere."""
        count, rows = len(self.stage_of), len(self.groups) * len(NODE_RESOURCES)
        stages = len(self.table.graph.stages)
        if len(set(self.stage_of)) < stages:
            missing = next(s for s in range(stages) if s not in set(self.stage_of))
            return _Shares(np.inf, ("dsp", f"stage {self.table.graph.stages[missing].name} alone on a node"))
        entries = (
            np.array([*self.values, *[-1.0] * rows]),
            (np.array([*self.rows, *range(rows)]), np.array([*self.columns, *[count] * rows])),
        )
        whole = (np.ones(count), (np.array(self.stage_of), np.arange(count)))
        objective: NDArray[np.float64] = np.zeros(count + 1)
        objective[count] = 1.0
        done = linprog(
            objective,
            A_ub=coo_array(entries, shape=(rows, count + 1)).tocsr(),
            b_ub=np.zeros(rows),
            A_eq=coo_array(whole, shape=(stages, count + 1)).tocsr(),
            b_eq=np.ones(stages),
            method="highs",
        )
        if done.status != 0:  # no proof of anything
            return _Shares(0.0, ("none", ""))
        worst = int(np.argmin(done.ineqlin.marginals))
        group, place = divmod(worst, len(NODE_RESOURCES))
        names = ", ".join(self.table.cluster.nodes[n].name for n in self.groups[group])
        where = f"stages split freely over all nodes, most by node{'s' if len(self.groups[group]) > 1 else ''} {names}"
        return _Shares(float(done.fun), (NODE_RESOURCES[place], where))


def _least_share(table: DemandTable, fps: float) -> _Shares:
    return _Program(table, fps).solve()
