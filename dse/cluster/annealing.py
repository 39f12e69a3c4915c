"""A first placement without the solver: simulated annealing on runs of consecutive stages.

Placements worth having are mostly runs of the topological order, and a run that moves as a whole keeps its hops equal.
The solver starts from what is found here; nothing is proven. The same seed gives the same placement.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.cluster.demand import DemandTable
from dse.cluster.placement import Placement
from dse.cluster.usage import reached_fps

__all__ = ["annealed"]

_LOAD_WEIGHT, _RAM_WEIGHT, _HOP_WEIGHT, _LINK_WEIGHT = 1.0, 4.0, 0.05, 0.2
"""Cost of an excess of a whole node's resource, of its RAM, of an unequal hop, of a connection too many."""


@dataclass
class _Energy:
    """How far node numbers are from a placement at one throughput: 0 where it is one."""

    table: DemandTable
    fps: float

    def __post_init__(self) -> None:
        table, nodes = self.table, self.table.cluster.nodes
        stages = range(len(table.graph.stages))
        self.dsp = np.full((len(stages), len(nodes)), 1e9)
        for stage in stages:
            for n in range(len(nodes)):
                demand = table.demand(stage, n, self.fps)
                if demand is not None:
                    self.dsp[stage, n] = demand.dsp / max(nodes[n].dsp, 1e-9)
        kept = [min(options, key=lambda option: option.ram_bits) for options in table.storages]
        self.storage = tuple(options.index(k) for options, k in zip(table.storages, kept, strict=True))
        read, write = (np.array([getattr(k, f"dram_{way}_bits") for k in kept]) * self.fps for way in ("read", "write"))
        self.amounts = np.stack([[k.ram_bits for k in kept], read, write, read + write])
        self.limits = np.array([list(n.limits.values())[1:] for n in nodes]).T
        self.links = np.array([n.link_bits_per_s for n in nodes])
        self.connections = np.array([n.connections for n in nodes])
        edges = table.graph.edges
        self.source, self.target = (np.array([getattr(e, key) for e in edges]) for key in ("source", "target"))
        self.there, self.back = (np.array(bits) * self.fps for bits in table.edge_bits())
        self.into: list[list[int]] = [[] for _ in stages]
        for edge in edges:
            self.into[edge.target].append(edge.source)
        self.rows = np.arange(len(stages))

    def of(self, node: NDArray[np.int64]) -> float:
        """The weighted sum of what is exceeded."""
        count = self.limits.shape[1]
        load = np.bincount(node, self.dsp[self.rows, node], count) - 1
        total = _LOAD_WEIGHT * float(load[load > 0].sum())
        for row, (amount, limit) in enumerate(zip(self.amounts, self.limits, strict=True)):
            over = np.bincount(node, amount, count) / limit - 1
            total += (_LOAD_WEIGHT if row else _RAM_WEIGHT) * float(over[over > 0].sum())
        a, b = node[self.source], node[self.target]
        cut = a != b
        a, b, there, back = a[cut], b[cut], self.there[cut], self.back[cut]
        egress = np.bincount(a, there, count) + np.bincount(b, back, count)
        over = egress / self.links - 1
        extra = np.bincount(a, minlength=count) + np.bincount(b, minlength=count) - self.connections
        total += _LOAD_WEIGHT * float(over[over > 0].sum()) + _LINK_WEIGHT * float(extra[extra > 0].sum())
        return total + _HOP_WEIGHT * self.unequal_hops(node.tolist())

    def unequal_hops(self, node: list[int]) -> int:
        """Ways into joins that have crossed the network a different number of times."""
        hops, unequal = [0] * len(node), 0
        for stage, sources in enumerate(self.into):
            here = node[stage]
            ways = [hops[source] + (node[source] != here) for source in sources if self.into[source] or source == 0]
            if ways:
                hops[stage] = max(ways)
                unequal += len(ways) - ways.count(hops[stage])
        return unequal


