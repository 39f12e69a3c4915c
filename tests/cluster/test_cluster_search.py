"""The steps of the search: linear program, runs, parts of the graph, neighbourhoods; the same plan twice."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.cluster.bounds import aggregate_bound
from dse.cluster.budget import Budget
from dse.cluster.check import hops_into
from dse.cluster.contraction import contracted, stage_shares
from dse.cluster.demand import DemandTable
from dse.cluster.neighbourhoods import approach, excesses
from dse.cluster.placement import Placement, canonical
from dse.cluster.planner import demand_table
from dse.cluster.relaxation import relaxed_bound
from dse.cluster.runs import best_runs
from dse.cluster.search import SearchSettings, fastest_placement
from dse.cluster.usage import reached_fps, usage

CASES = [("nada_example", "nada", 5, "nada"), ("resnet18", "nada", 4, "free"), ("resnet18", "mixed8", 8, "free")]


@cache
def table(network: str, cluster: str, nodes: int, reading: str) -> DemandTable:
    return demand_table(network, cluster, nodes=nodes, reading=reading)[1]


def legal(demands: DemandTable, placement: Placement) -> bool:
    hops = hops_into(demands.graph, placement.node)
    return all(placement.node[s] == 0 for s in demands.graph.on_host) and all(len(ways) == 1 for ways in hops.values())


@pytest.mark.parametrize("case", CASES)
def test_runs_are_a_placement_below_the_bound(case: tuple[str, str, int, str]) -> None:
    demands = table(*case)
    limit = relaxed_bound(demands, aggregate_bound(demands))
    found = best_runs(demands, limit.fps)
    assert found is not None
    placement, fps = found
    assert legal(demands, placement)
    assert usage(demands, placement, fps).fits
    assert 0.5 * limit.fps < fps <= limit.fps
    runs = sum(a != b for a, b in zip(placement.node, placement.node[1:], strict=False)) + 1
    assert runs <= len(demands.cluster.nodes) + 1


def test_runs_on_a_chain_are_the_best_of_all_cuts() -> None:
    """Two nodes: the host's first and last run around one of the other, every pair of cuts tried."""
    demands = table("lenet10", "nada", 2, "nada")
    count, best = len(demands.graph.stages), 0.0
    for first in range(1, count):
        for last in range(first + 1, count):
            node = tuple(int(first <= stage < last) for stage in range(count))
            placement = Placement(node, (0,) * count)
            if legal(demands, placement) and usage(demands, placement, best + 1).fits:
                best = max(best, reached_fps(demands, placement))
    found = best_runs(demands, aggregate_bound(demands).fps)
    assert found is not None
    assert found[1] >= 0.9 * best, "the throughput's interval is halved a dozen times"


def test_splitting_freely_bounds_mixed_boards_better_than_the_sum() -> None:
    demands = table("resnet18", "mixed8", 8, "free")
    summed = aggregate_bound(demands)
    relaxed = relaxed_bound(demands, summed)
    assert relaxed.fps < 0.7 * summed.fps
    assert relaxed.where.startswith("stages split freely")


@given(dsp=st.floats(200, 1500), ram=st.floats(8e6, 35e6), link=st.floats(1e9, 4e10))
@settings(max_examples=8, deadline=None)
def test_no_placement_beats_the_relaxed_bound(dsp: float, ram: float, link: float) -> None:
    whole = table("nada_demo", "nada", 3, "free")
    nodes = tuple(replace(node, dsp=dsp, ram_bits=ram, link_bits_per_s=link) for node in whole.cluster.nodes)
    demands = replace(whole, cluster=replace(whole.cluster, nodes=nodes))
    found = best_runs(demands, aggregate_bound(demands).fps)
    bound = relaxed_bound(demands, aggregate_bound(demands)).fps
    assert bound <= aggregate_bound(demands).fps
    assert found is None or found[1] <= bound * (1 + 1e-9)


@pytest.mark.parametrize("largest", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("network", ["mobilenet_v2", "bert_base"])
def test_parts_are_whole_small_and_convex(network: str, largest: float) -> None:
    demands = table(network, "mixed8", 8, "free")
    parts = contracted(demands, 20.0, largest)
    assert sorted(stage for part in parts for stage in part) == list(range(len(demands.graph.stages)))
    shares = stage_shares(demands, 20.0)
    assert all(len(part) == 1 or sum(shares[stage] for stage in part) <= largest for part in parts)
    home = {stage: number for number, part in enumerate(parts) for stage in part}
    quotient = nx.DiGraph((home[e.source], home[e.target]) for e in demands.graph.edges)
    quotient.remove_edges_from([(n, n) for n in list(quotient)])
    assert nx.is_directed_acyclic_graph(quotient)
    assert all([stage] in parts for stage in demands.graph.on_host)


def test_neighbourhoods_exceed_ever_less_and_are_the_same_twice() -> None:
    demands = table("nada_example", "nada", 5, "nada")
    runs = best_runs(demands, 950.0)
    assert runs is not None
    before = float(excesses(demands, runs[0], 930.0).sum())
    assert before > 0

    def improved() -> list[Placement]:
        return list(approach(demands, runs[0], 930.0, 3.0, 2, 1, Budget(600.0, 2)))

    found = improved()
    left = [float(excesses(demands, placement, 930.0).sum()) for placement in found]
    assert left == sorted(left, reverse=True)
    assert left[-1] < before / 2
    assert all(legal(demands, placement) for placement in found)
    assert found == improved()


def test_a_search_that_its_work_ends_gives_the_same_plan_again() -> None:
    demands = table("nada_example", "nada", 8, "nada")
    first, second = (fastest_placement(demands, SearchSettings(seconds=60, gap=0.02)) for _ in range(2))
    assert first.ended == second.ended == "proven"
    assert first.placement == second.placement
    assert [(p.fps, p.status, p.work) for p in first.probes] == [(p.fps, p.status, p.work) for p in second.probes]


def test_what_the_clock_ends_says_so() -> None:
    found = fastest_placement(table("nada_example", "nada", 6, "nada"), SearchSettings(seconds=1e-6, gap=0.0))
    assert found.ended == "clock"
    assert found.fps > 0, "runs need no solver"


def test_equal_nodes_are_exchanged_into_the_order_of_their_first_stages() -> None:
    demands = table("nada_demo", "nada", 4, "nada")
    count = len(demands.graph.stages)
    node = tuple([0, 3, 3, 1] + [2] * (count - 5) + [0])
    same = canonical(demands, Placement(node, (0,) * count))
    assert same.node == tuple([0, 1, 1, 2] + [3] * (count - 5) + [0])
    assert usage(demands, same, 100.0).used[1:].sum() == pytest.approx(
        usage(demands, Placement(node, (0,) * count), 100.0).used[1:].sum()
    )
