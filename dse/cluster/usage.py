"""What a placement takes of every node at a throughput, and the throughput that it reaches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.cluster.bounds import Bound, largest_fps
from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES
from dse.cluster.placement import Placement
from dse.cluster.stages import Edge

__all__ = ["RESOURCE_NAMES", "SLACK", "Usage", "binding", "crossing_edges", "reached_fps", "stage_use", "usage"]

RESOURCE_NAMES = (*NODE_RESOURCES, "egress_bits_per_s", "ingress_bits_per_s", "connections")
"""Columns of a usage."""

SLACK = 1e-9
"""Relative rounding error that is no violation."""


@dataclass(frozen=True)
class Usage:
    """Use and limits of every node, float [N,R] in the order of RESOURCE_NAMES; ``too_slow`` names stages that fail."""

    used: NDArray[np.float64]
    limit: NDArray[np.float64]
    too_slow: tuple[int, ...]

    @property
    def share(self) -> NDArray[np.float64]:
        """Used over limit [N,R]; 0 of 0 is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.used > 0, self.used / self.limit, 0.0)

    @property
    def fits(self) -> bool:
        """Whether nothing is exceeded."""
        return not self.too_slow and bool((self.used <= self.limit * (1 + SLACK)).all())


def usage(table: DemandTable, placement: Placement, fps: float) -> Usage:
    """Use of every node by ``placement`` at ``fps`` frames per second."""
    nodes = table.cluster.nodes
    used = np.zeros((len(nodes), len(RESOURCE_NAMES)))
    slow = []
    for stage, (node, storage) in enumerate(zip(placement.node, placement.storage, strict=True)):
        own = stage_use(table, stage, node, storage, fps)
        if own is None:
            slow.append(stage)
            continue
        used[node, : len(NODE_RESOURCES)] += own
    egress, ingress, connections = (RESOURCE_NAMES.index(n) for n in RESOURCE_NAMES[-3:])
    for edge, forward, backward in zip(table.graph.edges, *table.edge_bits(), strict=True):
        a, b = placement.node[edge.source], placement.node[edge.target]
        if a != b:
            used[a, [egress, ingress, connections]] += (forward * fps, backward * fps, 1)
            used[b, [egress, ingress, connections]] += (backward * fps, forward * fps, 1)
    limit = np.array([[*n.limits.values(), n.link_bits_per_s, n.link_bits_per_s, n.connections] for n in nodes])
    return Usage(used, limit, tuple(slow))


def stage_use(table: DemandTable, stage: int, node: int, way: int, fps: float) -> NDArray[np.float64] | None:
    """What one stage takes of a node with one of its storages, in the order of NODE_RESOURCES; None: too slow."""
    demand = table.demand(stage, node, fps, way)
    if demand is None:
        return None
    kept = table.storages[stage][way]
    read, write = kept.dram_read_bits * fps, kept.dram_write_bits * fps
    return np.array([demand.dsp, kept.ram_bits, read, write, read + write])


def reached_fps(table: DemandTable, placement: Placement, known: float = 0.0) -> float:
    """The highest throughput, in frames per second, at which ``placement`` fits; ``known`` is one at which it does."""
    return largest_fps(lambda fps: usage(table, placement, fps).fits, low=known)


def binding(table: DemandTable, placement: Placement, fps: float) -> Bound:
    """What stops ``placement`` from going faster than ``fps``: resource, and the node, edge or stage it belongs to."""
    above = usage(table, placement, fps * (1 + 1e-6))
    if above.too_slow:
        return Bound(fps, "lanes", f"stage {table.graph.stages[above.too_slow[0]].name}")
    share = above.share
    node, resource = (int(i) for i in np.unravel_index(int(np.argmax(share)), share.shape))
    name, label = RESOURCE_NAMES[resource], table.cluster.nodes[node].name
    if name in ("egress_bits_per_s", "ingress_bits_per_s"):
        edges = _largest_edges(table, placement, node)
        return Bound(fps, name, f"node {label}, edges {edges}")
    stage = _largest_stage(table, placement, node, resource, fps)
    return Bound(fps, name, f"node {label}, most of it {table.graph.stages[stage].name}")


def crossing_edges(table: DemandTable, placement: Placement, node: int) -> list[Edge]:
    """The edges that enter or leave a node, the largest first."""
    found = [
        edge
        for edge in table.graph.edges
        if (placement.node[edge.source] == node) != (placement.node[edge.target] == node)
    ]
    return sorted(found, key=lambda edge: -max(edge.forward, edge.backward))


def _largest_edges(table: DemandTable, placement: Placement, node: int) -> str:
    """The edges of a node that cross, the largest first, three at most."""
    names = [table.graph.label(edge) for edge in crossing_edges(table, placement, node)]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _largest_stage(table: DemandTable, placement: Placement, node: int, resource: int, fps: float) -> int:
    def amount(stage: int) -> float:
        kept = table.storages[stage][placement.storage[stage]]
        demand = table.demand(stage, node, fps, placement.storage[stage])
        dsp = demand.dsp if demand else math.inf
        read, write = kept.dram_read_bits, kept.dram_write_bits
        return (dsp, kept.ram_bits, read, write, read + write)[resource] if resource < len(NODE_RESOURCES) else 0.0

    return max((s for s, n in enumerate(placement.node) if n == node), key=amount)
