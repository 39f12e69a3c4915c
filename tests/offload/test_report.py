"""The report of a simulated step: its data and its page (tests/browser has it in a real browser)."""

from __future__ import annotations

import html
import math
import re

import pytest

from dse.offload import Platform, Simulation, simulate
from dse.reports.offload import comparison_data, render_offload
from dse.reports.offload_figure import power_figure, timeline_figure
from dse.reports.offload_timeline import power_data, timeline_data
from tests.offload.made_graphs import simulated_step


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    return simulated_step()


def test_the_timeline_has_every_run_and_transfer(simulation: Simulation) -> None:
    data = timeline_data(simulation)
    plan = simulation.plan
    assert plan.schedule is not None
    assert plan.baseline is not None
    assert plan.schedule.transfers
    lanes = list(dict.fromkeys(data["lane"]))
    assert lanes[0] == "gpu0, GPU only"
    assert {"gpu0", "fpga0", "link to fpga0", "link to gpu0"} <= set(lanes)
    busy = data[data["lane"] == "fpga0"]
    assert (busy["end_s"] - busy["start_s"]).sum() == pytest.approx(plan.schedule.busy_s("fpga0"))
    assert data["end_s"].max() == pytest.approx(max(plan.schedule.seconds, plan.baseline.seconds))
    assert set(busy["name"]) == plan.schedule.offloaded


def test_power_integrates_to_the_energy(simulation: Simulation) -> None:
    data = power_data(simulation)
    for name, schedule in (("GPU only", simulation.plan.baseline), ("with FPGA", simulation.plan.schedule)):
        assert schedule is not None
        part = data[data["plan"] == name]
        spans = part["time_s"].diff().shift(-1).fillna(0.0)
        assert (part["watts"] * spans).sum() == pytest.approx(schedule.energy_j)


def test_the_comparison_is_the_plans(simulation: Simulation) -> None:
    data = comparison_data(simulation)
    ratio = data.loc["gpu_only", "seconds"] / data.loc["hybrid", "seconds"]
    assert ratio == pytest.approx(simulation.plan.throughput_ratio)


def test_figures_draw_what_the_data_hold(simulation: Simulation) -> None:
    data = timeline_data(simulation)
    figure = timeline_figure(data)
    assert sum(len(trace.x) for trace in figure.data) == len(data)
    assert len(power_figure(power_data(simulation), 320.0).layout.shapes) == 1
    assert len(power_figure(power_data(simulation), math.inf).layout.shapes) == 0


def test_the_page_says_what_it_rests_on_and_is_the_same_every_time(simulation: Simulation) -> None:
    page = render_offload(simulation, {"GPU times": "made up"}, ["dse", "offload"])
    assert page == render_offload(simulation, {"GPU times": "made up"}, ["dse", "offload"])
    text = html.unescape(re.sub(r"<[^>]+>", " ", page[page.index("<body>") : page.index("<footer>")]))
    for expected in ("made up", "320 W", "12 GB/s", "None of it was measured", "dse offload", "operations go to FPGAs"):
        assert expected in text


def test_a_cap_that_nothing_meets_is_said(simulation: Simulation) -> None:
    impossible = simulate(simulation.graph, Platform(cap_w=45.0), "cap", evaluations=5)
    assert "No assignment of operations stays within 45 W." in render_offload(impossible, {})
