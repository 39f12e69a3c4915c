"""A first placement without the solver: the graph's order cut into runs, one a node, by dynamic programming.

A run ``[p, q)`` of consecutive stages is legal where no edge passes over it whole: every edge into it then crosses the
network once, so that hops into joins are equal. Over the nodes used so far (how many of each kind) the furthest
stages reached are kept; the host's node takes a run at the beginning and one at the end. For a chain of stages this is
the best placement in which every node has one run, but for the greedy choice of where weights are kept.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass

from dse.cluster.demand import DemandTable
from dse.cluster.kept_weights import kept_on_node, kept_weights
from dse.cluster.placement import Placement
from dse.cluster.usage import reached_fps

__all__ = ["best_runs"]

_KEPT = 3
"""Prefixes remembered for each set of nodes used: the furthest for each number of edges that leave it."""

_STATES = 3_000
"""Sets of nodes looked at for one throughput; clusters with more combinations of kinds are searched in part."""

_STEPS = 12
"""Halvings of the throughput's interval, on a logarithmic scale."""


class _Load:
    """Whether runs of stages fit a node at one throughput, network apart."""

    def __init__(self, table: DemandTable, kinds: Iterable[int], fps: float) -> None:
        self.table, self.fps = table, fps
        self.dsp = {kind: self._summed(kind) for kind in kinds}
        storages = table.storages
        least = [options[way] for options, way in zip(storages, table.leanest, strict=True)]
        self.ram = _sums([option.ram_bits for option in least])
        self.read, self.write = (
            _sums([min(getattr(o, f"dram_{way}_bits") for o in options) * fps for options in storages])
            for way in ("read", "write")
        )
        self.memory: dict[tuple[int, int, int], bool] = {}

    def _summed(self, kind: int) -> list[float]:
        """DSP blocks of the first stages, each in the least RAM, on node number ``kind``; one that is too slow there
        takes more than all."""
        found = [self.table.demand(stage, kind, self.fps, way) for stage, way in enumerate(self.table.leanest)]
        return _sums([math.inf if demand is None else demand.dsp for demand in found])

    def fits(self, kind: int, start: int, stop: int, tail: int = -1) -> bool:
        """Whether ``[start, stop)`` fits node number ``kind`` with the best of its storages, with ``[tail, ...)``."""
        node, count = self.table.cluster.nodes[kind], len(self.table.graph.stages)
        ranges = ((start, stop), (tail, count)) if tail >= 0 else ((start, stop),)
        for sums, limit in (
            (self.dsp[kind], node.dsp),
            (self.ram, node.ram_bits),
            (self.read, node.dram_read_bits_per_s),
            (self.write, node.dram_write_bits_per_s),
        ):
            if not sum(sums[b] - sums[a] for a, b in ranges) <= limit:  # too slow stages give infinity or no number
                return False
        stages = [stage for a, b in ranges for stage in range(a, b)]
        options = [self.table.storages[stage] for stage in stages]
        ways = kept_on_node(options, node.ram_bits)
        if ways is None:
            return False
        kept = [o[way] for o, way in zip(options, ways, strict=True)]
        read, write = (sum(getattr(k, f"dram_{name}_bits") for k in kept) * self.fps for name in ("read", "write"))
        over = read > node.dram_read_bits_per_s or write > node.dram_write_bits_per_s
        return not over and read + write <= node.dram_bits_per_s

    def furthest(self, kind: int, start: int, end: int) -> int:
        """The largest ``q`` so that ``[start, q)`` fits; ``start`` where not even one stage does."""
        low, high, step = start, start + 1, 1
        while high <= end and self._one(kind, start, high):
            low, high, step = high, high + step, 2 * step
        high = min(high, end + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._one(kind, start, middle) else (low, middle)
        return low

    def _one(self, kind: int, start: int, stop: int) -> bool:
        key = (kind, start, stop)
        if key not in self.memory:
            self.memory[key] = self.fits(*key)
        return self.memory[key]


def _sums(values: list[float]) -> list[float]:
    """Sums of the first 0, 1, 2... values."""
    return [0.0, *itertools.accumulate(values)]


@dataclass
class _Cuts:
    """What crosses a cut before each stage."""

    table: DemandTable

    def __post_init__(self) -> None:
        graph, count = self.table.graph, len(self.table.graph.stages)
        reached = {0}
        for edge in graph.edges:  # in the order of their targets
            if edge.source in reached:
                reached.add(edge.target)
        self.crossing, self.there, self.back, self.least = ([0] * (count + 1) for _ in range(4))
        for edge, forward, backward in zip(graph.edges, *self.table.edge_bits(), strict=True):
            for cut in range(edge.source + 1, edge.target + 1):
                self.crossing[cut] += 1
                self.there[cut] += forward
                self.back[cut] += backward
                if edge.source in reached:
                    self.least[cut] = max(self.least[cut], edge.target + 1)

    def allows(self, kind: int, start: int, stop: int, fps: float, others: tuple[int, ...] = ()) -> bool:
        """Whether a run's edges are few and slow enough for the node, and none passes over it."""
        node, cuts = self.table.cluster.nodes[kind], (start, stop, *others)
        if self.least[start] > stop or sum(self.crossing[c] for c in cuts) > node.connections:
            return False
        out = sum(self.there[c] if number % 2 else self.back[c] for number, c in enumerate(cuts))
        into = sum(self.back[c] if number % 2 else self.there[c] for number, c in enumerate(cuts))
        return max(out, into) * fps <= node.link_bits_per_s


@dataclass(frozen=True)
class _Way:
    """A prefix of the order that is placed: where it ends, the last node's kind, and the way before it."""

    stop: int
    kind: int
    before: _Way | None


class _Search:
    """Runs at one throughput."""

    def __init__(self, table: DemandTable, cuts: _Cuts, kinds: dict[int, int], fps: float) -> None:
        self.table, self.cuts, self.kinds, self.fps = table, cuts, kinds, fps
        self.load, self.count = _Load(table, (0, *kinds), fps), len(table.graph.stages)
        self.memory: dict[tuple[int, int], list[int]] = {}
        inner = [stage for stage in table.graph.on_host if stage]
        self.last = min(inner, default=self.count)
        """The first stage that the host's last run must hold."""

    def placed(self) -> tuple[int, ...] | None:
        """Node numbers of a placement; None where no runs fit."""
        if self.load.fits(0, 0, self.count):
            return (0,) * self.count
        most = self.load.furthest(0, 0, self.last)
        for start in (p for p in range(1, most + 1) if self.cuts.least[p] <= self.count):
            found = self._from(start)
            if found is not None:
                return self._numbered(start, found)
        return None

    def _from(self, start: int) -> _Way | None:
        """Nodes besides the host's from stage ``start`` on, as far as the host's last run."""
        layer: dict[tuple[int, ...], list[_Way]] = {tuple(0 for _ in self.kinds): [_Way(start, 0, None)]}
        looked = 0
        while layer:
            after: dict[tuple[int, ...], list[_Way]] = {}
            for used, ways in layer.items():
                looked += 1
                for way in ways:
                    if way.before is not None and self._ends(start, way.stop):
                        return way
                    for number, (kind, many) in enumerate(self.kinds.items()):
                        if used[number] < many and looked <= _STATES:
                            key = (*used[:number], used[number] + 1, *used[number + 1 :])
                            after.setdefault(key, []).extend(
                                _Way(stop, kind, way) for stop in self._stops(way.stop, kind)
                            )
            layer = {key: self._best(ways) for key, ways in after.items() if ways}
        return None

    def _ends(self, start: int, stop: int) -> bool:
        """Whether the host holds ``[0, start)`` and ``[stop, ...)``."""
        if stop > self.last or not self.cuts.allows(0, 0, start, self.fps, (stop, self.count)):
            return False
        return self.load.fits(0, 0, start, stop)

    def _stops(self, start: int, kind: int) -> list[int]:
        """The furthest stops of a run from ``start`` on a node of ``kind``, one for each number of edges that leave."""
        if (start, kind) not in self.memory:
            fewest, found = 10**9, []
            for stop in range(self.load.furthest(kind, start, self.last), start, -1):
                crossing = self.cuts.crossing[stop]
                if crossing < fewest and self.cuts.allows(kind, start, stop, self.fps):
                    fewest = crossing
                    found.append(stop)
                if fewest <= 1:
                    break
            self.memory[start, kind] = found
        return self.memory[start, kind]

    def _best(self, ways: list[_Way]) -> list[_Way]:
        kept: list[_Way] = []
        for way in sorted(ways, key=lambda w: (-w.stop, self.cuts.crossing[w.stop])):
            if all(self.cuts.crossing[way.stop] < self.cuts.crossing[k.stop] for k in kept):
                kept.append(way)
        return kept[:_KEPT]

    def _numbered(self, start: int, last: _Way) -> tuple[int, ...]:
        runs, way = [], last
        while way.before is not None:
            runs.append((way.before.stop, way.stop, way.kind))
            way = way.before
        node, nodes = [0] * self.count, self.table.cluster.nodes
        free = {kind: [n for n in range(1, len(nodes)) if nodes[n].kind == nodes[kind].kind] for kind in self.kinds}
        for begin, end, kind in reversed(runs):
            node[begin:end] = [free[kind].pop(0)] * (end - begin)
        return tuple(node)


def best_runs(table: DemandTable, limit_fps: float) -> tuple[Placement, float] | None:
    """The fastest placement by runs found below ``limit_fps`` and its throughput; None where there is none.

    Stages that the host's node must hold in the middle of the order, and clusters of one node, leave no runs.
    """
    nodes = table.cluster.nodes
    kinds: dict[int, int] = {}
    for number, node in enumerate(nodes):
        if number:
            first = next(n for n in range(1, len(nodes)) if nodes[n].kind == node.kind)
            kinds[first] = kinds.get(first, 0) + 1
    cuts, best, low, high = _Cuts(table), None, limit_fps / 2**_STEPS, limit_fps
    for _ in range(_STEPS):
        fps = (low * high) ** 0.5
        found = _Search(table, cuts, kinds, fps).placed()
        if found is None:
            high = fps
            continue
        placement = Placement(found, kept_weights(table, found))
        best, low = (placement, reached_fps(table, placement)), fps
    return best
