"""The bound from equal hops: which blocks it sees, that no placement beats it, and that plans reach it."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.cluster import plan
from dse.cluster.bounds import Bound, aggregate_bound
from dse.cluster.check import hops_into
from dse.cluster.cluster_file import load_cluster
from dse.cluster.demand import DemandTable
from dse.cluster.hop_bound import block_chains, chain_fits, hop_bound
from dse.cluster.placement import Placement
from dse.cluster.planner import demand_table
from dse.cluster.usage import reached_fps


def boards(network: str, count: int) -> DemandTable:
    """A table on so many of NADA's boards, with links and connections that never matter."""
    one = load_cluster("nada").nodes[0]
    nodes = tuple(replace(one, name=f"b{n}", link_bits_per_s=1e15, connections=10_000) for n in range(count))
    cluster = replace(load_cluster("nada"), nodes=nodes)
    return demand_table(network, cluster, nodes=count, reading="free")[1]


@pytest.mark.parametrize(
    ("network", "blocks"),
    [("resnet18", [2, 1, 1, 1]), ("resnet20_cifar10", [3, 2, 2]), ("lenet10", []), ("mobilenet_v2", [1, 2, 3, 2, 2])],
)
def test_blocks_are_those_with_a_bare_shortcut(network: str, blocks: list[int]) -> None:
    graph = boards(network, 2).graph
    chains = block_chains(graph)
    assert [len(chain) for chain in chains] == blocks
    edges = {(edge.source, edge.target) for edge in graph.edges}
    for chain in chains:
        for block in chain:
            way = (block.fork, *block.way, block.join)
            assert (block.fork, block.join) in edges
            assert all(pair in edges for pair in itertools.pairwise(way))


TABLES = {name: boards(name, 16) for name in ("resnet18", "resnet20_cifar10")}


@functools.cache
def bound(network: str) -> Bound:
    return hop_bound(TABLES[network], aggregate_bound(TABLES[network]))


@given(network=st.sampled_from(sorted(TABLES)), seed=st.integers(0, 10_000), share=st.floats(0.1, 1))
@settings(max_examples=40, deadline=None)
def test_no_placement_is_faster(network: str, seed: int, share: float) -> None:
    """Runs of stages on a board each, cut at random wherever hops stay equal, the last one beside the first."""
    table, draw = TABLES[network], random.Random(seed)
    count, cuts = len(table.graph.stages), list[int]()
    for cut in draw.sample(range(1, count), round(share * (count - 1))):
        node = placed(count, [*cuts, cut])
        if len(cuts) < 15 and all(len(ways) == 1 for ways in hops_into(table.graph, node).values()):
            cuts.append(cut)
    assert len(cuts) > 1
    placement = Placement(tuple(placed(count, cuts)), tuple(table.leanest))
    assert reached_fps(table, placement) <= bound(network).fps * (1 + 1e-6)


def placed(count: int, cuts: Sequence[int]) -> list[int]:
    """Number of the run of every stage."""
    return [sum(stage >= cut for cut in cuts) for stage in range(count)]


shares = st.integers(0, 6).map(lambda n: n / 8)


@given(fork=shares, blocks=st.lists(st.tuples(st.lists(shares, max_size=4), shares), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_a_chain_fits_where_some_cut_of_each_block_does(fork: float, blocks: list[tuple[list[float], float]]) -> None:
    """All ways to cut each block between its two nodes, tried one by one."""
    found = False
    for cuts in itertools.product(*(range(len(way) + 1) for way, _ in blocks)):
        nodes = [fork, *(join for _, join in blocks)]
        for number, (cut, (way, _)) in enumerate(zip(cuts, blocks, strict=True)):
            nodes[number] += sum(way[:cut])
            nodes[number + 1] += sum(way[cut:])
        found |= max(nodes) <= 1
    given = [([np.array([s, 0.0]) for s in way], np.array([join, 0.0])) for way, join in blocks]
    assert chain_fits(np.array([fork, 0.0]), given) == found


def test_two_convolutions_of_four_share_one_of_three_nodes() -> None:
    """ResNet-18's first two blocks: at the bound a node is full with two of their equal convolutions."""
    table, found = TABLES["resnet18"], bound("resnet18")
    assert found.fps < 0.6 * aggregate_bound(table).fps
    assert found.where.startswith("stages maxpool to layer1_1_add")
    stage = next(n for n, one in enumerate(table.graph.stages) if one.name == "layer1_0_conv1")
    two = [2 * (table.least_dsp(stage, 0, found.fps * share) or 0.0) for share in (1.0, 1.05)]
    assert two[0] < table.cluster.nodes[0].dsp < two[1]


def test_a_plan_on_sixteen_boards_reaches_the_bound() -> None:
    found = plan("resnet18", TABLES["resnet18"].cluster, seconds=30).found
    assert found.ended == "proven"
    assert "equal hops" in found.aggregate.where
    assert 0 <= found.gap <= 0.01
