"""Model parallelism by itself: slice the group of layers that binds, as long as the plan gets faster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from dse.cluster.filter_slices import FILTERS
from dse.cluster.planner import Plan
from dse.cluster.slicing import slice_groups
from dse.cluster.usage import crossing_edges
from dse.errors import InputError
from dse.network import Network

__all__ = ["best_slices", "binding_group"]

ROUNDS = 3
"""Groups that are sliced one after another at most."""


def best_slices(make: Callable[[Mapping[str, int]], Plan]) -> Plan:
    """The fastest of ``make``'s plans: without slices, then with the binding group cut in two, and so on.

    ``make`` plans with the given slices. Ends where the next slice does not help or there is nothing to slice, and
    where Ctrl-C interrupted a plan, which the best one then says of itself.
    """
    best = make({})
    tried = best
    for _ in range(ROUNDS):
        group = None if tried.found.interrupted else binding_group(tried)
        if group is None:
            break
        tried = make({**tried.slices, group: 2 * tried.slices.get(group, 1)})
        if tried.fps > best.fps * (1 + 1e-3):
            best = tried
        elif tried.fps < 0.95 * best.fps:
            break
    if tried.found.interrupted and best is not tried:
        best = replace(best, found=replace(best.found, interrupted=True, ended="interrupted"))
    return best


def binding_group(plan: Plan) -> str | None:
    """The group of layers that a slice would relieve most: that of the node that binds; None where there is none.

    Of the layers on that node, or at its edges where the network binds, the one with the largest map comes first; where
    none has channel-wise layers to cut, the convolution with the most work is cut by its filters.
    """
    placement, table = plan.found.placement, plan.table
    if placement is None:
        return None
    node = next((n for n, one in enumerate(table.cluster.nodes) if f"node {one.name}," in plan.binding.where), None)
    stages = [s for s, where in enumerate(placement.node) if where == node]
    if plan.binding.resource in ("egress_bits_per_s", "ingress_bits_per_s") and node is not None:
        stages = [end for edge in crossing_edges(table, placement, node) for end in (edge.source, edge.target)]
    layers = [layer for stage in stages for layer in table.graph.stages[stage].layers]
    for layer in sorted(layers, key=lambda one: -one.in_elements):
        prefix = layer.name.split(".")[0].rsplit("_", 1)[0]
        group = prefix if prefix in plan.slices else layer.name.split(".")[0].split("_")[0]
        if _can_slice(plan.network, {**plan.slices, group: 2 * plan.slices.get(group, 1)}):
            return group
    for layer in sorted(layers, key=lambda one: -one.macs):
        group = f"{layer.name.split('.')[0]}:{FILTERS}"
        if _can_slice(plan.network, {**plan.slices, group: 2 * plan.slices.get(group, 1)}):
            return group
    return None


def _can_slice(network: Network, slices: Mapping[str, int]) -> bool:
    try:
        slice_groups(network, slices)
    except InputError:
        return False
    return True
