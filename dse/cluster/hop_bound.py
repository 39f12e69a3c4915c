"""An upper bound from equal hops: what stands beside a shortcut lies on the nodes of the shortcut's two ends.

Where one edge leads from stage f to a join a, it crosses the network once at most, and so does every other way from f
to a. Stages on such a way are on the node of f up to where it crosses and on the node of a behind. A chain of residual
blocks so has one node a block and one more, however many boards there are, and whole stages must fit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.cluster.bounds import Bound, distinct_nodes, largest_fps
from dse.cluster.demand import DemandTable
from dse.cluster.stages import StageGraph

__all__ = ["Block", "Share", "block_chains", "chain_fits", "hop_bound"]

Share = NDArray[np.float64]
"""Of a node's DSP blocks and RAM."""

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Block:
    """An edge from stage ``fork`` to stage ``join``, and the stages of the longest other way, one behind the other."""

    fork: int
    join: int
    way: tuple[int, ...]


def block_chains(graph: StageGraph) -> list[tuple[Block, ...]]:
    """The blocks of ``graph``, each chain as long as it gets: a block's join is the next one's fork."""
    sources: dict[int, list[int]] = {}
    for edge in graph.edges:
        sources.setdefault(edge.target, []).append(edge.source)
    blocks: dict[int, Block] = {}
    for join, into in sources.items():
        ways = [_way_back(sources, last) for last in into]
        found = [Block(f, join, way[: way.index(f)][::-1]) for f in into for way in ways if f in way[1:]]
        for block in found:
            if block.fork not in blocks or len(block.way) > len(blocks[block.fork].way):
                blocks[block.fork] = block
    joins = {block.join for block in blocks.values()}
    chains = []
    for fork in blocks.keys() - joins:
        chain = [blocks[fork]]
        while chain[-1].join in blocks:
            chain.append(blocks[chain[-1].join])
        chains.append(tuple(chain))
    return sorted(chains, key=lambda chain: chain[0].fork)


def _way_back(sources: dict[int, list[int]], last: int) -> tuple[int, ...]:
    """``last`` and the stages before it, as long as each has one input."""
    way = [last]
    while len(sources.get(way[-1], ())) == 1:
        way.append(sources[way[-1]][0])
    return tuple(way)


def hop_bound(table: DemandTable, below: Bound) -> Bound:
    """The highest throughput at which every chain of blocks fits its nodes, or ``below`` where that is lower."""
    chains = block_chains(table.graph)
    if below.fps <= 0 or not chains:
        return below
    fps = largest_fps(lambda fps: all(_fits(table, chain, fps) for chain in chains), high=below.fps)
    if fps >= below.fps:
        return below
    tight = next(c for c in chains if not _fits(table, c, fps * (1 + 1e-6) + 1e-12))
    first, last = (table.graph.stages[stage].name for stage in (tight[0].fork, tight[-1].join))
    return Bound(fps, "dsp", f"stages {first} to {last}: equal hops leave them {len(tight) + 1} nodes")


def _fits(table: DemandTable, chain: tuple[Block, ...], fps: float) -> bool:
    """Whether the chain's nodes hold it."""
    blocks = [([_share(table, s, fps) for s in block.way], _share(table, block.join, fps)) for block in chain]
    return chain_fits(_share(table, chain[0].fork, fps), blocks)


def chain_fits(fork: Share, blocks: Sequence[tuple[Sequence[Share], Share]]) -> bool:
    """Whether a node for ``fork`` and one for the join of each block hold all, given each stage's shares of a node.

    ``blocks``: the stages on the way, in order, and the join. Each node takes as much of the next block as it can.
    """
    load = fork
    for way, join in blocks:
        taken = 0
        while taken < len(way) and (load + way[taken] <= 1 + _TOLERANCE).all():
            load = load + way[taken]
            taken += 1
        load = np.sum([*way[taken:], join], axis=0)
        if (load > 1 + _TOLERANCE).any():
            return False
    return True


def _share(table: DemandTable, stage: int, fps: float) -> Share:
    """The least share of a node's DSP blocks and RAM that a stage takes, each on the kind of node that suits best."""
    dsp, nodes = [np.inf], table.cluster.nodes
    for number in distinct_nodes(table):
        least = table.least_dsp(stage, number, fps)
        if least is not None:
            dsp.append(least / nodes[number].dsp if least else 0.0)
    ram = min(option.ram_bits for option in table.storages[stage]) / max(node.ram_bits for node in nodes)
    return np.array([min(dsp), ram])
