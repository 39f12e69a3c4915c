"""The page: complete, the same every time, and nothing in it that a name could break."""

from __future__ import annotations

import dataclasses
import html
import re
from pathlib import Path

import pytest

from dse.reports import render, write_report
from dse.results import ResultSet
from tests.reports import made_up

NASTY = "</script><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;"


def own(page: str) -> str:
    """The page without plotly.js."""
    start = page.index("<script>/**")
    return page[:start] + page[page.index("</script>", start) :]


@pytest.fixture(scope="module")
def page() -> str:
    """The made-up result's page without plotly.js."""
    return own(render(made_up.made_up(), made_up.BOARDS))


def test_the_same_result_gives_the_same_bytes(result: ResultSet, tmp_path: Path) -> None:
    paths = [tmp_path / "a.html", tmp_path / "b.html"]
    for path in paths:
        write_report(result, path, made_up.BOARDS)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.html"]
    assert paths[0].stat().st_size < 6_000_000


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(result: ResultSet, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="absent"):
        write_report(result, tmp_path / "absent" / "report.html", made_up.BOARDS)
    assert list(tmp_path.iterdir()) == []


def test_everything_is_on_the_page(page: str) -> None:
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    for expected in (
        "Training accelerators for alexnet on zcu102, mute", "revision 0123abc", "2026-01-02T03:04:05Z", "optuna (tpe)",
        "dse sweep -n alexnet -d zcu102", "61.54 GOPS", "1,920 (76.2\N{NO-BREAK SPACE}% of 2,520)",
        "feature_map: nothing fits zcu102",
        "1.66 times as fast as tm=16, tn=16 (EF-Train)", "0 (board has none)", "None was measured on silicon",
        "dse estimate -n alexnet -d zcu102 -m batch -b 4 --precision fp32 --reading exact --set tb=4 --set ti=96",
        "energy per sample (J): not published for mute.",
    ):  # fmt: skip
        assert expected in text, expected


def test_unknown_power_is_never_zero(page: str) -> None:
    mute = page[page.index('id="panel-2"') :]
    assert '<td class="best">not published</td>' in mute
    for row in ("power", "energy per iteration", "energy per sample"):
        cell = re.search(rf'<th scope="row">{row}</th><td[^>]*>([^<]*)</td>', mute)
        assert cell is not None
        assert cell.group(1) == "not published"


def test_ids_are_unique_and_every_figure_has_data_and_caption(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    plots = re.findall(r'class="plot" id="([^"]+)"', page)
    assert len(plots) == page.count("<figcaption>") == 10
    assert {f"{name}-data" for name in plots} <= set(ids)


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    assert not re.findall(r"<(?:script|link|img|iframe|object)[^>]*\b(?:src|href)=(?!\"data:)", page)
    assert "url(" not in page
    assert "@import" not in page


def test_names_cannot_become_markup() -> None:
    channel = made_up.channel_cell()
    assert channel.best is not None
    assert channel.diagnosis is None
    layers = [dict(channel.best.estimate["layers"][0], name=NASTY, op=NASTY), *channel.best.estimate["layers"][1:]]
    best = dataclasses.replace(
        channel.best, point={NASTY: 1}, origin=NASTY, estimate={**channel.best.estimate, "layers": layers}
    )
    papers = tuple(dataclasses.replace(p, origin=NASTY) for p in channel.papers)
    names = {"network": NASTY, "device": NASTY, "family": NASTY, "precision": NASTY, "reading": NASTY}
    nothing = dataclasses.replace(made_up.infeasible_cell(), **{**names, "family": f"2{NASTY}"})
    cell = dataclasses.replace(channel, best=best, papers=papers, sampler=NASTY, **names)
    run = {"version": NASTY, "git_revision": NASTY, "created": NASTY, "argv": (NASTY,), "packages": {NASTY: NASTY}}
    page = own(render(made_up.made_up(cell, nothing, **run)))
    clean = own(render(made_up.made_up(channel, made_up.infeasible_cell()), made_up.BOARDS))
    assert "<img" not in page
    assert "alert(" in page, "the text itself is shown"
    assert page.count("<script>") == clean.count("<script>")
    assert not re.search(r"<[^>]*onerror=\"", page)


def test_an_empty_and_an_interrupted_result() -> None:
    empty = own(render(ResultSet((), made_up.run_info())))
    assert "The sweep has no cells." in empty
    stopped = own(render(made_up.made_up(made_up.infeasible_cell(), interrupted=True), made_up.BOARDS))
    assert "The sweep was interrupted" in stopped
    assert "Nothing fits" in stopped


def test_a_board_that_is_not_at_hand_has_no_shares() -> None:
    page = own(render(made_up.made_up(made_up.channel_cell("elsewhere"))))
    assert "description of elsewhere is not at hand" in page
    assert '<td class="best">1,920</td>' in page
