from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse.search as public
from dse.errors import InputError
from dse.search import SAMPLERS, Problem, exact_search, front_gap, optuna_search, search_cell
from dse.search.encoding import Encoding
from dse.search.sampling import _varied
from dse.search.table import Thinned
from tests.search.search_fakes import DEVICE, FEW_DSP, SMALL_DRAM, WORKLOAD, Buffered, Plain, enumerated

ROOMY = replace(DEVICE, dsp=10**6, bram36=1e6, lut=10**9, ff=10**9)


@pytest.mark.parametrize("name", sorted(public.__all__))
def test_public_names_load(name):
    assert not isinstance(getattr(public, name), type(public))


@pytest.mark.parametrize("model", [Plain(), Buffered(seed=1), Buffered(seed=1, need=2)])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_every_share_decodes_to_a_point_whose_resources_fit(model, data):
    problem = Problem.of(model, WORKLOAD, DEVICE)
    encoding = Encoding.of(problem)
    share = st.floats(0.0, 1.0)
    shares = np.array(data.draw(st.lists(st.tuples(*[share] * len(encoding.free)), min_size=1, max_size=20)))
    points = encoding.points(encoding.decode(shares))
    assert problem.space.contains(points).all()
    assert problem.fits(points).all()


@pytest.mark.parametrize("model", [Plain(), Buffered(seed=1)])
def test_encoding_is_the_inverse_of_decoding_for_every_point_that_fits(model):
    problem = Problem.of(model, WORKLOAD, DEVICE)
    encoding = Encoding.of(problem)
    every = problem.space.points(0, problem.space.size)
    for row in np.flatnonzero(problem.fits(every)):
        point = {name: int(column[row]) for name, column in every.items()}
        back = encoding.points(encoding.decode(np.array([encoding.encode(point)])))
        assert {name: int(column[0]) for name, column in back.items()} == point


def test_parameters_spread_over_their_logarithm_and_buffers_over_their_steps():
    problem = Problem.of(Buffered(most=64, depths=8), WORKLOAD, ROOMY)
    encoding = Encoding.of(problem)
    shares = np.tile(np.linspace(0, 0.999, 999)[:, None], (1, 4))
    steps = encoding.decode(shares)
    values = problem.space["t"].values[steps[:, 0]]
    assert np.median(values) == pytest.approx(8, abs=1)
    assert np.bincount(steps[:, 1]).min() > 100


@pytest.mark.parametrize("sampler", sorted(SAMPLERS))
@pytest.mark.parametrize("objectives", [("latency",), ("latency", "dsp")])
def test_a_seed_gives_the_same_points_again(sampler, objectives):
    problem = Problem.of(Buffered(seed=4, need=2), WORKLOAD, DEVICE, objectives=objectives)
    first, second = (optuna_search(problem, sampler=sampler, trials=70, seed=3) for _ in "ab")
    assert first.table.equals(second.table)
    other = optuna_search(problem, sampler=sampler, trials=70, seed=4)
    assert not first.table.equals(other.table)


@pytest.mark.parametrize("sampler", sorted(SAMPLERS))
def test_papers_points_come_first_and_no_point_twice(sampler):
    result = optuna_search(Problem.of(Plain(), WORKLOAD, DEVICE), sampler=sampler, trials=80)
    pairs = list(zip(result.points["t"].tolist(), result.points["u"].tolist(), strict=True))
    assert pairs[0] == (4, 4)
    assert len(set(pairs)) == len(pairs)
    assert result.trials == 80


@pytest.mark.parametrize("sampler", ["tpe", "nsga2"])
@pytest.mark.parametrize("objectives", [("latency",), ("latency", "bram")])
def test_a_sampler_that_learns_spends_repeats_on_variations(sampler, objectives, monkeypatch):
    problem = Problem.of(Buffered(seed=4, most=12, depths=12), WORKLOAD, ROOMY, objectives=objectives)
    result = optuna_search(problem, sampler=sampler, trials=200)
    monkeypatch.setattr("dse.search.sampling._LEARNING", ())
    repeating = optuna_search(problem, sampler=sampler, trials=200)
    assert result.trials == repeating.trials == 200
    assert len(repeating.values) < len(result.values) <= 200


