"""The simulation: servers and queues by hand, a plan's throughput confirmed, and joins that stall."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.cluster import Plan
from dse.cluster.dataflow import Actor, Queue, Server, Simulation
from dse.cluster.placement import Placement
from dse.cluster.planner import demand_table
from dse.cluster.simulate import simulate
from dse.cluster.stages import whole_frames
from dse.cluster.timing import MAX_CACHED, batch_time, cached_frames
from dse.cluster.usage import reached_fps
from dse.errors import InputError


def chain(seconds: list[float], units: int, capacity: float) -> list[Actor]:
    """Actors behind each other, each ``seconds`` a frame."""
    actors = [
        Actor(str(n), units, s / units, lambda j: (j + 1) / units, lambda j: (j + 1) / units)
        for n, s in enumerate(seconds)
    ]
    for source, target in itertools.pairwise(actors):
        queue = Queue(source, target, capacity)
        source.outputs.append(queue)
        target.inputs.append(queue)
    return actors


@given(seconds=st.lists(st.floats(0.1, 3), min_size=1, max_size=5), units=st.integers(1, 6), frames=st.integers(2, 8))
@settings(max_examples=60, deadline=None)
def test_a_chain_runs_at_the_pace_of_its_slowest(seconds: list[float], units: int, frames: int) -> None:
    """With room for two units: fill is a unit of each, then the slowest sets the pace."""
    actors = chain(seconds, units, 2 / units)
    assert Simulation(actors, frames).run()
    fill = sum(seconds) / units
    expected = fill + (frames * units - 1) * max(seconds) / units
    assert actors[-1].frame_end_s[-1] == pytest.approx(expected)


def test_a_server_serves_one_after_another() -> None:
    link = Server(bits_per_s=10.0, latency_s=1.0)
    assert [link.serve(0.0, 20), link.serve(0.0, 10), link.serve(9.0, 10)] == [3.0, 4.0, 11.0]
    assert link.busy_s == 4.0


@given(
    units=st.integers(1, 6), hold=st.integers(1, 4), frames=st.integers(1, 11), speed=st.floats(0.2, 1.0)
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_an_engine_that_holds_frames_takes_and_gives_them_at_once(
    units: int, hold: int, frames: int, speed: float
) -> None:
    """Behind a source of a frame a second: group after group, each begun when its last frame is there."""
    actors = chain([1.0, speed], units, 3.0 * hold)
    actors[1].hold = hold
    sink = chain([0.0], units, 1.0)[0]
    queue = Queue(actors[1], sink, 3.0 * hold)
    actors[1].outputs.append(queue)
    sink.inputs.append(queue)
    assert Simulation([*actors, sink], frames).run()
    expected, free = list[float](), 0.0
    for first in range(0, frames, hold):
        end = min(first + hold, frames)
        free = max(float(end), free) + speed * (end - first)
        expected += [free] * (end - first)
    assert sink.frame_end_s == pytest.approx(expected), "given when the whole group is through"


def test_a_second_operand_is_waited_for() -> None:
    """Of two sources, one a second late in every frame, the product begins with all of the one that is whole."""
    first, second, product = chain([1.0], 4, 9.0)[0], chain([1.0], 4, 9.0)[0], chain([1.0], 4, 9.0)[0]
    for source, whole in ((first, False), (second, True)):
        queue = Queue(source, product, 2.0, whole=whole)
        source.outputs.append(queue)
        product.inputs.append(queue)
    assert Simulation([first, second, product], 3).run()
    assert product.frame_end_s == pytest.approx([2.0, 3.0, 4.0])
    assert first.frame_end_s[0] == 1.0


def test_products_have_whole_second_operands_and_plans_wait_for_frames_held() -> None:
    """BERT's products wait for keys and values; a stage that holds four frames holds eight back."""
    table = demand_table("bert_base", "mixed8", reading="free")[1]
    graph = table.graph
    whole = {graph.label(edge) for edge, one in zip(graph.edges, whole_frames(graph), strict=True) if one}
    assert len(whole) == 2 * 12
    assert any(label.startswith("block0_k ") and "block0_scores" in label for label in whole)
    stage = next(n for n, one in enumerate(graph.stages) if one.name == "block0_fc1")
    way = next(n for n, kept in enumerate(table.storages[stage]) if kept.frames == 4)
    leanest = list(table.leanest)
    node = (0,) * len(leanest)
    before = batch_time(table, Placement(node, tuple(leanest)), 10.0, 16)
    held = table.storages[stage][leanest[stage]].frames
    leanest[stage] = way
    after = batch_time(table, Placement(node, tuple(leanest)), 10.0, 16)
    assert after.latency_s - before.latency_s == pytest.approx(2 * (8 - 2 * held) / 10, rel=0.02)


