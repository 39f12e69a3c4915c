"""The page of a verification in a real browser: drawn, quiet, offline, and readable on a narrow screen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from dse.reports.verification import write_verification_report
from tests.browser.test_report import NASTY, Opened, open_report, overflow
from tests.reports.test_verification_page import made_up_verification


@pytest.fixture(scope="module", params=[1280, 400])
def opened(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Opened]:
    path = tmp_path_factory.mktemp("verified") / "verify.html"
    content = made_up_verification()
    content["phases"][0]["layer"] = NASTY
    write_verification_report({**content, "network": NASTY}, path)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    yield from open_report(browser, path, request.param)


def test_it_is_quiet_and_offline(opened: Opened) -> None:
    assert opened.messages == []
    assert all(url.startswith(("data:", "blob:", "file:")) for url in opened.requests)
    assert overflow(opened.page) <= 0


def test_a_bar_a_phase_and_its_markers_are_drawn(opened: Opened) -> None:
    assert opened.page.evaluate("document.querySelectorAll('#cycles .barlayer path').length") == 5
    assert opened.page.evaluate("document.querySelectorAll('#cycles .scatterlayer path.point').length") == 5 + 3
    assert opened.page.locator("table.cycles tbody tr").count() == 5


def test_a_name_that_is_markup_is_text(opened: Opened) -> None:
    assert NASTY in opened.page.title()
    assert opened.page.locator("main b").count() == 0
