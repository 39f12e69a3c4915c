"""The latency indicator and the least time that lanes allow."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.errors import InputError
from dse.offload import Configuration, load_configurations, rank
from dse.offload.indicator import rank_correlation

TABLE_4, _ = load_configurations("hype_table4")
MACS = 2048 * 1024 * 1024


def test_table_4_is_ordered_as_measured() -> None:
    ranked = rank(TABLE_4, MACS, boards=3)
    assert [r.configuration for r in ranked] == TABLE_4
    assert rank_correlation(
        [r.indicator for r in ranked], [r.configuration.measured_s for r in ranked]
    ) == pytest.approx(1)


def test_the_fourth_row_is_impossible_and_no_other() -> None:
    ranked = rank(TABLE_4, MACS, boards=3)
    assert [r.impossible for r in ranked] == [False, False, False, True, False]
    assert ranked[3].least_s == pytest.approx(26.63e-3, rel=1e-3)


def test_the_printed_values_need_the_factor_that_the_equation_lacks() -> None:
    values = [r.indicator * 1024 for r in rank(TABLE_4, MACS)]
    assert values[3:] == pytest.approx([81.81, 142.57], abs=0.005)


CONFIGURATIONS = st.builds(
    Configuration,
    st.just("MatMul"),
    *(st.integers(1, 256) for _ in range(4)),
    st.floats(1e8, 1e9),
    st.floats(1e-6, 1),
)


@given(st.lists(CONFIGURATIONS, min_size=1, max_size=8), st.integers(1, 10**12), st.integers(1, 6))
def test_order_and_possibility(configurations: list[Configuration], macs: int, boards: int) -> None:
    ranked = rank(configurations, macs, boards)
    assert [r.indicator for r in ranked] == sorted(r.indicator for r in ranked)
    assert ranked[0].position == 1
    for r in ranked:
        reach = r.configuration.lanes * r.configuration.f_max_hz * boards * r.configuration.measured_s
        assert r.impossible == (reach < macs) or reach == pytest.approx(macs)


def test_what_cannot_be_ranked_is_refused() -> None:
    other = Configuration("Conv2D", 1, 1, 1, 1, 1e8)
    with pytest.raises(InputError, match="of several operations; got 'Conv2D, MatMul'"):
        rank([TABLE_4[0], other], MACS)
    with pytest.raises(InputError, match="must be whole numbers"):
        rank(TABLE_4, 0)
    assert not rank([other], 1)[0].impossible


def test_correlation_is_spearmans() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 30, 20, 40]) == pytest.approx(0.8)
    assert math.isnan(rank_correlation([1, 2], [1, 2]))
    assert math.isnan(rank_correlation([1, 1, 1], [1, 2, 3]))