def test_frames_in_flight_are_what_dram_has_room_for(demo_plan: Plan) -> None:
    table, placement = demo_plan.table, demo_plan.found.placement
    assert placement is not None
    found = cached_frames(table, placement)
    for number, node in enumerate(table.cluster.nodes):
        stages = [s for s, home in enumerate(placement.node) if home == number]
        kept = sum(table.kept_elements[x.name] * 32 for s in stages for x in table.graph.stages[s].layers)
        weights = sum(
            2 * 32 * table.graph.stages[s].layers[0].parameters
            for s in stages if table.storages[s][placement.storage[s]].weights != "chip"
        )  # fmt: skip
        assert found[number] * kept + weights <= 8 * node.device.dram_bytes
        assert found[number] == MAX_CACHED or (found[number] + 1) * kept + weights > 8 * node.device.dram_bytes


def test_a_queue_without_room_stops_all() -> None:
    actors = chain([1.0, 1.0], 4, 0.1)
    assert not Simulation(actors, 2).run()


def test_a_plan_reaches_what_was_planned(demo_plan: Plan) -> None:
    assert demo_plan.found.placement is not None
    done = simulate(demo_plan.table, demo_plan.found.placement, demo_plan.fps, frames=48)
    assert 0.9 * demo_plan.fps <= done.steady_fps <= 1.5 * demo_plan.fps
    assert done.batch_fps < done.steady_fps
    assert max(done.link_busy) <= 1
    assert all(len(stage.forward_end_s) == 48 for stage in done.stages)
    ends = [stage.forward_end_s[0] for stage in done.stages]
    assert ends[0] == min(ends), "the input is first"


def crossing(plan: Plan, unequal: bool) -> Placement:
    """The first block's shortcut on another node: alone, or with the way beside it moved as often."""
    names = [stage.name for stage in plan.table.graph.stages]
    node = [0] * len(names)
    node[names.index("block1_shortcut")] = 1
    if not unequal:
        node[names.index("block1_conv2")] = 1
    return Placement(tuple(node), (0,) * len(names))


def test_unequal_hops_stall_a_join(demo_plan: Plan) -> None:
    """A slow switch: where both ways cross it nothing is lost but time; where one does, the other's queue is full."""
    cluster = demo_plan.table.cluster
    slow = replace(cluster, switch_latency_s=2e-4)
    nodes = replace(slow, nodes=tuple(replace(n, dsp=1e4, ram_bits=1e9, connections=99) for n in slow.nodes))
    table = replace(demo_plan.table, cluster=nodes)
    steady = {}
    for unequal in (False, True):
        placement = crossing(demo_plan, unequal)
        fps = min(reached_fps(table, placement), 8000.0)
        done = simulate(table, placement, fps, frames=32, cache_frames=1000)
        steady[unequal] = done.steady_fps / fps
    assert steady[False] > 0.9
    assert steady[True] < 0.9 * steady[False]


def test_a_short_cache_of_features_stalls_the_pipeline(demo_plan: Plan) -> None:
    assert demo_plan.found.placement is not None
    arguments = (demo_plan.table, demo_plan.found.placement, demo_plan.fps)
    assert simulate(*arguments, 24, cache_frames=1).steady_fps < 0.5 * simulate(*arguments, 24).steady_fps
    with pytest.raises(InputError, match="do not get through"):
        simulate(*arguments, 4, cache_frames=0)
