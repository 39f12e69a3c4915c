"""The inner search is exact: no tiling at all, tried through the public interface, is faster."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.devices import load_device
from dse.errors import InputError
from dse.models.loop_nest import loop_nests
from dse.models.tile_geometry import split_candidates
from dse.models.tiling import TilingProblem
from dse.registry import families
from dse.workload import PHASES
from tests.contract.helpers import one_conv, workload

BOARD = load_device("zcu102")
CHANNEL, FEATURE_MAP = families()["channel"], families()["feature_map"]


def _every_tiling(family, work, point, reading, k):
    """Cycles of nest ``k`` under every (tr, m_on) that fits the buffers."""
    nests, setting = loop_nests(work.network), family.settings[reading]
    problem = TilingProblem.of(family.geometry, work, BOARD, setting, point, nests, k)
    m_tile, m = int(problem.lanes.m[0, 0]), int(problem.nest.m[0, 0])
    grid = np.meshgrid(np.arange(1, problem.nest.r + 1), np.arange(m_tile, -(-m // m_tile) * m_tile + 1, m_tile))
    tr, m_on = (axis.reshape(-1, 1) for axis in grid)
    points = {name: np.repeat(value, len(tr)) for name, value in point.items()}
    solved = TilingProblem.of(family.geometry, work, BOARD, setting, points, nests, k).best({"tr": tr, "m_on": m_on})
    assert solved.cycles.shape == (len(tr),)
    needs = zip(solved.need, ("ifm_words", "ofm_words", "wei_words"), strict=True)
    fits = np.logical_and.reduce([need <= points[name] for need, name in needs])
    return (solved.cycles + solved.update)[fits]


def _compare(family, work, point, reading):
    nests = loop_nests(work.network)
    for k in range(len(nests)):
        tried = _every_tiling(family, work, point, reading, k)
        if tried.size:
            problem = TilingProblem.of(family.geometry, work, BOARD, family.settings[reading], point, nests, k)
            best = problem.best({})
            phase = PHASES[int(nests.phase[k])]
            assert float(best.cycles[0] + best.update[0]) == pytest.approx(tried.min(), abs=1e-6), (reading, k, phase)


shapes = st.fixed_dictionaries(
    {
        "m": st.integers(1, 40), "n": st.integers(1, 40), "size": st.integers(4, 23),
        "kernel": st.sampled_from([1, 3, 5]), "stride": st.integers(1, 2),
    }
)  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(
    shape=shapes, batch=st.integers(1, 9), tm=st.integers(1, 12), tn=st.integers(1, 12), ifm=st.integers(40, 900),
    ofm=st.integers(20, 500), wei=st.integers(30, 600), reading=st.sampled_from(["exact", "prefetch"]),
)  # fmt: skip
def test_channel_tiling_is_the_best_of_all(shape, batch, tm, tn, ifm, ofm, wei, reading) -> None:
    work = workload(one_conv(**shape), batch)
    point = {"tm": tm, "tn": tn, "ifm_words": ifm, "ofm_words": ofm, "wei_words": wei}
    _compare(CHANNEL, work, {k: np.array([v]) for k, v in point.items()}, reading)


@settings(max_examples=15, deadline=None)
@given(shape=shapes, batch=st.integers(1, 6), side=st.sampled_from([2, 4, 8]), wei=st.integers(30, 600))
def test_published_channel_tiling_is_the_best_of_all(shape, batch, side, wei) -> None:
    work = workload(one_conv(**shape), batch)
    point = {"tm": side, "tn": side, "ifm_words": 700, "ofm_words": 300, "wei_words": wei}
    _compare(CHANNEL, work, {k: np.array([v]) for k, v in point.items()}, "published")


@settings(max_examples=15, deadline=None)
@given(
    shape=shapes, batch=st.integers(1, 6), rows=st.integers(1, 6), cols=st.integers(1, 6), tm=st.integers(1, 6),
    ifm=st.integers(20, 400), wei=st.integers(30, 900),
)  # fmt: skip
def test_feature_map_tiling_is_the_best_of_whole_rows_of_lanes(shape, batch, rows, cols, tm, ifm, wei) -> None:
    work = workload(one_conv(**shape), batch)
    values = {"tf_rows": rows, "tf_cols": cols, "tm": tm, "ifm_words": ifm, "ofm_words": 200, "wei_words": wei}
    point = {k: np.array([v]) for k, v in values.items()}
    nests = loop_nests(work.network)
    for k in range(len(nests)):
        problem = TilingProblem.of(FEATURE_MAP.geometry, work, BOARD, FEATURE_MAP.settings["exact"], point, nests, k)
        if problem.nest.is_fc:
            continue
        best, tried = problem.best({}), []
        for chunk in problem.geometry.chunks(problem.lanes, problem.nest):
            for tr in range(rows, problem.nest.r + rows, rows):
                solved = problem.best({"tr": tr, "tn": int(chunk[0, 0])})
                if solved.fits[0]:
                    tried.append(float(solved.cycles[0] + solved.update[0]))
        if tried:
            assert float(best.cycles[0] + best.update[0]) == pytest.approx(min(tried), abs=1e-6)


@given(total=st.integers(1, 300))
def test_split_candidates_are_the_smallest_tile_of_every_count(total: int) -> None:
    found = set(split_candidates(np.array([[total], [300]]))[0].tolist())
    assert found == {-(-total // count) for count in range(1, total + 1)}


def test_tiling_that_does_not_fit_is_infeasible_not_hidden() -> None:
    work = workload("alexnet")
    point = {"tm": 8, "tn": 8, "ifm_words": 512, "ofm_words": 512, "wei_words": 512}
    estimate = CHANNEL.evaluate(work, BOARD, point)
    # conv1 needs 11 rows of 227 pixels for a single row of outputs.
    assert float(estimate.violation["ifm_words"]) == pytest.approx(11 * 227 / 512 - 1)
    assert not estimate.feasible


@pytest.mark.parametrize(
    ("key", "tiles", "message"),
    [
        (("conv1", "forward"), {"tr": 56}, r"conv1\.forward\.tr: is larger than the layer; got 56; allowed: 1 to 55"),
        (("conv1", "input_grad"), {"tr": 1}, "has no such phase on the multiplier array"),
        (("pool1", "forward"), {"tr": 1}, "has no such phase on the multiplier array"),
        (("conv2", "forward"), {"m_on": 0}, r"conv2\.forward\.m_on: must be a whole number >= 1; got 0"),
    ],
)
def test_tiles_that_cannot_be_are_refused(key, tiles, message) -> None:
    point = {"tm": 8, "tn": 8, "ifm_words": 4096, "ofm_words": 1024, "wei_words": 1024}
    with pytest.raises(InputError, match=message):
        CHANNEL.evaluate(workload("alexnet"), BOARD, point, tiling={key: tiles})
