"""One probe: is there a placement at a throughput? NADA's constraints (2023, section IV) for OR-Tools CP-SAT.

A probe asks for a placement outright, and where that does not end soon minimises what exceeds the nodes' limits, which
is zero in a placement: with an objective the solver has its neighbourhood search, which finds tight placements that
plain satisfaction does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dse.cluster.demand import DemandTable, StageDemand
from dse.errors import InputError

__all__ = ["STATUSES", "Placement", "Probe", "probe", "solver_module"]

STATUSES = ("feasible", "infeasible", "unknown")
"""What a probe can say; ``unknown``, the time limit was reached, is never taken for infeasible."""

# The solver counts in whole units: demands are rounded up and limits down, so that what it finds is legal.
_DSP_UNITS = 4
_BITS_UNIT = 1024.0
_RATE_UNIT = 1e5
_EXCESS_UNITS = 10**9
"""Weight of an excess as large as the limit itself."""
_MOST_EXCESS = 4
"""Largest excess that is looked at, in limits; what exceeds nothing is never left out."""

_RAM_WEIGHT = 30
"""RAM does not depend on throughput: a placement that exceeds only the rest is one at a lower throughput."""

_ATTEMPTS = ((0.1, False, False), (0.3, True, True), (0.4, True, False), (0.2, False, False))
"""Shares of a probe's time, whether limits may be exceeded, and whether streaming stages stay with what they read.

Many proofs are quick; then placements of fewer, larger pieces, from there of all stages; the rest goes into a proof.
"""


@dataclass(frozen=True)
class Placement:
    """Node number of every stage [L] and which of its storages its weights take [L]."""

    node: tuple[int, ...]
    storage: tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """What the solver said about one throughput, in which time."""

    fps: float
    status: str
    seconds: float
    placement: Placement | None = None


def probe(
    table: DemandTable, fps: float, seconds: float, workers: int, start: Placement | None, seed: int = 0
) -> Probe:
    """Ask for a placement at ``fps`` frames per second, about ``seconds`` long, from ``start`` if there is one.

    An undecided probe may hold a placement too, which fits at a lower throughput. Raises InputError where OR-Tools is
    not installed.
    """
    solver_module()
    spent, nearest = 0.0, start
    for share, slack, tied in _ATTEMPTS:
        tried = _attempt(table, fps, seconds * share, workers, nearest, seed, slack, tied)
        spent, nearest = spent + tried.seconds, tried.placement or nearest
        if tried.status == "feasible" or (tried.status == "infeasible" and not tied):
            return replace(tried, seconds=spent)
    return Probe(fps, "unknown", spent, nearest)


def _attempt(
    table: DemandTable,
    fps: float,
    seconds: float,
    workers: int,
    start: Placement | None,
    seed: int,
    slack: bool,
    tied: bool,
) -> Probe:
    cp_model = solver_module()
    problem = _Problem(cp_model.CpModel(), table, fps, slack, tied)
    if not problem.possible:
        return Probe(fps, "infeasible", 0.0)
    if start is not None:
        problem.hint(start)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, 0.05)
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    status = solver.solve(problem.model)
    spent = float(solver.wall_time)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        exceeds = slack and solver.objective_value > 0
        proven = "infeasible" if status == cp_model.OPTIMAL else "unknown"
        return Probe(fps, proven if exceeds else "feasible", spent, problem.placement(solver))
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"invalid model at {fps} fps: {problem.model.validate()}")
    return Probe(fps, "infeasible" if status == cp_model.INFEASIBLE and not slack else "unknown", spent)


def solver_module() -> Any:
    """OR-Tools' CP-SAT. Raises InputError where it is not installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise InputError("dse cluster", "planning needs OR-Tools", allowed="pip install 'dse[cluster]'") from error
    return cp_model


