"""Plans and their checker: what the solver finds holds, and what is changed in a plan is found."""

from __future__ import annotations

import copy
import itertools
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.cluster import Plan, check_plan, plan
from dse.cluster.budget import Budget
from dse.cluster.demand import DemandTable
from dse.cluster.hardware import NODE_RESOURCES
from dse.cluster.holding import least_held
from dse.cluster.lanes import LANES
from dse.cluster.placement import Placement
from dse.cluster.plan_file import plan_json, write_plan
from dse.cluster.planner import demand_table
from dse.cluster.probe import probe
from dse.cluster.search import SearchSettings, fastest_placement
from dse.cluster.timing import batch_time
from dse.cluster.usage import reached_fps, usage
from dse.errors import InputError

SMALL = """
name = "small"
source = "test"
[[node]]
name = "a"
device = "arria10_gx1150"
count = 2
dsp = {dsp}
ram_bits = {ram}
link_bits_per_s = {link}
connections = {connections}
source = "test"
"""


def legal(demands: DemandTable, node: tuple[int, ...]) -> bool:
    """Hops by walking every edge, here written down again; input and outputs on the host's node."""
    hops = [0] * len(node)
    for target in range(1, len(node)):
        into = {hops[e.source] + (node[e.source] != node[target]) for e in demands.graph.edges if e.target == target}
        if len(into) != 1:
            return False
        hops[target] = into.pop()
    return all(node[stage] == 0 for stage in demands.graph.on_host)


