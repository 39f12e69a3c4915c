"""Fewer frames held where a node has room for it: the same throughput with a shorter fill and drain."""

from __future__ import annotations

from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES
from dse.cluster.placement import Placement
from dse.cluster.usage import SLACK, stage_use, usage

__all__ = ["least_held"]


def least_held(table: DemandTable, placement: Placement, fps: float) -> Placement:
    """``placement``, which fits at ``fps``, with each stage's weights and maps kept so that it holds the fewest frames.

    Stages that hold most come first; which node each stage is on does not change.
    """
    taken = usage(table, placement, fps)
    columns = slice(len(NODE_RESOURCES))
    used, limit = taken.used[:, columns], taken.limit[:, columns] * (1 + SLACK)
    storage = list(placement.storage)
    held = [options[way].frames for options, way in zip(table.storages, storage, strict=True)]
    for stage in sorted(range(len(storage)), key=lambda stage: -held[stage]):
        node, options = placement.node[stage], table.storages[stage]
        own = stage_use(table, stage, node, storage[stage], fps)
        fewer = [way for way in range(len(options)) if options[way].frames < held[stage]]
        for way in sorted(fewer, key=lambda way: (options[way].frames, options[way].ram_bits)):
            other = stage_use(table, stage, node, way, fps)
            if own is not None and other is not None and (used[node] - own + other <= limit[node]).all():
                used[node] += other - own
                storage[stage] = way
                break
    return Placement(placement.node, tuple(storage))