def annealed(table: DemandTable, fps: float, moves: int, seed: int = 0) -> tuple[Placement, float]:
    """The best of ``moves`` moves towards a placement at ``fps``, and the throughput that it reaches.

    The throughput is 0 where it is none, which is still the best start: what is wrong with it is little.
    """
    energy, draw = _Energy(table, fps), random.Random(seed)
    bound = set(table.graph.on_host)
    node = _shares(table, energy)
    cost = energy.of(node)
    best: tuple[float, NDArray[np.int64]] = (cost, node.copy())
    for move in range(moves):
        heat = 0.05 * (1 - move / moves) ** 2 + 1e-5
        tried = _moved(node, len(table.cluster.nodes), draw, bound)
        new = energy.of(tried)
        if new <= cost or draw.random() < math.exp((cost - new) / heat):
            node, cost = tried, new
            if cost < best[0]:
                best = (cost, node.copy())
            if cost == 0:
                break
    nodes = tuple(int(n) for n in best[1])
    placement = Placement(nodes, _kept(table, nodes, energy.storage))
    return placement, 0.0 if energy.unequal_hops(best[1].tolist()) else reached_fps(table, placement)


def _kept(table: DemandTable, node: tuple[int, ...], least: tuple[int, ...]) -> tuple[int, ...]:
    """From the ``least`` RAM up: on every node the weights whose traffic costs most per bit of RAM get more of it."""
    storage = list(least)
    spare = [one.ram_bits for one in table.cluster.nodes]
    steps = []
    for stage, options in enumerate(table.storages):
        base = options[least[stage]]
        spare[node[stage]] -= base.ram_bits
        for way, option in enumerate(options):
            saved = base.dram_read_bits + base.dram_write_bits - option.dram_read_bits - option.dram_write_bits
            extra = option.ram_bits - base.ram_bits
            if saved > 0 and extra > 0:
                steps.append((saved / extra, saved, stage, way, extra))
    taken: dict[int, tuple[float, float]] = {}
    for _, saved, stage, way, extra in sorted(steps, reverse=True):
        before, paid = taken.get(stage, (0.0, 0.0))
        if saved > before and extra - paid <= spare[node[stage]]:
            spare[node[stage]] -= extra - paid
            taken[stage] = (saved, extra)
            storage[stage] = way
    return tuple(storage)


def _shares(table: DemandTable, energy: _Energy) -> NDArray[np.int64]:
    """Runs of the order with even shares of the RAM, the first and the last on the host's node."""
    ram = energy.amounts[0]
    limit = energy.limits[0] / energy.limits[0].sum()
    middle = (np.cumsum(ram) - ram / 2) / ram.sum()
    node = np.searchsorted(np.cumsum(limit)[:-1], middle).astype(np.int64)
    node[list(table.graph.on_host)] = 0
    return np.asarray(node)


def _moved(node: NDArray[np.int64], count: int, draw: random.Random, bound: set[int]) -> NDArray[np.int64]:
    """A copy with a run moved to another node, a border shifted, or two runs exchanged."""
    out = node.copy()
    size = len(node)
    start = draw.randrange(1, size)
    kind = draw.random()
    if kind < 0.45:  # a border: the run before or after takes some stages
        length = min(1 + int(draw.expovariate(0.3)), size - start)
        stop = start + length
        out[start:stop] = node[start - 1] if draw.random() < 0.5 or stop >= size else node[stop]
    elif kind < 0.75:  # a run, or some of it, to any node
        stop = min(start + 1 + int(draw.expovariate(0.1)), size)
        out[start:stop] = draw.randrange(count)
    else:  # two short runs change places
        other = draw.randrange(1, size)
        length = 1 + int(draw.expovariate(0.25))
        a, b = node[start], node[other]
        out[start : start + length], out[other : other + length] = b, a
    for stage in bound:
        out[stage] = 0
    return out
