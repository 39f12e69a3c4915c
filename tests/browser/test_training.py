"""The page of a training run in a real browser: drawn, quiet, offline, and its names are only text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from dse.reports.training import write_training_report
from tests.browser.test_report import NASTY, Opened, open_report, overflow
from tests.reports.made_up_training import made_up_training


@pytest.fixture(scope="module", params=[1280, 400])
def opened(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Opened]:
    path = tmp_path_factory.mktemp("trained") / "train.html"
    write_training_report(made_up_training(NASTY), path)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    yield from open_report(browser, path, request.param)


def test_it_is_quiet_and_offline(opened: Opened) -> None:
    assert opened.messages == []
    assert all(url.startswith(("data:", "blob:", "file:")) for url in opened.requests)
    assert overflow(opened.page) <= 0


def test_the_loss_and_a_bar_a_phase_of_a_layer_are_drawn(opened: Opened) -> None:
    parts = len(made_up_training().layers())
    assert opened.page.evaluate("document.querySelectorAll('#loss .scatterlayer path.js-line').length") == 1
    assert opened.page.evaluate("document.querySelectorAll('#cycles .barlayer path').length") == parts
    assert opened.page.locator(".wide tbody tr").count() == parts


def test_a_name_that_is_markup_is_text(opened: Opened) -> None:
    assert NASTY in opened.page.title()
    assert NASTY in opened.page.locator("h2", has_text="<b>net</b>").first.inner_text()
    assert opened.page.locator("main b").count() == 0
