"""Upper bounds on the throughput of a cluster that need no solver, each with the resource that sets it.

Aggregate: all stages together take no more than all nodes have. Layer: the stage that needs most is on some node, alone
but for those stages beside it that spare it network traffic; what it, and the best such company, can reach on the best
node bounds every placement on any number of nodes of these kinds. Both only relax the placement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES
from dse.cluster.storages import Storage

__all__ = ["LEAST_FPS", "Bound", "aggregate_bound", "distinct_nodes", "largest_fps", "static_shortage"]

RELATIVE_TOLERANCE = 1e-9
MAX_FPS = 1e12
LEAST_FPS = 1e-6
"""A cluster that cannot do this many frames per second does not fit the network at all."""


@dataclass(frozen=True, slots=True)
class Bound:
    """No placement is faster than ``fps``; ``resource`` of ``where`` is what would be exceeded."""

    fps: float
    resource: str
    where: str


def largest_fps(holds: Callable[[float], bool], low: float = 0.0, high: float = MAX_FPS) -> float:
    """The largest throughput for which ``holds``, which must be so below it; ``low`` where it never is."""
    if holds(high):
        return high
    start = max(low, LEAST_FPS)
    if not holds(start):
        return low
    while high - start > RELATIVE_TOLERANCE * high:
        middle = (start * high) ** 0.5 if high > 4 * start else (start + high) / 2
        start, high = (middle, high) if holds(middle) else (start, middle)
    return start


def distinct_nodes(table: DemandTable) -> list[int]:
    """The first node of every kind."""
    kinds: dict[object, int] = {}
    for number, node in enumerate(table.cluster.nodes):
        kinds.setdefault(node.kind, number)
    return list(kinds.values())


def aggregate_bound(table: DemandTable) -> Bound:
    """The throughput at which all stages together first exceed what all nodes have of a resource."""
    fps = largest_fps(lambda t: not aggregate_shortage(table, t))
    short = aggregate_shortage(table, fps * (1 + 1e-6) + 1e-12)
    resource, where = short or ("none", "")
    return Bound(fps, resource, where)


def aggregate_shortage(table: DemandTable, fps: float) -> tuple[str, str] | None:
    """(resource, where) that all nodes together, or every single node, lack at ``fps``; None where they do not."""
    nodes, stages = distinct_nodes(table), range(len(table.graph.stages))
    dsp = 0.0
    for stage in stages:
        found = {n: least for n in nodes if (least := table.least_dsp(stage, n, fps)) is not None}
        fits = [least for n, least in found.items() if least <= table.cluster.nodes[n].dsp]
        name = table.graph.stages[stage].name
        if not found:
            return "lanes", f"stage {name}"
        if not fits:
            return "dsp", f"stage {name} alone on a node"
        dsp += min(fits)
        alone = min((_alone(table, stage, n, fps) for n in nodes), key=lambda short: short[1])
        if alone[1] > 1:
            return alone[0], f"stage {name} alone on a node"
    limits = {name: sum(node.limits[name] for node in table.cluster.nodes) for name in NODE_RESOURCES}
    if dsp > limits["dsp"]:
        return "dsp", "all nodes together"
    return _memory_shortage(table, fps, limits)


def _alone(table: DemandTable, stage: int, node: int, fps: float) -> tuple[str, float]:
    """The memory resource of which a stage by itself takes the largest share of a node, and the share."""
    limits = table.cluster.nodes[node].limits
    best = ("", float("inf"))
    for kept in table.storages[stage]:
        read, write = kept.dram_read_bits * fps, kept.dram_write_bits * fps
        amounts = dict(zip(NODE_RESOURCES[1:], (kept.ram_bits, read, write, read + write), strict=True))
        worst = max(amounts, key=lambda name: _share(amounts[name], limits[name]))
        best = min(best, (worst, _share(amounts[worst], limits[worst])), key=lambda short: short[1])
    return best


def _share(amount: float, limit: float) -> float:
    if not amount:
        return 0.0
    return amount / limit if limit else float("inf")


def _memory_shortage(table: DemandTable, fps: float, limits: dict[str, float]) -> tuple[str, str] | None:
    """On-chip RAM against DRAM traffic: each direction, and both, at the least that the RAM of all nodes allows."""
    spare = limits["ram_bits"] - sum(min(option.ram_bits for option in options) for options in table.storages)
    if spare < 0:
        return "ram_bits", "all nodes together"
    needed = {
        "dram_read_bits_per_s": _least_traffic(table, spare, lambda option: option.dram_read_bits) * fps,
        "dram_write_bits_per_s": _least_traffic(table, spare, lambda option: option.dram_write_bits) * fps,
        "dram_bits_per_s": _least_traffic(table, spare, lambda o: o.dram_read_bits + o.dram_write_bits) * fps,
    }
    worst = max(needed, key=lambda name: needed[name] / limits[name])
    return (worst, "all nodes together") if needed[worst] > limits[worst] else None


def _least_traffic(table: DemandTable, spare: float, of: Callable[[Storage], float]) -> float:
    """Bits a frame with ``spare`` bits of RAM beyond the least: weights may be moved in part, which bounds from below.

    Along the lower hull of (RAM, traffic) of every stage, the steps that save most per bit of RAM are taken first.
    """
    total, steps = 0.0, []
    for options in table.storages:
        ram, traffic = min((option.ram_bits, of(option)) for option in options)
        total += traffic
        while better := [(o.ram_bits, of(o)) for o in options if o.ram_bits > ram and of(o) < traffic]:
            point = max(better, key=lambda p: ((traffic - p[1]) / (p[0] - ram), p[0]))
            steps.append(((traffic - point[1]) / (point[0] - ram), point[0] - ram))
            ram, traffic = point
    for slope, extra in sorted(steps, reverse=True):
        used = min(extra, spare)
        spare -= used
        total -= slope * used
    return total


def static_shortage(table: DemandTable) -> dict[str, float]:
    """What all nodes together lack whatever the throughput: resource -> missing amount (on-chip RAM)."""
    need = sum(min(option.ram_bits for option in options) for options in table.storages)
    have = float(np.sum([node.ram_bits for node in table.cluster.nodes]))
    return {"ram_bits": need - have} if need > have else {}
