"""The exact search on the shipped families: it must agree with plain enumeration wherever that is possible."""

from __future__ import annotations

import numpy as np
import pytest

from dse.devices import load_device
from dse.networks import load_network
from dse.registry import family_named
from dse.search import Problem, exact_search, optuna_search, search_cell
from dse.workload import Workload, precision_named

LENET = Workload(load_network("lenet10"), 8, precision_named("fp32"))
PYNQ = load_device("pynq_z1")
ZCU102 = load_device("zcu102")

PINNED = {
    "batch": {},
    "channel": {"tm": 4, "tn": 4},
    "feature_map": {"tf_rows": 4, "tf_cols": 4, "tm": 1},
}


@pytest.mark.parametrize("objective", ["latency", "energy", "bram"])
@pytest.mark.parametrize("family", sorted(PINNED))
def test_the_proven_optimum_is_that_of_the_enumeration(family, objective):
    problem = Problem.of(family_named(family), LENET, PYNQ, objectives=(objective,), fixed=PINNED[family])
    every = problem.space.points(0, problem.space.size)
    fit = problem.fits(every)
    points = {name: column[fit] for name, column in every.items()}
    assert len(points[problem.space.names[0]]) < 30_000
    estimate = problem.evaluate(points)
    values = np.where(estimate.feasible, estimate.objective(objective), np.inf)
    result = exact_search(problem)
    assert result.front[0, 0] == values.min()
    best = np.flatnonzero(values == values.min())
    columns = (*(points[name][best] for name in reversed(problem.space.names)), estimate.resources["bram36"][best])
    winner = best[np.lexsort((*columns, estimate.resources["dsp"][best]))[0]]
    assert {name: int(c[0]) for name, c in result.points.items()} == {n: int(c[winner]) for n, c in points.items()}


@pytest.mark.parametrize("family", ["batch", "channel"])
def test_no_sample_beats_the_proof_on_a_large_space(family):
    workload = Workload(load_network("alexnet"), 128, precision_named("fp32"))
    problem = Problem.of(family_named(family), workload, ZCU102)
    sampled = optuna_search(problem, sampler="random", trials=300)
    assert sampled.feasible.mean() > 0.5
    assert exact_search(problem).front[0, 0] <= sampled.values[sampled.feasible].min()


def test_a_board_that_is_too_small_is_explained():
    workload = Workload(load_network("vgg16"), 128, precision_named("fp32"))
    cell = search_cell(family_named("channel"), workload, PYNQ)
    assert cell.best is None
    assert list(cell.diagnosis.short) == ["dram_bytes"]
    larger = load_device(cell.diagnosis.smallest_board)
    assert larger.dram_bytes > PYNQ.dram_bytes
    assert search_cell(family_named("channel"), workload, larger, trials=10, prove=False).best is not None
