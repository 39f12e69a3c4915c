"""The report of a simulated step: its data, and the page in a real browser."""

from __future__ import annotations

import dataclasses
import html
import math
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from dse import Workload, load_network
from dse.offload import Platform, Simulation, load_profile, simulate
from dse.offload.gpu_model import load_gpu
from dse.offload.scenario import training_scenario
from dse.reports.offload import comparison_data, render_offload, write_offload_report
from dse.reports.offload_figure import power_figure, timeline_figure
from dse.reports.offload_timeline import power_data, timeline_data
from dse.workload import precision_named
from tests.browser.conftest import browser
from tests.browser.test_report import Opened, open_report, overflow

__all__ = ["browser"]

NASTY = "<script>document.title='broken'</script><b>net</b>"


@pytest.fixture(scope="module")
def simulation() -> Simulation:
    work = Workload(load_network("alexnet"), 64, precision_named("fp32"))
    scenario = training_scenario(work, load_gpu("v100"), load_profile("hype_table1"))
    machine = Platform(fpga_idle_w=13.0, cap_w=320.0, dvfs_levels=(1.0, 0.8))
    return simulate(scenario.graph, machine, "cap", evaluations=40)


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


@pytest.fixture(scope="module")
def opened(browser: Browser, simulation: Simulation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    path = tmp_path_factory.mktemp("offload") / "timeline.html"
    nasty = dataclasses.replace(simulation, graph=dataclasses.replace(simulation.graph, name=NASTY))
    write_offload_report(nasty, path, {"profile": NASTY})
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    yield from open_report(browser, path, 1000)


def test_a_browser_draws_it_quietly_offline_and_runs_no_names(opened: Opened) -> None:
    assert opened.messages == []
    assert all(url.startswith(("data:", "blob:", "file:")) for url in opened.requests)
    bars = opened.page.evaluate("document.querySelectorAll('#timeline .barlayer path').length")
    assert bars > 50
    assert opened.page.evaluate("document.querySelectorAll('#power .scatterlayer path.js-line').length") == 2
    assert opened.page.title().startswith(NASTY)
    assert opened.page.locator("main b").count() == 0
    assert overflow(opened.page) <= 0