def test_variations_find_the_optimum_of_a_rugged_space():
    problem = Problem.of(Buffered(seed=4, most=12, depths=12), WORKLOAD, ROOMY)
    result = optuna_search(problem, sampler="tpe", trials=300)
    assert front_gap(result.values[result.feasible], exact_search(problem).front) == 0.0


def test_variations_move_one_share_anywhere_or_some_a_little():
    shares = np.full((4000, 3), 0.5)
    varied = _varied(np.random.default_rng(0), shares)
    assert varied.min() >= 0
    assert varied.max() <= 1
    far = np.abs(varied - shares) > 0.3
    assert 0.15 < far.any(axis=1).mean() < 0.25  # half are redrawn, two fifths of those land that far
    assert far.sum(axis=1).max() == 1
    assert (shares == 0.5).all()


def test_the_table_holds_what_the_model_says():
    problem = Problem.of(Buffered(seed=4, need=3), WORKLOAD, DEVICE, objectives=("energy", "bram"))
    table = optuna_search(problem, sampler="random", trials=60).table
    estimate = problem.evaluate({name: table[name].to_numpy() for name in problem.space.names})
    assert np.array_equal(table["objective_energy"], estimate.energy_j)
    assert np.array_equal(table["objective_bram"], estimate.resources["bram36"])
    assert np.array_equal(table["feasible"], estimate.feasible)
    assert np.array_equal(table["violation_a_words"], estimate.violation["a_words"])
    assert not table["feasible"].all()
    assert table["feasible"].any()


def test_samplers_are_told_what_is_violated(monkeypatch):
    import optuna

    told = []
    original = optuna.Study.tell

    def tell(self, trial, values=None, **keywords):
        told.append((dict(trial.constraints), values))
        return original(self, trial, values, **keywords)

    monkeypatch.setattr(optuna.Study, "tell", tell)
    problem = Problem.of(Buffered(seed=4, need=3), WORKLOAD, DEVICE)
    optuna_search(problem, sampler="nsga2", trials=60)
    assert {name for constraints, _ in told for name in constraints} == {"a_words"}
    assert all(v > 0 for constraints, _ in told for v in constraints.values())
    assert all(np.isfinite(values).all() for _, values in told)


def test_the_search_ends_once_every_point_was_seen():
    result = optuna_search(Problem.of(Plain(most=2), WORKLOAD, ROOMY), sampler="random", trials=5000)
    assert len(result.values) == 4
    assert result.trials < 5000


def test_a_space_of_one_point():
    cell = search_cell(Plain(), WORKLOAD, DEVICE, fixed={"t": 3, "u": 5}, trials=5)
    assert cell.best.point == {"t": 3, "u": 5}
    assert (cell.evaluated, cell.proof.gap, cell.lanes) == (1, 0.0, 15)


@pytest.mark.parametrize("method", ["optuna", "exhaustive"])
@pytest.mark.parametrize("objectives", [("latency",), ("latency", "dsp")])
def test_a_cell_names_the_proven_best_and_its_gap(method, objectives):
    cell = search_cell(
        Buffered(seed=4), WORKLOAD, DEVICE, objectives=objectives, method=method, sampler="random", trials=20
    )
    _, values, estimate = enumerated(Buffered(seed=4), objectives=objectives)
    lowest = values[estimate.feasible].min(axis=0)
    assert cell.proof.optimum == tuple(lowest)
    assert cell.best.objectives[0] == lowest[0]
    assert cell.best.feasible
    assert "layers" in cell.best.estimate
    assert cell.pareto[0].point == cell.best.point
    assert cell.proof.kind in ("bound", "exhaustive")
    if method == "exhaustive":
        assert cell.proof.gap == 0.0
        assert {c.origin for c in cell.pareto} == {"proof"}
    elif len(objectives) == 1:
        sampled = cell.points.loc[cell.points["feasible"], "objective_latency"].min()
        assert cell.proof.gap == pytest.approx(sampled / lowest[0] - 1)
    else:
        assert 0 <= cell.proof.gap <= 1


