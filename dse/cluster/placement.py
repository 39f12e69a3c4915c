"""A placement: which node every stage is on, and where its weights are."""

from __future__ import annotations

from dataclasses import dataclass

from dse.cluster.demand import DemandTable

__all__ = ["Placement", "canonical"]


@dataclass(frozen=True)
class Placement:
    """Node number of every stage [L] and which of its storages its weights take [L]."""

    node: tuple[int, ...]
    storage: tuple[int, ...]


def canonical(table: DemandTable, placement: Placement) -> Placement:
    """The same placement with equal nodes in the order of their first stages; the host's node stays."""
    nodes = table.cluster.nodes
    renamed: dict[int, int] = {0: 0}
    for node in placement.node:
        if node not in renamed:
            taken = set(renamed.values())
            renamed[node] = next(
                k for k in range(1, len(nodes)) if nodes[k].kind == nodes[node].kind and k not in taken
            )
    return Placement(tuple(renamed[node] for node in placement.node), placement.storage)
