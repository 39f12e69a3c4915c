"""Why a network does not fit a cluster, and the smallest of a few changes after which it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dse.cluster.bounds import LEAST_FPS, aggregate_shortage, static_shortage
from dse.cluster.demand import DemandTable
from dse.cluster.hardware import Cluster, Node
from dse.cluster.reading import reading_named
from dse.cluster.search import SearchSettings, fastest_placement

__all__ = ["Explanation", "explain"]

STEPS = (1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0, 5.0)
"""By how much more RAM, or how many more DSP blocks, a node is tried."""

MORE_NODES = (1, 2, 3, 4, 6, 8)
_NAMES = {"dsp": "DSP blocks", "ram_bits": "on-chip RAM", "lanes": "lanes"}

PROBE_S = 3.0
"""Seconds for each change; one that is not decided in them does not count as one that fits."""


@dataclass(frozen=True)
class Explanation:
    """What is missing, and changes that were shown to fit, each a sentence; ``changes`` may be empty."""

    missing: str
    changes: tuple[str, ...]


def explain(table: DemandTable, workers: int = 2) -> Explanation:
    """What stops ``table``'s network from fitting at any throughput; a change counts once a placement was found."""
    changes = [text for kind in (_weights, _nodes, _ram, _dsp, _connections) if (text := _first(kind(table), workers))]
    return Explanation(_missing(table), tuple(changes))


def _missing(table: DemandTable) -> str:
    short = static_shortage(table)
    if short:
        need = short["ram_bits"] / 1e6
        have = sum(node.ram_bits for node in table.cluster.nodes) / 1e6
        return f"on-chip RAM: {have + need:,.1f} Mb are needed, {len(table.cluster.nodes)} nodes have {have:,.1f} Mb"
    largest = aggregate_shortage(table, LEAST_FPS)
    if largest is not None:
        resource, where = largest
        return f"{_NAMES.get(resource, resource)} for {where}"
    return "a placement: every resource suffices in sum, but not with whole stages, equal hops and the connections"


def _fits(table: DemandTable, workers: int) -> bool:
    if static_shortage(table) or aggregate_shortage(table, LEAST_FPS):
        return False
    return fastest_placement(table, SearchSettings(PROBE_S, workers, math.inf)).placement is not None


def _first(changes: Iterator[tuple[str, DemandTable]], workers: int) -> str:
    return next((text for text, changed in changes if _fits(changed, workers)), "")


def _weights(table: DemandTable) -> Iterator[tuple[str, DemandTable]]:
    """Weights in DRAM, and loaded so often that few maps are buffered for them."""
    free = replace(table, reading=reading_named("free"))
    if table.reading.name != "free":
        yield "weights in DRAM where they do not fit on chip (--reading free)", free
    if table.micro_batch > 1:
        yield "weights in DRAM loaded for every frame (--reading free --micro-batch 1)", replace(free, micro_batch=1)


def _with(table: DemandTable, change: Callable[[Node], Node]) -> DemandTable:
    nodes = tuple(change(node) for node in table.cluster.nodes)
    return replace(table, cluster=replace(table.cluster, nodes=nodes))


def _nodes(table: DemandTable) -> Iterator[tuple[str, DemandTable]]:
    """More nodes like the last one."""
    last = table.cluster.nodes[-1]
    for more in MORE_NODES:
        extra = tuple(replace(last, name=f"{last.name}+{n}") for n in range(more))
        cluster: Cluster = replace(table.cluster, nodes=(*table.cluster.nodes, *extra))
        plural = "s" if more > 1 else ""
        yield f"{more} more node{plural} like {last.name} ({last.device.name})", replace(table, cluster=cluster)


def _ram(table: DemandTable) -> Iterator[tuple[str, DemandTable]]:
    for step in STEPS:
        most = max(node.ram_bits for node in table.cluster.nodes) * step / 1e6
        text = f"{round(100 * (step - 1))} % more on-chip RAM on every node (up to {most:,.1f} Mb)"
        yield text, _with(table, lambda node, s=step: replace(node, ram_bits=node.ram_bits * s))  # type: ignore[misc]


def _dsp(table: DemandTable) -> Iterator[tuple[str, DemandTable]]:
    for step in STEPS:
        most = max(node.dsp for node in table.cluster.nodes) * step
        text = f"{round(100 * (step - 1))} % more DSP blocks on every node (up to {most:,.0f})"
        yield text, _with(table, lambda node, s=step: replace(node, dsp=node.dsp * s))  # type: ignore[misc]


def _connections(table: DemandTable) -> Iterator[tuple[str, DemandTable]]:
    for more in (1, 2, 4, 8):
        text = f"{more} more connection{'s' if more > 1 else ''} on every node"
        yield text, _with(table, lambda node, m=more: replace(node, connections=node.connections + m))  # type: ignore[misc]
