"""The report in a real browser: drawn, quiet, offline, and usable on a narrow screen."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from dse.reports import write_report
from tests.browser.find_chromium import chromium_path
from tests.reports import made_up

NASTY = "<script>document.title='broken'</script><b>net</b>"


@dataclasses.dataclass
class Opened:
    """A page with all its figures drawn, and what it said and asked for."""

    page: Page
    messages: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up result with a deep network added."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    cells = (*made_up.made_up().cells, made_up.deep_cell())
    write_report(made_up.made_up(*cells), path, made_up.BOARDS)
    return path


def open_report(browser: Browser, path: Path, width: int, scheme: str = "light") -> Iterator[Opened]:
    """Open the file and bring every figure into view."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    opened = Opened(page, [], [])
    page.on("console", lambda message: opened.messages.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: opened.messages.append(f"error: {error}"))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for i in range(page.locator(".plot").count()):
        page.locator(".plot").nth(i).evaluate("plot => plot.scrollIntoView()")
        page.wait_for_function("i => document.querySelectorAll('.plot')[i].dataset.drawn", arg=i)
    yield opened
    context.close()


@pytest.fixture(scope="module")
def wide(browser: Browser, report: Path) -> Iterator[Opened]:
    """On a 1280 pixel screen."""
    yield from open_report(browser, report, 1280)


@pytest.fixture(scope="module")
def narrow(browser: Browser, report: Path) -> Iterator[Opened]:
    """On a 400 pixel screen in the dark."""
    yield from open_report(browser, report, 400, "dark")


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def test_quiet_and_offline(wide: Opened, report: Path) -> None:
    assert wide.messages == []
    assert [r for r in wide.requests if not r.startswith(("data:", "blob:"))] == [report.as_uri()]


def test_every_figure_is_drawn(wide: Opened) -> None:
    sizes = wide.page.evaluate(
        """() => [...document.querySelectorAll('.plot')].map(plot => {
            const svg = plot.querySelector('svg.main-svg');
            const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
            const marks = plot.querySelectorAll('.scatterlayer path, .barlayer path').length;
            return [plot.id, box.width, box.height, marks];
        })"""
    )
    assert len(sizes) == 15
    assert [row for row in sizes if min(row[1:]) <= 0] == []


def test_points_know_their_parameters(wide: Opened) -> None:
    point = wide.page.evaluate(
        """() => {
            const traces = document.getElementById('pareto-1').calcdata.map(calculated => calculated[0].trace);
            return [...traces.find(trace => trace.name == 'channel').customdata[0]];
        }"""
    )
    assert len(point) == 2
    assert all(2 <= value <= 64 for value in point)


def test_no_sideways_scrolling(wide: Opened, narrow: Opened) -> None:
    assert overflow(wide.page) <= 0
    assert overflow(narrow.page) <= 0
    assert narrow.messages == []


def test_the_dark_scheme_reaches_the_figures(wide: Opened, narrow: Opened) -> None:
    colour = "getComputedStyle(document.querySelector('#pareto-1 .xtitle')).fill"
    assert wide.page.evaluate(colour) == "rgb(27, 31, 36)"
    assert narrow.page.evaluate(colour) == "rgb(232, 235, 238)"


def test_the_copy_button_gives_the_command(wide: Opened) -> None:
    page = wide.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.locator("#panel-1 button.copy").first
    button.click()
    page.wait_for_function("b => b.textContent !== 'Copy'", arg=button.element_handle())
    selected = page.evaluate("window.getSelection().toString()")
    copied = page.evaluate("navigator.clipboard.readText()")
    expected = (
        "dse estimate -n alexnet -d zcu102 -m channel -b 4 --precision fp32 --reading exact --set tm=48 --set tn=8"
    )
    assert shlex.split(copied) == shlex.split(selected) == expected.split()
    assert copied == expected


def test_a_name_that_is_markup_is_shown_and_not_run(browser: Browser, tmp_path: Path) -> None:
    cell = dataclasses.replace(made_up.channel_cell(), network=NASTY, family=NASTY)
    path = tmp_path / "nasty.html"
    write_report(made_up.made_up(cell), path, made_up.BOARDS)
    for opened in open_report(browser, path, 1280):
        assert opened.messages == []
        assert opened.page.title().startswith(f"Training accelerators for {NASTY}")
        assert NASTY in opened.page.locator("h1").inner_text()
        assert NASTY in (opened.page.locator("#pareto-1 .legendtext").all_text_contents())
        assert opened.page.locator("main b").count() == 0


def test_injected_code_is_refused_by_the_pages_own_policy(wide: Opened) -> None:
    ran = wide.page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.injected = true';
            document.body.append(script);
            return window.injected === true;
        }"""
    )
    wide.messages.clear()
    assert ran is False


def test_a_screenshot(wide: Opened, narrow: Opened, tmp_path: Path) -> None:
    for name, opened in (("wide", wide), ("narrow", narrow)):
        picture = tmp_path / f"{name}.png"
        opened.page.screenshot(path=picture, full_page=True)
        assert picture.stat().st_size > 50_000


def test_a_missing_browser_fails_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSE_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(pytest.fail.Exception, match=r"no Chromium found: install it .* apt-get install"):
        chromium_path()
