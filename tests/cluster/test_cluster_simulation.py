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
from dse.cluster.simulate import simulate
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
