"""A plan checked again from its JSON alone: every constraint recomputed, by sums of its own, without the solver."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dse.cluster.demand import DemandTable
from dse.cluster.lanes import LANES
from dse.cluster.plan_file import read_plan
from dse.cluster.planner import demand_table
from dse.cluster.stages import StageGraph
from dse.cluster.storages import Storage
from dse.errors import InputError

__all__ = ["Breach", "check_plan", "hops_into"]

TOLERANCE = 1e-9
"""Relative rounding error that is no breach."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that the plan breaks, where, what it takes and what is allowed."""

    rule: str
    where: str
    got: str
    allowed: str


def check_plan(path: Path) -> tuple[dict[str, Any], list[Breach]]:
    """The plan in ``path`` and every rule that it breaks; none means that it can be built as written.

    The network and the cluster are read again from the files that the plan names, and must not have changed.
    Raises InputError for a file that is no plan, or that names what does not exist.
    """
    content = read_plan(path)
    reader = _Reader(str(path), content)
    table, breaches = _rebuild(reader)
    if not reader.get("feasible", bool):
        raise InputError(str(path), "holds no placement", allowed="a plan with feasible = true")
    fps = float(reader.get("fps", (int, float)))
    if not (math.isfinite(fps) and fps > 0):
        raise InputError(f"{path}: fps", "must be a number > 0", fps)
    placed = _Placed(reader, table, fps)
    return content, [*breaches, *placed.breaches()]


class _Reader:
    """Keys of a JSON object, each checked for its type."""

    def __init__(self, where: str, content: dict[str, Any]) -> None:
        self.where, self.content = where, content

    def get(self, key: str, kind: Any) -> Any:
        if key not in self.content:
            raise InputError(f"{self.where}: {key}", "required key is missing")
        value = self.content[key]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            expected = getattr(kind, "__name__", "number")
            raise InputError(f"{self.where}: {key}", f"must be of type {expected}", value)
        return value

    def table(self, key: str) -> _Reader:
        return _Reader(f"{self.where}: {key}", self.get(key, dict))

    def tables(self, key: str) -> list[_Reader]:
        rows = self.get(key, list)
        if not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{self.where}: {key}", "must be a list of objects")
        return [_Reader(f"{self.where}: {key} {n}", row) for n, row in enumerate(rows)]

    def parse(self, key: str, kind: Any, convert: Callable[[Any], T]) -> T:
        value = self.get(key, kind)
        try:
            return convert(value)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{self.where}: {key}", "has a wrong value", value) from error


def _rebuild(reader: _Reader) -> tuple[DemandTable, list[Breach]]:
    """The demands, from the files that the plan was made of."""
    network, cluster = reader.table("network"), reader.table("cluster")
    slices = reader.get("model_parallel", dict)
    if not all(isinstance(v, int) for v in slices.values()):
        raise InputError(f"{reader.where}: model_parallel", "must give whole numbers", slices)
    given, table = demand_table(
        _source(network),
        _source(cluster),
        nodes=len(cluster.get("nodes", list)),
        slices=slices,
        micro_batch=reader.get("micro_batch", int),
        precision=reader.get("precision", str),
        reading=reader.get("reading", str),
    )
    breaches = []
    for what, plan_side, digest in (("network", network, given.digest), ("cluster", cluster, table.cluster.digest)):
        if plan_side.get("sha256", str) != digest:
            breaches.append(Breach("the file is the one that was planned with", what, digest[:12], "the plan's sha256"))
    names = [node.name for node in table.cluster.nodes]
    if names != cluster.get("nodes", list):
        raise InputError(f"{reader.where}: cluster: nodes", "are not those of the cluster file", names)
    return table, breaches


def _source(reader: _Reader) -> str | Path:
    """The path where that still exists, else the name of a shipped file."""
    path = reader.get("path", str)
    return Path(path) if path and Path(path).is_file() else str(reader.get("name", str))


