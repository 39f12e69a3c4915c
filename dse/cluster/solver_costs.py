"""What stages and edges take at one throughput in the solver's whole units: demands rounded up, limits down.

What the solver finds is legal then. The amounts are computed once for a throughput and serve every model of it.
"""

from __future__ import annotations

import math
from functools import cached_property

from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES

__all__ = ["SolverCosts"]

_UNITS = {"dsp": 4.0, "ram_bits": 1 / 1024}
_RATE_UNIT = 1e5
"""Bits per second of a unit of DRAM and network traffic."""


class SolverCosts:
    """The amounts of ``table`` at ``fps`` frames per second."""

    def __init__(self, table: DemandTable, fps: float) -> None:
        self.table, self.fps = table, fps
        nodes = table.cluster.nodes
        first: dict[object, int] = {}
        self.like = [first.setdefault(node.kind, number) for number, node in enumerate(nodes)]
        """The first node of each node's kind [N]."""

    @cached_property
    def dsp(self) -> dict[int, list[dict[int, float]]]:
        """First node of a kind -> storage that is worth trying -> DSP blocks, of every stage [L], the least RAM first;
        empty where it is too slow or alone takes more than the node has."""
        found = {}
        for number in sorted(set(self.like)):
            most = self.table.cluster.nodes[number].dsp
            stages = range(len(self.table.graph.stages))
            ways = [self.table.ways(stage, number, self.fps) for stage in stages]
            found[number] = [{way: dsp for way, dsp in choices if dsp <= most} for choices in ways]
        return found

    def possible(self, stage: int, node: int) -> bool:
        """Whether the stage by itself keeps up on the node."""
        return bool(self.ways(stage, node))

    def ways(self, stage: int, node: int) -> list[int]:
        """The storages of the stage that are worth trying on the node, the least RAM first."""
        return list(self.dsp[self.like[node]][stage])

    def resources(self, node: int) -> list[str]:
        """The resources that can run short on a node: both directions of a full-duplex DRAM together cannot."""
        one = self.table.cluster.nodes[node]
        duplex = one.dram_bits_per_s >= one.dram_read_bits_per_s + one.dram_write_bits_per_s
        return [name for name in NODE_RESOURCES if not (duplex and name == "dram_bits_per_s")]

    def limit(self, node: int, resource: str) -> int:
        """What the node has of a resource, in units."""
        return math.floor(self.table.cluster.nodes[node].limits[resource] * _UNITS.get(resource, 1 / _RATE_UNIT))

    def amount(self, stage: int, node: int, resource: str, way: int) -> int:
        """Units that a stage takes with one of its storages; no DSP blocks where it is too slow with it."""
        if resource != "dsp":
            return self._memory[resource][stage][way]
        known = self.dsp[self.like[node]][stage]
        if way not in known:
            demand = self.table.demand(stage, node, self.fps, way)
            known = {way: demand.dsp if demand is not None else 0.0}
        return math.ceil(known[way] * _UNITS["dsp"])

    @cached_property
    def _memory(self) -> dict[str, list[tuple[int, ...]]]:
        found: dict[str, list[tuple[int, ...]]] = {}
        for resource in NODE_RESOURCES[1:]:
            unit = _UNITS.get(resource, self.fps / _RATE_UNIT)
            read, write = "write" not in resource, "read" not in resource
            found[resource] = [
                tuple(
                    math.ceil((o.ram_bits if resource == "ram_bits" else _traffic(o, read, write)) * unit)
                    for o in options
                )
                for options in self.table.storages
            ]
        return found

    @cached_property
    def edges(self) -> list[tuple[int, int]]:
        """Units of traffic forward and back of every edge [E]."""
        forward, backward = self.table.edge_bits()
        unit = self.fps / _RATE_UNIT
        return [(math.ceil(f * unit), math.ceil(b * unit)) for f, b in zip(forward, backward, strict=True)]

    def link(self, node: int) -> int:
        """What the node's link carries each way, in units."""
        return math.floor(self.table.cluster.nodes[node].link_bits_per_s / _RATE_UNIT)


def _traffic(option: object, read: bool, write: bool) -> float:
    taken: float = getattr(option, "dram_read_bits") * read + getattr(option, "dram_write_bits") * write  # noqa: B009
    return taken