def test_a_gap_is_zero_only_where_nothing_was_missed():
    exact = np.array([[1.0, 5.0], [2.0, 2.0], [5.0, 1.0]])
    assert front_gap(exact, exact) == pytest.approx(0)
    assert 0 < front_gap(exact[:2], exact) < 1
    assert front_gap(exact[:0], exact) == 1.0
    assert front_gap(np.array([[3.0]]), np.array([[2.0]])) == 0.5
    assert front_gap(np.empty((0, 1)), np.array([[2.0]])) == np.inf
    assert front_gap(np.array([[0.0]]), np.array([[0.0]])) == 0.0


def test_without_a_proof_the_gap_is_unknown():
    cell = search_cell(Buffered(seed=4), WORKLOAD, DEVICE, trials=20, prove=False)
    assert cell.proof.kind == "none"
    assert np.isnan(cell.proof.gap)
    assert cell.best.origin == "search"


def test_papers_are_shown_even_where_they_do_not_fit():
    cell = search_cell(Plain(), WORKLOAD, DEVICE, trials=10)
    assert [(dict(p.point), p.feasible, p.origin) for p in cell.papers] == [
        ({"t": 4, "u": 4}, True, "Nobody, 2020"),
        ({"t": 12, "u": 12}, False, "Nobody, 2020"),
    ]


@pytest.mark.parametrize("stage", ["search", "proof"])
def test_interrupted_cells_keep_what_was_found(stage):
    def stop(name, done, total):
        if name == stage:
            raise KeyboardInterrupt

    cell = search_cell(Buffered(seed=4), WORKLOAD, DEVICE, sampler="random", trials=600, on_progress=stop)
    assert cell.proof.kind == "none"
    assert cell.best is not None
    assert cell.evaluated > 0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sampler": "tpee"}, "did you mean 'tpe'"),
        ({"method": "optun"}, "did you mean 'optuna'"),
        ({"trials": 0}, "trials"),
        ({"trials": 2.5}, "trials"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_settings(keywords, message):
    with pytest.raises(InputError, match=message):
        search_cell(Plain(), WORKLOAD, DEVICE, **keywords)


@pytest.mark.parametrize("method", ["optuna", "exhaustive"])
def test_where_nothing_fits_the_shortage_and_a_board_are_named(method):
    cell = search_cell(Buffered(seed=1), WORKLOAD, FEW_DSP, method=method)
    assert cell.best is None
    assert cell.pareto == ()
    assert cell.diagnosis.short == {"dsp": 0.5}
    assert cell.diagnosis.nearest.point == {"t": 1, "a_words": 1, "u": 1, "b_words": 1}
    assert cell.diagnosis.smallest_board == "pynq_z1"
    assert cell.diagnosis.largest_batch is None
    assert cell.proof.kind == "bound"


def test_dram_that_is_too_small_is_named():
    cell = search_cell(Plain(), WORKLOAD, SMALL_DRAM)
    assert list(cell.diagnosis.short) == ["dram_bytes"]
    assert cell.diagnosis.largest_batch == 0


def test_buffers_that_no_point_can_make_large_enough_are_diagnosed():
    cell = search_cell(Buffered(seed=1, depths=2, need=9), WORKLOAD, DEVICE, trials=30)
    assert cell.best is None
    assert cell.diagnosis.short == {"a_words": 3.5}
    assert cell.diagnosis.nearest.point["t"] == 1
    assert cell.diagnosis.nearest.point["a_words"] == 2
    assert cell.diagnosis.smallest_board == ""
    assert cell.proof.kind in ("bound", "exhaustive")
    assert np.isnan(cell.proof.gap)


def test_thinning_keeps_every_second_then_every_fourth():
    problem = Problem.of(Plain(most=12), WORKLOAD, ROOMY)
    kept = Thinned(problem, limit=50)
    for block in problem.space.chunks(7):
        kept(block, problem.evaluate(block))
    every = problem.space.points(0, problem.space.size)
    assert kept.seen == 144
    assert kept.stride == 4
    assert kept.frame["t"].tolist() == every["t"][::4].tolist()
    assert kept.frame["u"].tolist() == every["u"][::4].tolist()
    assert all(column.base is None for part in kept.parts for column in part.values())  # a view keeps its block alive
