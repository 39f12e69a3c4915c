"""The hybrid family contains the others: their estimates agree point for point, and it never loses to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.devices import load_device
from dse.models.hybrid import CONTAINED, LAYOUTS
from dse.models.loop_nest import loop_nests
from dse.models.tile_geometry import BUFFERS, TileGeometry
from dse.models.tiling import TilingProblem
from dse.registry import families
from dse.search import Limits, Problem, exact_search, optuna_search
from tests.contract.helpers import one_conv, random_points, workload

BOARD = load_device("zcu102")
HYBRID = families()["hybrid"]


def _as_hybrid(family: str, points):
    """Points of another family as this family writes them."""
    contained = CONTAINED[family]
    count = len(next(iter(points.values())))
    fixed = {name: np.full(count, value) for name, value in contained.fixed.items()}
    named = {ours: points[theirs] for ours, theirs in contained.names.items()}
    return {**{name: np.full(count, 512) for name in BUFFERS}, **fixed, **named}


@pytest.mark.parametrize("reading", ["exact", "prefetch"])
@pytest.mark.parametrize("family", sorted(CONTAINED))
@pytest.mark.parametrize("network", ["cnn_1x", "alexnet", "mobilenet_v2"])
def test_a_contained_family_agrees_point_for_point(network: str, family: str, reading: str) -> None:
    other = families()[family]
    if reading not in other.readings:
        reading = "exact"
    for precision, batch, board in (("fp32", 6, "zcu102"), ("int8", 1, "max5")):
        work, device = workload(network, batch, precision), load_device(board)
        points = random_points(other.space(work, device), 30, 5)
        theirs = other.evaluate(work, device, points, reading=reading, detail=True)
        ours = HYBRID.evaluate(work, device, _as_hybrid(family, points), reading=reading, detail=True)
        np.testing.assert_array_equal(ours.iteration_cycles, theirs.iteration_cycles)
        np.testing.assert_array_equal(ours.dram_bytes, theirs.dram_bytes)
        np.testing.assert_array_equal(ours.layers.cycles, theirs.layers.cycles)
        np.testing.assert_array_equal(ours.feasible, theirs.feasible)
        for name, used in theirs.resources.items():
            np.testing.assert_array_equal(ours.resources[name], used)


def test_layouts_may_be_mixed_in_one_call() -> None:
    work = workload("cnn_1x", 5)
    points = random_points(HYBRID.space(work, BOARD), 30, 2)
    points["layout"] = np.resize(list(LAYOUTS.values()), 30)
    together = HYBRID.evaluate(work, BOARD, points)
    for layout in LAYOUTS.values():
        rows = points["layout"] == layout
        alone = HYBRID.evaluate(work, BOARD, {name: column[rows] for name, column in points.items()})
        np.testing.assert_array_equal(alone.iteration_cycles, together.iteration_cycles[rows])
        np.testing.assert_array_equal(alone.feasible, together.feasible[rows])


def test_lanes_that_the_streamed_schedule_has_no_use_for_are_infeasible() -> None:
    work = workload("cnn_1x", 5)
    point = {"layout": LAYOUTS["streamed"], "ub": 2, "um": 3, "un": 4, "ur": 1, "uc": 1, **dict.fromkeys(BUFFERS, 512)}
    estimate = HYBRID.evaluate(work, BOARD, point)
    assert estimate.violation["idle_lanes"] == 2
    assert not estimate.feasible
    assert HYBRID.evaluate(work, BOARD, {**point, "um": 1}).feasible


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 30), n=st.integers(1, 30), size=st.integers(4, 19), kernel=st.sampled_from([1, 3, 5]),
    stride=st.integers(1, 2), batch=st.integers(1, 7), planar=st.booleans(), unroll=st.tuples(*[st.integers(1, 5)] * 5),
    ifm=st.integers(20, 900), wei=st.integers(30, 600), reading=st.sampled_from(["exact", "prefetch"]),
)  # fmt: skip
def test_the_tiling_is_the_best_of_all(m, n, size, kernel, stride, batch, planar, unroll, ifm, wei, reading) -> None:
    """Every multiple of the row lanes, every number of channels on chip, one by one."""
    work = workload(one_conv(m=m, n=n, size=size, kernel=kernel, stride=stride), batch)
    names = ("ub", "um", "un", "ur", "uc")
    geometry = TileGeometry(dict(zip("bmnrc", names, strict=True)), planar=planar)
    setting = families()["channel"].settings[reading]
    values = {**dict(zip(names, unroll, strict=True)), "ifm_words": ifm, "ofm_words": 200, "wei_words": wei}
    point = {name: np.array([value]) for name, value in values.items()}
    nests = loop_nests(work.network)
    for k in range(len(nests)):
        problem = TilingProblem.of(geometry, work, BOARD, setting, point, nests, k)
        if problem.nest.is_fc:
            continue
        best, tried = problem.best({}), []
        m_tile, rows = values["um"], values["ur"]
        for chunk in problem.geometry.chunks(problem.lanes, problem.nest):
            for tr in range(rows, problem.nest.r + rows, rows):
                for m_on in range(m_tile, -(-int(problem.nest.m[0, 0]) // m_tile) * m_tile + 1, m_tile):
                    solved = problem.best({"tr": tr, "m_on": m_on, "tn": int(chunk[0, 0])})
                    if solved.fits[0] and solved.need[2][0] <= wei:
                        tried.append(float(solved.cycles[0] + solved.update[0]))
        if tried:
            assert float(best.cycles[0] + best.update[0]) <= min(tried) + 1e-6


@pytest.mark.parametrize(("board", "batch"), [("zcu102", 4), ("pynq_z1", 16)])
def test_the_proven_optimum_is_no_slower_than_any_contained_familys(board: str, batch: int) -> None:
    work, device = workload("lenet10", batch), load_device(board)
    found = exact_search(Problem.of(HYBRID, work, device), limits=Limits(time_limit_s=60))
    others = [exact_search(Problem.of(families()[name], work, device)).front[0, 0] for name in CONTAINED]
    assert found.front[0, 0] <= min(others)


def test_a_stopped_proof_still_says_how_far_the_optimum_can_be() -> None:
    work = workload("alexnet", 16)
    problem = Problem.of(HYBRID, work, load_device("u250"))
    stopped = exact_search(problem, limits=Limits(max_points=20_000))
    assert stopped.kind == "none"
    assert 0 < stopped.floor[0] <= stopped.front[0, 0]
    sampled = optuna_search(problem, sampler="random", trials=100)
    assert sampled.values[sampled.feasible].min() >= stopped.floor[0]


def test_the_search_starts_from_the_contained_families() -> None:
    work = workload("lenet10", 16)
    problem = Problem.of(HYBRID, work, BOARD)
    assert [part.space["layout"].values.tolist() for part in problem.subproblems()] == [[1], [2], [3]]
    assert all(not part.subproblems() for part in problem.subproblems())
    found = optuna_search(problem, trials=60, seed=3)
    assert found.trials == 60
    assert set(found.points["layout"].tolist()) == {1, 2, 3}
