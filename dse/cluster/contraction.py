"""Stages tied together: neighbours in the graph that are small beside a node, as parts of a coarser graph.

A placement of the parts is one of the stages, and the solver finds good placements of fifty parts where it does not
of two hundred stages. A part is convex (no way leaves it and comes back), so that keeping it on one node leaves the
hops of the rest free.
"""

from __future__ import annotations

from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES

__all__ = ["contracted", "stage_shares"]


def stage_shares(table: DemandTable, fps: float) -> list[float]:
    """The largest share of an average node's resource that every stage takes at least, at ``fps`` [L]."""
    nodes = table.cluster.nodes
    means = {name: sum(node.limits[name] for node in nodes) / len(nodes) for name in NODE_RESOURCES}
    shares = []
    for stage, options in enumerate(table.storages):
        found = [
            least / max(node.dsp, 1e-9)
            for number, node in enumerate(nodes)
            if (least := table.least_dsp(stage, number, fps)) is not None
        ]
        amounts = (
            ("ram_bits", min(o.ram_bits for o in options)),
            ("dram_read_bits_per_s", min(o.dram_read_bits for o in options) * fps),
            ("dram_write_bits_per_s", min(o.dram_write_bits for o in options) * fps),
        )
        memory = max(amount / means[name] if amount else 0.0 for name, amount in amounts)
        shares.append(max(min(found, default=1.0), memory))
    return shares


def contracted(table: DemandTable, fps: float, largest: float) -> list[list[int]]:
    """The stages in parts, each by increasing number and ordered by its first; no sum of shares above ``largest``.

    The pair of neighbours that makes the smallest part is joined first, stages with the largest maps between them first
    where several do. The host's stages stay alone.
    """
    graph = table.graph
    shares, part = stage_shares(table, fps), list(range(len(graph.stages)))
    members = {number: [number] for number in part}
    while True:
        pairs: dict[tuple[int, int], int] = {}
        for edge in graph.edges:
            a, b = part[edge.source], part[edge.target]
            if a != b and not {edge.source, edge.target} & set(graph.on_host):
                pairs[a, b] = pairs.get((a, b), 0) + edge.forward + edge.backward
        sums = {number: sum(shares[s] for s in group) for number, group in members.items()}
        order = sorted(pairs, key=lambda pair: (sums[pair[0]] + sums[pair[1]], -pairs[pair], pair))
        after = _readers(graph.edges, part)
        chosen = next((p for p in order if sums[p[0]] + sums[p[1]] <= largest and not _way_around(after, *p)), None)
        if chosen is None:
            return sorted((sorted(group) for group in members.values()), key=lambda group: group[0])
        a, b = chosen
        members[a] += members.pop(b)
        part = [a if number == b else number for number in part]


def _readers(edges: object, part: list[int]) -> dict[int, set[int]]:
    after: dict[int, set[int]] = {}
    for edge in edges:  # type: ignore[attr-defined]
        if part[edge.source] != part[edge.target]:
            after.setdefault(part[edge.source], set()).add(part[edge.target])
    return after


def _way_around(after: dict[int, set[int]], start: int, end: int) -> bool:
    """Whether a way leads from part ``start`` to part ``end`` over another."""
    seen, todo = {end}, [n for n in after.get(start, ()) if n != end]
    while todo:
        here = todo.pop()
        for reader in after.get(here, ()):
            if reader == end:
                return True
            if reader not in seen:
                seen.add(reader)
                todo.append(reader)
    return False
