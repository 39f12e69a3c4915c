"""A real browser; where there is none the tests fail and say how to get one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.find_chromium import chromium_path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without background traffic."""
    path = chromium_path()
    flags = ["--no-sandbox", "--disable-background-networking", "--disable-gpu", "--no-first-run"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=flags)
        yield running
        running.close()
