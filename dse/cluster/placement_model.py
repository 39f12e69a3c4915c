"""NADA's constraints (2023, section IV) on placements at one throughput, for OR-Tools CP-SAT.

The model is of *parts*: stages that stay together (each by itself, or a coarser graph), each with the nodes that it
may be on. Parts that cannot move are constants, so that a neighbourhood of a placement is a small model. With
``slack`` what exceeds the nodes' limits is minimised instead of forbidden; it is zero in a placement for the
throughput.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dse.cluster.placement import Placement
from dse.cluster.solver_costs import SolverCosts
from dse.errors import InputError

__all__ = ["RAM_WEIGHT", "PlacementModel", "Region", "solver_module"]

_EXCESS_UNITS = 10**6
"""Weight of an excess as large as the limit itself."""

_MOST_EXCESS = 4
"""Largest excess that is looked at, in limits; what exceeds nothing is never left out."""

RAM_WEIGHT = 30
"""RAM does not depend on throughput: a placement that exceeds only the rest is one at a lower throughput."""


def solver_module() -> Any:
    """OR-Tools' CP-SAT. Raises InputError where it is not installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise InputError("dse cluster", "planning needs OR-Tools", allowed="pip install 'dse[cluster]'") from error
    return cp_model


@dataclass(frozen=True)
class Region:
    """What may change: ``parts`` (lists of stages, all stages in all) and the nodes that each may be on.

    A part with one node stays there with the storages that it has in ``start``. Without ``allowed`` everything may
    change; equal nodes are then used in order, and a start must be ``canonical``.
    """

    parts: Sequence[Sequence[int]]
    allowed: Sequence[Collection[int]] | None = None
    start: Placement | None = None