class _Placed:
    """The plan's stages on the nodes."""

    def __init__(self, reader: _Reader, table: DemandTable, fps: float) -> None:
        self.table, self.fps, self.where = table, fps, reader.where
        rows = reader.tables("stages")
        names = [stage.name for stage in table.graph.stages]
        given = [row.get("name", str) for row in rows]
        if given != names:
            odd = next((n for n in (*given, *names) if (n in given) != (n in names)), "order or a repeated name")
            raise InputError(f"{reader.where}: stages", "are not those of the network", odd)
        self.rows = rows
        node_names = [node.name for node in table.cluster.nodes]
        self.node = [row.parse("node", str, node_names.index) for row in rows]

    def breaches(self) -> list[Breach]:
        return [*self._host(), *self._engines(), *self._memory(), *self._edges(), *self._hops()]

    def _host(self) -> list[Breach]:
        first = self.table.cluster.nodes[0].name
        return [
            Breach("input, output and loss are on the node with the host", self.rows[s].get("name", str),
                   self.rows[s].get("node", str), first)
            for s in self.table.graph.on_host if self.node[s] != 0
        ]  # fmt: skip

    def _engines(self) -> list[Breach]:
        """Every engine fast enough with the lanes that the plan gives it, and the DSP blocks of each node."""
        found, dsp = [], [0.0] * len(self.table.cluster.nodes)
        for number, (row, stage) in enumerate(zip(self.rows, self.table.graph.stages, strict=True)):
            node = self.node[number]
            clock_hz, operator = self.table.cluster.nodes[node].clock_hz, self.table.operators[node]
            unrolls = row.table("unroll")
            for layer in stage.layers:
                bounds = self.table.bounds.get(layer.name)
                if bounds is None:
                    continue
                sizes = unrolls.table(layer.name)
                lanes = [sizes.parse(name, int, _positive) for name in LANES]
                found += self._lanes(number, layer.name, lanes)
                cycles = float(bounds.cycles(np.array([lanes]))[0])
                dsp[node] += float(bounds.blocks(np.array([lanes]), operator)[0])
                if cycles * self.fps > clock_hz * (1 + TOLERANCE):
                    limit = f"{clock_hz / self.fps:,.0f} cycles at {self.fps:,.1f} fps"
                    found.append(Breach("an engine keeps up", layer.name, f"{cycles:,.0f} cycles", limit))
            mac_free = self.table.stream_blocks(number, node, self.fps)
            dsp[node] += mac_free
        return found + self._over("dsp", dsp, [n.dsp for n in self.table.cluster.nodes])

    def _lanes(self, stage: int, layer: str, lanes: list[int]) -> list[Breach]:
        """Rows and frames at a time are on chip; frames at a time divide those that are."""
        kept = self._kept(stage)
        rows, samples = lanes[LANES.index("pr")], lanes[LANES.index("pb")]
        found = []
        if rows > kept.rows:
            found.append(Breach("lanes along rows have lines", layer, str(rows), f"1 to {kept.rows}"))
        if kept.samples % samples:
            found.append(
                Breach("lanes along frames have their maps", layer, str(samples), f"a divisor of {kept.samples}")
            )
        return found

    def _kept(self, stage: int) -> Storage:
        """The storage that the plan names."""
        row = self.rows[stage]
        options = {(o.weights, o.rows, float(o.frames)): o for o in self.table.storages[stage]}
        rows, frames = row.get("rows", int), float(row.get("frames", (int, float)))
        return row.parse("weights", str, lambda weights: options[weights, rows, frames])

    def _memory(self) -> list[Breach]:
        count = len(self.table.cluster.nodes)
        ram, read, write = [0.0] * count, [0.0] * count, [0.0] * count
        for number in range(len(self.rows)):
            kept = self._kept(number)
            ram[self.node[number]] += kept.ram_bits
            read[self.node[number]] += kept.dram_read_bits * self.fps
            write[self.node[number]] += kept.dram_write_bits * self.fps
        nodes = self.table.cluster.nodes
        both = [r + w for r, w in zip(read, write, strict=True)]
        return [
            *self._over("ram_bits", ram, [n.ram_bits for n in nodes]),
            *self._over("dram_read_bits_per_s", read, [n.dram_read_bits_per_s for n in nodes]),
            *self._over("dram_write_bits_per_s", write, [n.dram_write_bits_per_s for n in nodes]),
            *self._over("dram_bits_per_s", both, [n.dram_bits_per_s for n in nodes]),
        ]

    def _edges(self) -> list[Breach]:
        nodes, bits = self.table.cluster.nodes, self.table.precision.bits
        count = len(nodes)
        egress, ingress, connections = [0.0] * count, [0.0] * count, [0.0] * count
        for edge in self.table.graph.edges:
            a, b = self.node[edge.source], self.node[edge.target]
            if a == b:
                continue
            for sender, receiver, elements in ((a, b, edge.forward), (b, a, edge.backward)):
                egress[sender] += elements * bits * self.fps
                ingress[receiver] += elements * bits * self.fps
                connections[sender] += 1
        links = [n.link_bits_per_s for n in nodes]
        return [
            *self._over("egress_bits_per_s", egress, links),
            *self._over("ingress_bits_per_s", ingress, links),
            *self._over("connections", connections, [float(n.connections) for n in nodes]),
        ]

    def _hops(self) -> list[Breach]:
        """The ways that meet in a stage have crossed the network equally often."""
        return [
            Breach("equal hops on every way into a join", self.rows[stage].get("name", str), str(ways), "one number")
            for stage, ways in hops_into(self.table.graph, self.node).items()
            if len(ways) > 1
        ]

    def _over(self, resource: str, used: list[float], limits: list[float]) -> list[Breach]:
        return [
            Breach(f"{resource} of a node", node.name, f"{amount:,.6g}", f"{limit:,.6g}")
            for node, amount, limit in zip(self.table.cluster.nodes, used, limits, strict=True)
            if amount > limit * (1 + TOLERANCE)
        ]


def hops_into(graph: StageGraph, node: Sequence[int]) -> dict[int, list[int]]:
    """Stage -> how often the ways into it have crossed the network, each number once, sorted.

    Stages that nothing reaches from the input (learned maps) are there from the beginning and have no ways.
    """
    hops: dict[int, int] = {0: 0}
    ways: dict[int, list[int]] = {}
    for stage in range(1, len(node)):
        into = {
            hops[edge.source] + int(node[edge.source] != node[stage])
            for edge in graph.edges
            if edge.target == stage and edge.source in hops
        }
        if into:
            hops[stage], ways[stage] = max(into), sorted(into)
    return ways


def _positive(value: int) -> int:
    if value < 1:
        raise ValueError(value)
    return value
