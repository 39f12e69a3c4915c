"""Data, layer and model parallelism together; slices chosen by themselves; what would make a network fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dse.cluster import Cluster, Plan, load_cluster, plan
from dse.cluster.arrangement import arrangements, board_groups, single_board
from dse.cluster.auto_slices import best_slices, binding_group
from dse.cluster.explain import explain
from dse.cluster.planner import demand_table
from dse.network import Network
from dse.networks import load_network


def test_every_way_to_cut_four_boards() -> None:
    found = arrangements("lenet10", "nada", 4, model_parallel=False, seconds=4, gap=0.2)
    kinds = {(one.kind, one.groups, one.boards, one.how) for one in found}
    assert {("LP", 1, 4, "pipeline"), ("DP x LP", 2, 2, "pipeline"), ("DP", 4, 1, "pipeline")} <= kinds
    assert any(one.how != "pipeline" for one in found), "a single-board accelerator on each"
    assert [one.fps for one in found] == sorted((one.fps for one in found), reverse=True)
    by_groups = {one.groups: one for one in found if one.how == "pipeline"}
    assert by_groups[1].all_reduce_s == 0
    data = by_groups[4]
    bits = 32 * load_network("lenet10").parameters
    assert data.all_reduce_s == pytest.approx(2 * 3 / 4 * bits / 40e9)
    assert data.pipeline_fps == pytest.approx(sum(one.fps for one in data.plans))
    assert all(one.fps <= one.pipeline_fps for one in found)


def test_mixed_boards_are_dealt_out_evenly() -> None:
    groups = board_groups(load_cluster("mixed8"), 2)
    assert all(len(group.nodes) == 4 for group in groups)
    kinds = [sorted(node.device.name for node in group.nodes) for group in groups]
    assert kinds[0] == kinds[1]
    assert len({node.name for group in groups for node in group.nodes}) == 8


def test_a_single_board_trains_what_no_pipeline_holds() -> None:
    node = load_cluster("nada").nodes[0]
    found = single_board(load_network("resnet18"), node, 4, "fp32")
    assert found is not None
    assert 0 < found[1] < node.dsp * node.clock_hz / load_network("resnet18").training_flop * 2
    assert (
        single_board(load_network("vgg16"), replace(node, device=replace(node.device, dram_bytes=1)), 4, "fp32") is None
    )


def test_slices_follow_what_binds(demo_plan: Plan) -> None:
    """Plans that a table stands for: the binding group is cut again as long as that helps."""
    filters = binding_group(demo_plan)
    assert filters is not None
    assert filters.endswith(":filters"), "the network has no normalisation or depthwise convolution to cut"
    seven = plan("nada_example", "nada", nodes=8, reading="nada", seconds=6, gap=0.05)
    group = binding_group(seven)
    assert group is not None
    made: list[dict[str, int]] = []

    def make(slices: object) -> Plan:
        made.append(dict(slices))  # type: ignore[call-overload]
        return replace(seven, slices=made[-1])

    assert best_slices(make).slices == {}
    assert made[0] == {}
    assert made[1] == {group: 2}


@pytest.mark.parametrize("placed", [False, True])
def test_ctrl_c_ends_the_comparison_with_what_was_found(placed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of 2 x 2 boards: before its plan has a placement, and when it has one."""
    made: list[int] = []

    def stopped(network: Network, part: Cluster, **settings: Any) -> Plan:
        one = plan(network, part, **settings)
        made.append(len(part.nodes))
        if len(part.nodes) == 2:
            one.found.interrupted = True
            one.found.placement = one.found.placement if placed else None
        return one

    monkeypatch.setattr("dse.cluster.arrangement.plan", stopped)
    found = arrangements("lenet10", "nada", 4, model_parallel=False, seconds=2, gap=0.5)
    assert made == [4, 2], "no plan is begun after it"
    assert sorted(one.kind for one in found) == (["DP x LP", "LP"] if placed else ["LP"])
    assert sum(one.interrupted for one in found) == 1


def test_ctrl_c_ends_slicing(demo_plan: Plan) -> None:
    made: list[object] = []

    def make(slices: object) -> Plan:
        made.append(slices)
        return replace(demo_plan, found=replace(demo_plan.found, interrupted=len(made) == 2, fps=1.0 / len(made)))

    best = best_slices(make)
    assert len(made) == 2
    assert best.fps == 1
    assert best.found.interrupted


def test_what_is_missing_and_what_would_fit() -> None:
    _, table = demand_table("nada_example", "nada", nodes=2, reading="nada")
    why = explain(table)
    assert why.missing.startswith("on-chip RAM: ")
    assert "2 nodes have 70.0 Mb" in why.missing
    assert "1 more node like fpga1 (arria10_gx1150)" in why.changes
    assert any("--reading free" in text for text in why.changes)
    assert any("more on-chip RAM on every node" in text for text in why.changes)
    _, fits = demand_table("nada_example", "nada", nodes=3, reading="nada")
    largest = max(option.ram_bits for options in fits.storages for option in options)
    nodes = tuple(replace(node, ram_bits=largest / 2) for node in fits.cluster.nodes)
    small = replace(fits, cluster=replace(fits.cluster, nodes=nodes * 5))
    assert "alone on a node" in explain(small).missing
