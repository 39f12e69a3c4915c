"""The timeline of a simulated step in a real browser: drawn, quiet, offline, and its names are only text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from dse.reports.offload import write_offload_report
from tests.browser.test_report import NASTY, Opened, open_report, overflow
from tests.offload.made_graphs import simulated_step


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    path = tmp_path_factory.mktemp("offload") / "timeline.html"
    simulation = simulated_step()
    nasty = dataclasses.replace(simulation, graph=dataclasses.replace(simulation.graph, name=NASTY))
    write_offload_report(nasty, path, {"profile": NASTY})
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    yield from open_report(browser, path, 1000)


def test_it_is_quiet_and_offline(opened: Opened) -> None:
    assert opened.messages == []
    assert all(url.startswith(("data:", "blob:", "file:")) for url in opened.requests)
    assert overflow(opened.page) <= 0


def test_bars_and_lines_are_drawn(opened: Opened) -> None:
    assert opened.page.evaluate("document.querySelectorAll('#timeline .barlayer path').length") > 50
    assert opened.page.evaluate("document.querySelectorAll('#power .scatterlayer path.js-line').length") == 2


def test_a_name_that_is_markup_is_text(opened: Opened) -> None:
    assert opened.page.title().startswith(NASTY)
    assert opened.page.locator("main b").count() == 0
