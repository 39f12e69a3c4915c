"""The one-line form of offloading against what it must give at its ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.offload import first_order

SHARES = st.floats(0, 1)


@given(share=SHARES, contention=st.floats(1, 3), ratio=st.floats(0.1, 3))
def test_ratios_hang_together(share: float, contention: float, ratio: float) -> None:
    one = first_order(share, speed_ratio=ratio, contention=contention)
    assert one.efficiency == pytest.approx(one.throughput / one.power)
    assert one.energy == pytest.approx(1 / one.efficiency)


def test_nothing_offloaded_changes_nothing_but_idle_power() -> None:
    assert first_order(0).efficiency == 1
    assert first_order(0, fpga_idle_w=27).power == pytest.approx(1.1)


def test_everything_offloaded_is_the_fpga_beside_an_idle_gpu() -> None:
    one = first_order(1)
    assert one.throughput == pytest.approx(1 / 0.8)
    assert one.power == pytest.approx(99 / 270)


@given(share=st.floats(0.01, 1), idle=st.floats(1, 100))
def test_an_idle_fpga_costs_energy(share: float, idle: float) -> None:
    assert first_order(share, fpga_idle_w=idle).energy >= first_order(share).energy
