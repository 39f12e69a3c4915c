from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.errors import InputError
from dse.search import Limits, Problem, bound, exact_search, proven_optimum
from dse.search.problem import feasible_count, feasible_points, root
from tests.search.search_fakes import DARK_BOARD, DEVICE, FEW_DSP, SMALL_DRAM, WORKLOAD, Buffered, Plain, enumerated


@pytest.fixture(autouse=True, scope="module", params=[1, 64])
def boxes_at_a_time(request):
    """Small spaces must be pruned too: with one box at a time every bound is put to use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bound, "_FIRST", request.param)
        patch.setattr(bound, "_MOST", request.param)
        yield


MODELS = st.builds(
    Buffered, most=st.integers(1, 4), depths=st.integers(1, 4), need=st.integers(0, 3), seed=st.integers(0, 10**6)
)
BOARDS = st.builds(
    lambda dsp, bram, known: replace(DEVICE, dsp=dsp, bram36=float(bram), power=DEVICE.power[:known]),
    st.integers(2, 60),
    st.integers(1, 40),
    st.sampled_from([1, 4]),
)


def brute(model, device, objectives):
    """Distinct front rows with the point that wins ties: dsp, bram36, then lexicographic."""
    points, values, estimate = enumerated(model, device, objectives)
    names = list(points)
    best = {}
    for row in np.flatnonzero(estimate.feasible):
        key = (
            estimate.resources["dsp"][row],
            estimate.resources["bram36"][row],
            *(int(points[name][row]) for name in names),
        )
        vector = tuple(values[row])
        best[vector] = min(best.get(vector, key), key)
    front = sorted(v for v in best if not any(o != v and np.all(np.array(o) <= v) for o in best))
    return front, [dict(zip(names, best[v][2:], strict=True)) for v in front]


def found(result):
    return [tuple(row) for row in result.front], [
        {name: int(column[row]) for name, column in result.points.items()} for row in range(len(result.front))
    ]


@given(model=MODELS, device=BOARDS, objective=st.sampled_from(["latency", "energy", "dsp", "bram", "bandwidth"]))
@settings(max_examples=150, deadline=None)
def test_one_objective_is_the_optimum_of_the_enumeration_ties_included(model, device, objective):
    result = proven_optimum(model, WORKLOAD, device, objectives=(objective,))
    front, points = brute(model, device, (objective,))
    assert found(result) == (front[:1], points[:1])
    assert result.kind in ("bound", "exhaustive")


@given(
    model=MODELS,
    device=BOARDS,
    objectives=st.lists(
        st.sampled_from(["latency", "energy", "dsp", "bram", "bandwidth"]), min_size=2, max_size=3, unique=True
    ),
)
@settings(max_examples=100, deadline=None)
def test_several_objectives_give_the_front_of_the_enumeration(model, device, objectives):
    result = proven_optimum(model, WORKLOAD, device, objectives=objectives)
    assert found(result)[0] == brute(model, device, objectives)[0]


def test_a_front_point_has_the_objectives_it_claims():
    result = proven_optimum(Buffered(seed=3), WORKLOAD, DEVICE, objectives=("latency", "bram"))
    estimate = Buffered(seed=3).evaluate(WORKLOAD, DEVICE, result.points)
    assert estimate.feasible.all()
    assert np.array_equal(result.front, np.stack([estimate.iteration_s, estimate.resources["bram36"]], axis=1))


def test_bounds_leave_out_most_of_a_larger_space_without_changing_the_answer():
    model = Buffered(most=7, depths=8, seed=5)
    result = proven_optimum(model, WORKLOAD, DEVICE)
    assert result.kind == "bound"
    assert result.evaluated < result.space_size / 5
    assert found(result) == tuple(part[:1] for part in brute(model, DEVICE, ("latency",)))


def test_without_slack_every_point_that_fits_is_evaluated():
    result = proven_optimum(Plain(), WORKLOAD, DEVICE)
    _, _, estimate = enumerated(Plain())
    assert result.kind == "exhaustive"
    assert result.evaluated == estimate.feasible.sum() < result.space_size
    assert found(result) == tuple(part[:1] for part in brute(Plain(), DEVICE, ("latency",)))


def test_blocks_of_feasible_points_are_complete_ordered_and_small():
    problem = Problem.of(Plain(most=30), WORKLOAD, replace(DEVICE, dsp=600, bram36=1000.0, lut=10**6))
    blocks = [block for block, _ in feasible_points(problem, root(problem), problem.space.parameters, chunk=40)]
    pairs = [pair for block in blocks for pair in zip(block["t"].tolist(), block["u"].tolist(), strict=True)]
    every = problem.space.points(0, problem.space.size)
    fit = problem.fits(every)
    assert pairs == list(zip(every["t"][fit].tolist(), every["u"][fit].tolist(), strict=True))
    assert max(len(block["t"]) for block in blocks) <= 40
    assert feasible_count(problem, problem.space.parameters, 10**9) == len(pairs)


def test_fixed_parameters_and_readings_are_kept():
    result = proven_optimum(Buffered(seed=1), WORKLOAD, DEVICE, fixed={"t": 2, "b_words": 4})
    assert result.points["t"].tolist() == [2]
    assert result.points["b_words"].tolist() == [4]
    slow = proven_optimum(Plain(), WORKLOAD, DEVICE, reading="published").front
    assert np.allclose(slow, 2 * proven_optimum(Plain(), WORKLOAD, DEVICE).front)


@pytest.mark.parametrize("model", [Plain(), Buffered(seed=2)])
@pytest.mark.parametrize("limits", [Limits(max_points=3), Limits(time_limit_s=0.0)])
def test_limits_end_the_search_without_a_proof(model, limits):
    assert proven_optimum(model, WORKLOAD, DEVICE, limits=limits).kind == "none"


@pytest.mark.parametrize("model", [Plain(), Buffered(seed=2)])
def test_interruption_returns_what_was_found(model):
    def stop(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    result = proven_optimum(model, WORKLOAD, DEVICE, on_progress=stop)
    assert result.interrupted
    assert result.kind == "none"
    assert len(result.front) == 1


@pytest.mark.parametrize("model", [Plain(), Buffered(seed=2)])
@pytest.mark.parametrize("device", [FEW_DSP, SMALL_DRAM])
def test_nothing_feasible_is_proven_by_the_lowest_point(model, device):
    result = exact_search(Problem.of(model, WORKLOAD, device))
    assert (result.kind, len(result.front), result.evaluated) == ("bound", 0, 0)


def test_progress_grows_to_its_total():
    calls = []
    proven_optimum(Buffered(most=6, seed=2), WORKLOAD, DEVICE, on_progress=lambda *c: calls.append(c))
    done = [d for d, _ in calls]
    assert done == sorted(done)
    assert calls[-1][0] == calls[-1][1]


def test_same_answer_every_time():
    first, second = (proven_optimum(Buffered(seed=9), WORKLOAD, DEVICE, objectives=("latency", "dsp")) for _ in "ab")
    assert found(first) == found(second)
    assert first.evaluated == second.evaluated


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"objectives": ()}, "at least one"),
        ({"objectives": ("latencey",)}, "did you mean 'latency'"),
        ({"objectives": ("dsp", "dsp")}, "given twice"),
        ({"reading": "publishd"}, "did you mean 'published'"),
        ({"fixed": {"tt": 1}}, "unknown parameter"),
        ({"fixed": {"t": 99}}, "not a legal value"),
    ],
)
def test_bad_arguments_are_one_line(keywords, message):
    with pytest.raises(InputError, match=message) as caught:
        proven_optimum(Plain(), WORKLOAD, DEVICE, **keywords)
    assert "\n" not in str(caught.value)


def test_energy_needs_published_power():
    with pytest.raises(InputError, match="objective energy: device dark has no published power"):
        proven_optimum(Plain(), WORKLOAD, DARK_BOARD, objectives=("energy",))