@pytest.mark.parametrize("changes", [{}, {"dsp": 60}, {"link": 2e7}, {"ram": 3.6e6}, {"connections": 1}])
def test_the_search_finds_the_best_of_all_placements(changes: dict[str, float], tmp_path: Path) -> None:
    """Every placement of a small network on two boards, against the search."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL.format(**{"dsp": 400, "ram": 5e6, "link": 1e9, "connections": 3, **changes}))
    _, demands = demand_table("lenet10", path, reading="nada")
    count = len(demands.graph.stages)
    free = [stage for stage in range(count) if stage not in demands.graph.on_host]
    best = 0.0
    for choice in itertools.product((0, 1), repeat=len(free)):
        node = [0] * count
        for stage, where in zip(free, choice, strict=True):
            node[stage] = where
        placement = Placement(tuple(node), (0,) * count)
        if legal(demands, tuple(node)) and usage(demands, placement, max(best * 1.0001, 1.0)).fits:
            best = max(best, reached_fps(demands, placement))
    found = fastest_placement(demands, SearchSettings(seconds=20, gap=0.002))
    if best == 0:
        assert found.placement is None
    else:
        assert found.fps >= best / 1.003
        assert found.bound_fps >= best * (1 - 1e-6)


def test_a_plan_is_checked_without_the_solver(demo_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "ortools"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ortools", None)
    content, breaches = check_plan(demo_file)
    assert breaches == []
    assert content["fps"] > 3906.25
    with pytest.raises(InputError, match=r"pip install 'dse\[cluster\]'"):
        plan("nada_demo", "nada", nodes=2)


def faster(content: dict[str, Any]) -> None:
    content["fps"] *= 1.01


def loss_elsewhere(content: dict[str, Any]) -> None:
    content["stages"][-1]["node"] = "fpga1"


def fewer_lanes(content: dict[str, Any]) -> None:
    content["stages"][1]["unroll"]["conv1"] = dict.fromkeys(LANES, 1)


def all_on_one(content: dict[str, Any]) -> None:
    for stage in content["stages"]:
        stage["node"] = "fpga0"


def other_network(content: dict[str, Any]) -> None:
    content["network"]["sha256"] = "0" * 64


@pytest.mark.parametrize("change", [faster, loss_elsewhere, fewer_lanes, all_on_one, other_network])
def test_a_changed_plan_is_found(change: Callable[[dict[str, Any]], None], demo_file: Path, tmp_path: Path) -> None:
    content = json.loads(demo_file.read_text())
    change(content)
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(content))
    assert check_plan(changed)[1]


@pytest.fixture(scope="module")
def hybrid_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """VGG-16 on four kinds of boards, with lanes of any number."""
    path = tmp_path_factory.mktemp("hybrid") / "plan.json"
    write_plan(plan_json(plan("vgg16", "mixed8", seconds=20, gap=0.03)), path)
    return path


def test_a_plan_with_hybrid_lanes_passes_the_checker(hybrid_file: Path) -> None:
    content, breaches = check_plan(hybrid_file)
    assert breaches == []
    lanes = [u for stage in content["stages"] for u in stage["unroll"].values()]
    assert any(512 % u["poc"] for u in lanes)


@pytest.mark.parametrize(("key", "rule"), [("pr", "lanes along rows"), ("pb", "lanes along frames")])
def test_lanes_that_have_no_lines_or_maps_are_found(key: str, rule: str, hybrid_file: Path, tmp_path: Path) -> None:
    content = json.loads(hybrid_file.read_text())
    stage = next(s for s in content["stages"] if s["name"] == "conv1_1")
    stage["unroll"]["conv1_1"][key] = 9
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(content))
    assert any(breach.rule.startswith(rule) for breach in check_plan(changed)[1])


@given(moved=st.integers(1, 11), to=st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_checker_agrees_with_the_planner_on_any_move(
    moved: int, to: int, demo_plan: Plan, demo_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Move one stage: the checker finds a breach exactly where use, hops or host say that there is one."""
    assert demo_plan.found.placement is not None
    node = list(demo_plan.found.placement.node)
    node[moved] = to
    content = json.loads(demo_file.read_text())
    fps = content["fps"] = demo_plan.fps * 0.5
    for number, stage in enumerate(content["stages"]):
        stage["node"] = f"fpga{node[number]}"
        demand = demo_plan.table.demand(number, node[number], fps, demo_plan.found.placement.storage[number])
        assert demand is not None
        stage["unroll"] = {k: dict(zip(LANES, u, strict=True)) for k, u in demand.unroll.items()}
    path = tmp_path_factory.mktemp("moved") / "plan.json"
    path.write_text(json.dumps(content))
    fits = usage(demo_plan.table, Placement(tuple(node), demo_plan.found.placement.storage), fps).fits
    assert (check_plan(path)[1] == []) == (fits and legal(demo_plan.table, tuple(node)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.pop("stages"), "stages: required key is missing"),
        (lambda c: c.update(fps="fast"), "fps: must be of type number"),
        (lambda c: c.update(fps=-1), "fps: must be a number > 0"),
        (lambda c: c.update(schema_version=99), "schema_version: is not supported"),
        (lambda c: c["stages"].pop(), "stages: are not those of the network"),
        (lambda c: c["stages"][0].update(node="mars"), "has a wrong value"),
        (lambda c: c["stages"][1]["unroll"].clear(), "conv1: required key is missing"),
        (lambda c: c["network"].update(path="", name="lenet99"), "network: unknown name"),
        (lambda c: c.update(model_parallel={"conv1": "x"}), "must give whole numbers"),
        (lambda c: c.update(feasible=False), "holds no placement"),
    ],
)
def test_a_file_that_is_no_plan_is_one_line(
    change: Callable[[dict[str, Any]], Any], message: str, demo_file: Path, tmp_path: Path
) -> None:
    content = copy.deepcopy(json.loads(demo_file.read_text()))
    change(content)
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError) as error:
        check_plan(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_undecided_is_not_infeasible() -> None:
    """With no time the solver knows nothing, and nothing is what it proves."""
    _, demands = demand_table("mobilenet_v2", "nada", nodes=6, reading="nada", micro_batch=1)
    assert probe(demands, 390.0, 0.02, 1, None, Budget(10.0, 1)).status == "unknown"
    found = fastest_placement(demands, SearchSettings(seconds=0.1))
    assert found.bound_fps == pytest.approx(found.aggregate.fps)


def test_too_little_memory_is_known_without_search() -> None:
    result = plan("nada_example", "nada", nodes=2, reading="nada", seconds=5)
    assert result.found.placement is None
    assert result.found.bound_fps == 0
    assert result.found.probes == []


def test_usage_is_at_its_limit_at_the_planned_throughput(demo_plan: Plan) -> None:
    assert demo_plan.usage is not None
    assert demo_plan.usage.fits
    assert demo_plan.found.placement is not None
    assert not usage(demo_plan.table, demo_plan.found.placement, demo_plan.fps * (1 + 1e-6)).fits
    assert np.isfinite(demo_plan.usage.share).all()


@given(micro_batch=st.sampled_from([1, 2, 4, 8]), share=st.floats(0.3, 1.0), room=st.floats(1.0, 1.6))
@settings(max_examples=20, deadline=None)
def test_fewer_frames_are_held_where_there_is_room(micro_batch: int, share: float, room: float) -> None:
    """From weights in DRAM wherever they may be: as fast as before, within the limits, and no slower to fill."""
    table = demand_table("resnet18", "nada", nodes=8, reading="free", micro_batch=micro_batch)[1]
    roomy = replace(table.cluster, nodes=tuple(replace(node, ram_bits=1.5e9) for node in table.cluster.nodes))
    table = replace(table, cluster=roomy)
    count, nodes = len(table.graph.stages), len(table.cluster.nodes)
    most = [max(range(len(o)), key=lambda way, o=o: (o[way].weights != "chip", o[way].frames)) for o in table.storages]
    start = Placement(tuple(stage * nodes // count for stage in range(count)), tuple(most))
    taken = usage(table, start, 1.0).used[:, NODE_RESOURCES.index("ram_bits")]
    tight = tuple(replace(n, ram_bits=bits * room) for n, bits in zip(roomy.nodes, taken, strict=True))
    table = replace(table, cluster=replace(roomy, nodes=tight))
    fps = reached_fps(table, start) * share
    assert fps > 0
    fewer = least_held(table, start, fps)
    assert fewer.node == start.node
    assert usage(table, fewer, fps).fits
    frames = [sum(o[w].frames for o, w in zip(table.storages, p.storage, strict=True)) for p in (start, fewer)]
    assert frames[1] < frames[0] or room < 1.5
    latency = [batch_time(table, p, fps, 64).latency_s for p in (start, fewer)]
    assert latency[1] <= latency[0]