class PlacementModel:
    """Booleans and constraints; ``possible`` is False where no solver is needed to refuse.

    With ``strict_ram`` on-chip RAM is never exceeded, not even with ``slack``: every solution then is a placement, at
    some lower throughput.
    """

    def __init__(self, costs: SolverCosts, region: Region, slack: bool, strict_ram: bool = False) -> None:
        self.module = solver_module()
        self.model = self.module.CpModel()
        self.costs, self.region, self.slack, self.strict_ram = costs, region, slack, strict_ram
        self.parts, self.table = region.parts, costs.table
        self._excess: list[tuple[Any, int]] = []
        self._hinted: set[int] = set()
        self._part = {stage: number for number, part in enumerate(self.parts) for stage in part}
        homes = [self._where(number) for number in range(len(self.parts))]
        self.possible = all(homes)
        if not self.possible:
            return
        self._fixed = [len(where) == 1 and region.allowed is not None for where in homes]
        self._homes = homes
        self._touched = sorted({n for where, fixed in zip(homes, self._fixed, strict=True) for n in where if not fixed})
        self.at: dict[tuple[int, int], Any] = {}
        for number, where in enumerate(homes):
            for n in where:
                self.at[number, n] = 1 if len(where) == 1 else self.model.new_bool_var(f"at_{number}_{n}")
            if len(where) > 1:
                self.model.add_exactly_one(self.at[number, n] for n in where)
        self._storage()
        for n in self._touched:
            self._resources(n)
        self._crossings()
        if region.allowed is None:
            self._order_of_equal_nodes()
        if slack:
            self.model.minimize(self._sum(self._excess))

    def _where(self, number: int) -> list[int]:
        """The nodes that a part may be on and keeps up on; a part that does not move is not asked."""
        part, nodes = self.parts[number], range(len(self.table.cluster.nodes))
        allowed = self.region.allowed
        homes = sorted(allowed[number]) if allowed is not None else list(nodes)
        if allowed is not None and len(homes) == 1:
            return homes
        if not set(part).isdisjoint(self.table.graph.on_host):
            homes = [n for n in homes if n == 0]
        return [n for n in homes if all(self.costs.possible(stage, n) for stage in part)]

    def _sum(self, terms: Sequence[tuple[Any, int]]) -> Any:
        """A weighted sum; variables that are numbers are added up."""
        variables = [(v, c) for v, c in terms if not isinstance(v, int)]
        constant = sum(v * c for v, c in terms if isinstance(v, int))
        weighted = self.module.LinearExpr.weighted_sum([v for v, _ in variables], [c for _, c in variables])
        return weighted + constant

    def _at_most(self, terms: Sequence[tuple[Any, int]], limit: int, weight: int = 1, strict: bool = False) -> None:
        """``terms`` <= ``limit``, or, with slack, the excess in shares of the limit to be minimised."""
        total = self._sum(terms)
        if strict or not self.slack:
            self.model.add(total <= limit)
            return
        excess = self.model.new_int_var(0, max(_MOST_EXCESS * limit, 1), "")
        self.model.add(total <= limit + excess)
        self._excess.append((excess, max(weight * _EXCESS_UNITS // max(limit, 1), 1)))

    def _storage(self) -> None:
        """A Boolean for every way but the first to keep a stage's weights and maps on each node that it may be on."""
        self.kept: dict[tuple[int, int, int], Any] = {}
        for stage, number in self._part.items():
            for n in self._homes[number] if not self._fixed[number] else ():
                others = self.costs.ways(stage, n)[1:]
                for way in others:
                    self.kept[stage, way, n] = self.model.new_bool_var(f"kept_{stage}_{way}_{n}")
                if others:
                    self.model.add(self._sum([(self.kept[stage, way, n], 1) for way in others]) <= self.at[number, n])

    def _resources(self, n: int) -> None:
        """What the stages on node ``n`` take together of each resource."""
        here = [(number, part) for number, part in enumerate(self.parts) if (number, n) in self.at]
        for resource in self.costs.resources(n):
            terms = [t for number, part in here for stage in part for t in self._terms(number, stage, n, resource)]
            ram = resource == "ram_bits"
            limit = self.costs.limit(n, resource)
            self._at_most(terms, limit, RAM_WEIGHT if ram else 1, strict=ram and self.strict_ram)

    def _terms(self, number: int, stage: int, n: int, resource: str) -> list[tuple[Any, int]]:
        """What one stage of part ``number`` takes of a resource of node ``n``."""
        if self._fixed[number] and self.region.start is not None:
            return [(1, self.costs.amount(stage, n, resource, self.region.start.storage[stage]))]
        first, *others = self.costs.ways(stage, n)
        base = self.costs.amount(stage, n, resource, first)
        more = [(self.kept[stage, way, n], self.costs.amount(stage, n, resource, way) - base) for way in others]
        return [(self.at[number, n], base), *((v, amount) for v, amount in more if amount)]

    def _crossings(self) -> None:
        """Which edges leave and enter each node, exactly; as many crossings on every way to a part; the network."""
        count = len(self.parts)
        self.hops = [self.model.new_int_var(0, count, f"hops_{number}") for number in range(count)]
        self.model.add(self.hops[self._part[0]] == 0)
        self.between: dict[tuple[int, int], list[int]] = {}
        for edge, (forward, backward) in zip(self.table.graph.edges, self.costs.edges, strict=True):
            pair = (self._part[edge.source], self._part[edge.target])
            if pair[0] != pair[1]:
                sums = self.between.setdefault(pair, [0, 0, 0])
                for place, amount in enumerate((1, forward, backward)):
                    sums[place] += amount
        self.out: dict[tuple[int, int, int], Any] = {}
        self.into: dict[tuple[int, int, int], Any] = {}
        for a, b in self.between:
            homes = sorted({*self._homes[a], *self._homes[b]})
            for n in homes:
                self._leaves(a, b, n)
            crosses = self._sum([(self.out[a, b, n], 1) for n in homes])
            if not (self._fixed[a] and self._fixed[b]):
                self.model.add(crosses == self._sum([(self.into[a, b, n], 1) for n in homes]))
                self.model.add(crosses <= 1)
            self.model.add(self.hops[b] == self.hops[a] + crosses)
        for n in self._touched:
            self._network(n)

    def _leaves(self, a: int, b: int, n: int) -> None:
        """Whether the edges from part ``a`` to ``b`` leave node ``n``, or enter it."""
        here, there = self.at.get((a, n), 0), self.at.get((b, n), 0)
        if isinstance(here, int) and isinstance(there, int):
            self.out[a, b, n], self.into[a, b, n] = int(here > there), int(there > here)
        elif isinstance(there, int) and not there:
            self.out[a, b, n], self.into[a, b, n] = here, 0
        elif isinstance(here, int) and not here:
            self.out[a, b, n], self.into[a, b, n] = 0, there
        else:
            out, into = self.model.new_bool_var(f"out_{a}_{b}_{n}"), self.model.new_bool_var(f"in_{a}_{b}_{n}")
            self.model.add(here - there == out - into)
            self.model.add_at_most_one(out, into)
            self.out[a, b, n], self.into[a, b, n] = out, into

    def _network(self, n: int) -> None:
        """Connections, and what leaves and enters a node: maps forward, gradients back."""
        ends = [(out, self.into[a, b, n], self.between[a, b]) for (a, b, m), out in self.out.items() if m == n]
        edges = [(way, sums[0]) for out, into, sums in ends for way in (out, into)]
        self.model.add(self._sum(edges) <= self.table.cluster.nodes[n].connections)
        limit = self.costs.link(n)
        self._at_most([t for out, into, (_, there, back) in ends for t in ((out, there), (into, back))], limit)
        if any(there != back for _, _, (_, there, back) in ends):
            self._at_most([t for out, into, (_, there, back) in ends for t in ((into, there), (out, back))], limit)

    def _order_of_equal_nodes(self) -> None:
        """Of equal nodes the first is used first: a part is on the next only if an earlier part is on that before."""
        for n in range(1, len(self.table.cluster.nodes)):
            before = next((k for k in range(n - 1, 0, -1) if self.costs.like[k] == self.costs.like[n]), None)
            if before is None:
                continue
            used: Any = 0
            for number in range(len(self.parts)):
                if (number, n) not in self.at:
                    continue
                self.model.add(self.at[number, n] <= used)
                now = self.model.new_bool_var(f"used_{before}_{number}")
                self.model.add(now <= used + self.at[number, before])
                self.model.add(now >= used)
                self.model.add(now >= self.at[number, before])
                used = now

    def hint(self, start: Placement) -> None:
        """Begin with a known placement: its nodes, storages, crossings and hops."""
        where = [start.node[part[0]] for part in self.parts]
        self._hint((v, where[number] == n) for (number, n), v in self.at.items())
        kept = ((v, where[self._part[s]] == n and start.storage[s] == w) for (s, w, n), v in self.kept.items())
        self._hint(kept)
        for (a, b, n), out in self.out.items():
            self._hint([(out, where[a] == n != where[b]), (self.into[a, b, n], where[b] == n != where[a])])
        hops: dict[int, int] = {self._part[0]: 0}
        pairs = sorted(self.between, key=lambda pair: pair[1])
        for a, b in pairs:
            if a in hops:
                hops[b] = hops[a] + int(where[a] != where[b])
        for a, b in reversed(pairs):  # what nothing reaches from the input begins with its reader
            hops.setdefault(a, max(hops.get(b, 0) - int(where[a] != where[b]), 0))
        self._hint((v, hops.get(number, 0)) for number, v in enumerate(self.hops))

    def _hint(self, values: Iterable[tuple[Any, int]]) -> None:
        for variable, value in values:
            if not isinstance(variable, int) and variable.index not in self._hinted:
                self._hinted.add(variable.index)
                self.model.add_hint(variable, int(value))

    def placement(self, solver: Any) -> Placement:
        """What the solver (or a callback of it) found."""
        start = self.region.start
        node = [0] * len(self._part)
        storage = list(start.storage) if start is not None and self.region.allowed is not None else [0] * len(node)
        for (number, n), variable in self.at.items():
            if isinstance(variable, int) or solver.boolean_value(variable):
                for stage in self.parts[number]:
                    node[stage] = n
                    if not self._fixed[number]:
                        storage[stage] = self.costs.ways(stage, n)[0]
        for (stage, way, _), variable in self.kept.items():
            if solver.boolean_value(variable):
                storage[stage] = way
        return Placement(tuple(node), tuple(storage))
