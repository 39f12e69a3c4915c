from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dse.search.pareto import Front, covered, hypervolume, non_dominated


def brute_mask(values):
    return np.array(
        [not np.isnan(row).any() and not any((o <= row).all() and (o < row).any() for o in values) for row in values],
        dtype=bool,
    )


def small_sets(columns, most=40, high=6):
    shape = st.tuples(st.integers(0, most), st.just(columns))
    return hnp.arrays(np.float64, shape, elements=st.integers(0, high).map(float))


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@given(data=st.data())
def test_mask_equals_brute_force(columns, data):
    values = data.draw(small_sets(columns))
    assert np.array_equal(non_dominated(values), brute_mask(values))


def test_rows_with_nan_are_left_out_and_infinite_ones_kept_only_where_nothing_is_better():
    values = np.array([[np.nan, 0.0], [1.0, np.inf], [2.0, 3.0], [2.0, np.inf]])
    assert non_dominated(values).tolist() == [False, True, True, False]
    assert non_dominated(np.full((3, 2), np.nan)).sum() == 0


def test_a_million_rows_of_two_columns_in_seconds():
    values = np.random.default_rng(0).random((1_000_000, 2))
    front = values[non_dominated(values)]
    order = np.argsort(front[:, 0])
    assert np.all(np.diff(front[order, 1]) < 0)


@pytest.mark.parametrize("columns", [3, 4])
def test_large_sets_are_cut_into_blocks_without_loss(columns):
    values = np.random.default_rng(1).integers(0, 60, (5000, columns)).astype(float)
    mask = non_dominated(values)
    front = np.unique(values[mask], axis=0)
    assert covered(front, values).all()
    assert np.array_equal(non_dominated(front), np.ones(len(front), dtype=bool))


@pytest.mark.parametrize("columns", [1, 2, 3])
@given(data=st.data())
@settings(max_examples=40)
def test_streamed_front_equals_the_front_of_everything_whatever_the_chunks(columns, data):
    values = data.draw(small_sets(columns))
    names = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(0, 99)))
    cut = data.draw(st.integers(0, len(values)))
    whole, parts = Front.empty(columns), Front.empty(columns)
    whole.add(values, {"id": names})
    for part in (slice(cut, None), slice(0, cut)):
        parts.add(values[part], {"id": names[part]})
    assert np.array_equal(whole.values, parts.values)
    assert np.array_equal(whole.values, np.unique(values[brute_mask(values)], axis=0))
    for row, chosen in zip(whole.values, whole.payload.get("id", []), strict=True):
        assert chosen == min(names[(values == row).all(axis=1)])
    if len(values):
        assert np.array_equal(whole.payload["id"], parts.payload["id"])


@pytest.mark.parametrize("columns", [1, 2, 3])
@given(data=st.data())
def test_covered_equals_brute_force(columns, data):
    front = Front.empty(columns)
    front.add(data.draw(small_sets(columns)), {})
    rows = data.draw(small_sets(columns))
    expected = [any((f <= row).all() for f in front.values) for row in rows]
    assert covered(front.values, rows).tolist() == expected


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 5])
@given(data=st.data())
@settings(max_examples=40)
def test_hypervolume_equals_counting_unit_cells(columns, data):
    values = data.draw(small_sets(columns, most=10, high=4))
    cells = np.stack(np.meshgrid(*[np.arange(4.0)] * columns, indexing="ij"), axis=-1).reshape(-1, columns)
    counted = sum(any((row <= cell).all() for row in values) for cell in cells)
    assert hypervolume(values, np.full(columns, 4.0)) == pytest.approx(counted)


def test_sampled_hypervolume_is_near_the_exact_one():
    draw = np.random.default_rng(3).random((1500, 4))
    shell = draw / np.linalg.norm(draw, axis=1, keepdims=True)
    front = 1.0 - shell
    front = front[non_dominated(front)]
    assert len(front) > 500
    inside = np.random.default_rng(4).random((20_000, 4))
    share = covered(front, inside).mean()
    assert hypervolume(front, np.ones(4)) == pytest.approx(share * np.prod(1.0), abs=0.01)