class _Problem:
    """The Booleans and constraints of one throughput."""

    def __init__(self, model: Any, table: DemandTable, fps: float, slack: bool, tied: bool) -> None:
        self.model, self.table, self.fps, self.slack = model, table, fps, slack
        self._excess: list[Any] = []
        graph, nodes = table.graph, table.cluster.nodes
        self._stages, self._nodes = range(len(graph.stages)), range(len(nodes))
        demands = {(s, n): self._demand(s, n) for s in self._stages for n in self._distinct()}
        kinds = self._distinct()
        self._demands = {(s, n): demands[s, kinds_of] for s in self._stages for n, kinds_of in self._alike(kinds)}
        self.possible = all(any(self._demands[s, n] for n in self._nodes) for s in self._stages)
        if not self.possible:
            return
        self.at = {(s, n): model.new_bool_var(f"at_{s}_{n}") for s in self._stages for n in self._nodes}
        self.out: dict[tuple[int, int], Any] = {}
        self.into: dict[tuple[int, int], Any] = {}
        for stage in self._stages:
            model.add_exactly_one(self.at[stage, n] for n in self._nodes)
        for stage in graph.on_host:
            model.add(self.at[stage, 0] == 1)
        for (stage, n), demand in self._demands.items():
            if demand is None:
                model.add(self.at[stage, n] == 0)
        self._storage()
        self._resources()
        self._crossings()
        self._network()
        self._order_of_equal_nodes()
        if tied:
            self._tie()
        if slack:
            model.minimize(sum(self._excess))

    def _at_most(self, terms: Any, limit: int, weight: int = 1) -> None:
        """``terms`` <= ``limit``, or, with slack, the excess in shares of the limit to be minimised."""
        if not self.slack:
            self.model.add(terms <= limit)
            return
        excess = self.model.new_int_var(0, _MOST_EXCESS * limit, "")
        self.model.add(terms <= limit + excess)
        self._excess.append(excess * max(weight * _EXCESS_UNITS // max(limit, 1), 1))

    def _distinct(self) -> list[int]:
        seen: dict[object, int] = {}
        for n in self._nodes:
            seen.setdefault(self.table.cluster.nodes[n].kind, n)
        return list(seen.values())

    def _alike(self, kinds: Sequence[int]) -> list[tuple[int, int]]:
        """(node, first node of its kind)."""
        nodes = self.table.cluster.nodes
        return [(n, next(k for k in kinds if nodes[k].kind == nodes[n].kind)) for n in self._nodes]

    def _demand(self, stage: int, node: int) -> StageDemand | None:
        found = self.table.demand(stage, node, self.fps)
        return found if found is not None and found.dsp <= self.table.cluster.nodes[node].dsp else None

    def _storage(self) -> None:
        """A Boolean for every way but the first to keep a stage's weights, and one for it on each node."""
        self.other: dict[tuple[int, int], Any] = {}
        self.other_at: dict[tuple[int, int, int], Any] = {}
        for stage in self._stages:
            ways = range(1, len(self.table.storages[stage]))
            for way in ways:
                self.other[stage, way] = self.model.new_bool_var(f"kept_{stage}_{way}")
                for n in self._nodes:
                    self.other_at[stage, way, n] = self.model.new_bool_var(f"kept_{stage}_{way}_{n}")
                self.model.add(sum(self.other_at[stage, way, n] for n in self._nodes) == self.other[stage, way])
            for n in self._nodes if ways else ():
                self.model.add(sum(self.other_at[stage, way, n] for way in ways) <= self.at[stage, n])

    def _resources(self) -> None:
        for n in self._nodes:
            limits = self.table.cluster.nodes[n].limits
            weights = {s: math.ceil(d.dsp * _DSP_UNITS) for s in self._stages if (d := self._demands[s, n])}
            self._at_most(sum(w * self.at[s, n] for s, w in weights.items()), int(limits["dsp"] * _DSP_UNITS))
            self._shared(n, "ram_bits", 1.0 / _BITS_UNIT, limits["ram_bits"])
            rate = self.fps / _RATE_UNIT
            read, write, both = (limits[f"dram_{k}bits_per_s"] for k in ("read_", "write_", ""))
            self._shared(n, "dram_read_bits", rate, read / self.fps)
            self._shared(n, "dram_write_bits", rate, write / self.fps)
            if both < read + write:
                self._shared(n, "dram_both_bits", rate, both / self.fps)

    def _shared(self, n: int, name: str, scale: float, limit: float) -> None:
        """Sum over the stages on node ``n`` of an amount that depends on where their weights are."""
        terms = []
        for stage in self._stages:
            amounts = [
                s.dram_read_bits + s.dram_write_bits if name == "dram_both_bits" else getattr(s, name)
                for s in self.table.storages[stage]
            ]
            first = math.ceil(amounts[0] * scale)
            terms.append(first * self.at[stage, n])
            terms += [
                (math.ceil(amounts[way] * scale) - first) * self.other_at[stage, way, n]
                for way in range(1, len(amounts))
            ]
        self._at_most(sum(terms), math.floor(limit * scale), _RAM_WEIGHT if name == "ram_bits" else 1)

    def _crossings(self) -> None:
        """Which edges leave and enter each node, exactly; as many crossings on every way to a stage."""
        deepest = len(self._stages)
        hops = [self.model.new_int_var(0, deepest, f"hops_{s}") for s in self._stages]
        self.model.add(hops[0] == 0)
        for e, edge in enumerate(self.table.graph.edges):
            crosses = self.model.new_bool_var(f"crosses_{e}")
            for n in self._nodes:
                out, into = self.model.new_bool_var(f"out_{e}_{n}"), self.model.new_bool_var(f"in_{e}_{n}")
                self.model.add(self.at[edge.source, n] - self.at[edge.target, n] == out - into)
                self.model.add_at_most_one(out, into)
                self.out[e, n], self.into[e, n] = out, into
            self.model.add(sum(self.out[e, n] for n in self._nodes) == crosses)
            self.model.add(sum(self.into[e, n] for n in self._nodes) == crosses)
            self.model.add(hops[edge.target] == hops[edge.source] + crosses)

    def _network(self) -> None:
        """Connections, and what leaves and enters a node: maps forward, gradients back."""
        forward, backward = self.table.edge_bits()
        edges = range(len(forward))
        for n in self._nodes:
            node = self.table.cluster.nodes[n]
            self.model.add(sum(self.out[e, n] + self.into[e, n] for e in edges) <= node.connections)
            limit = math.floor(node.link_bits_per_s / _RATE_UNIT)
            there = [math.ceil(bits * self.fps / _RATE_UNIT) for bits in forward]
            back = [math.ceil(bits * self.fps / _RATE_UNIT) for bits in backward]
            self._at_most(sum(there[e] * self.out[e, n] + back[e] * self.into[e, n] for e in edges), limit)
            if there != back:
                self._at_most(sum(there[e] * self.into[e, n] + back[e] * self.out[e, n] for e in edges), limit)

    def _order_of_equal_nodes(self) -> None:
        """Of equal nodes the first is used first: a stage is on the next only if an earlier stage is on that before."""
        nodes = self.table.cluster.nodes
        for n in self._nodes:
            before = next((k for k in range(n - 1, 0, -1) if nodes[k].kind == nodes[n].kind), None)
            if before is None or n == 0:
                continue
            used = self.model.new_constant(0)
            for stage in self._stages:
                self.model.add_implication(self.at[stage, n], used)
                now = self.model.new_bool_var(f"used_{before}_{stage}")
                self.model.add_bool_or(used, self.at[stage, before]).only_enforce_if(now)
                self.model.add_implication(used, now)
                self.model.add_implication(self.at[stage, before], now)
                used = now

    def _tie(self) -> None:
        """Stages without multiply-accumulates on the node of the one stage that they read."""
        graph = self.table.graph
        for stage in self._stages:
            into = [edge.source for edge in graph.edges if edge.target == stage]
            streams = not any(layer.name in self.table.bounds for layer in graph.stages[stage].layers)
            if streams and len(into) == 1 and into[0] not in graph.on_host and stage not in graph.on_host:
                for n in self._nodes:
                    self.model.add(self.at[stage, n] == self.at[into[0], n])

    def hint(self, start: Placement) -> None:
        """Begin with a known placement."""
        for (stage, n), variable in self.at.items():
            self.model.add_hint(variable, start.node[stage] == n)
        for (stage, way), variable in self.other.items():
            self.model.add_hint(variable, start.storage[stage] == way)

    def placement(self, solver: Any) -> Placement:
        """What the solver found."""
        node = tuple(next(n for n in self._nodes if solver.boolean_value(self.at[s, n])) for s in self._stages)
        kept = [0] * len(node)
        for (stage, way), variable in self.other.items():
            if solver.boolean_value(variable):
                kept[stage] = way
        return Placement(node, tuple(kept))
