"""A verification on a page, alone and in the report of its sweep."""

from __future__ import annotations

import copy
import html
import math
import re
from typing import Any

import pytest

from dse.reports import render
from dse.reports.verification import (
    render_verification,
    verification_data,
    verification_figure,
    verification_sentence,
)
from tests.reports import made_up
from tests.reports.test_report_page import NASTY, own

PHASES = ("forward", "input_grad", "weight_grad")


def made_up_verification() -> dict[str, Any]:
    """Two layers: predictions exact and 10 % low, the model 20 % high or unknown, one phase that differs."""
    rows: list[dict[str, Any]] = []
    for layer in ("conv1", "conv2"):
        for phase in PHASES[layer == "conv1" :]:
            cycles = 1000 * (len(rows) + 1)
            rows.append(
                {
                    "layer": layer,
                    "phase": phase,
                    "shape": {
                        "batch": 4, "n": 3, "m": 8, "size": [9, 7], "groups": 1, "kernel": [3, 5], "stride": [1, 1],
                        "padding": [1, 1, 1, 1],
                    },
                    "scaled": layer == "conv2",
                    "exact": len(rows) != 3,
                    "difference": "" if len(rows) != 3 else "address 0x10, 3 bytes differ",
                    "simulated_cycles": cycles,
                    "lane_cycles": cycles // 2,
                    "predicted_cycles": cycles if layer == "conv1" else cycles * 9 // 10,
                    "model_cycles": 1.2 * cycles if phase != "weight_grad" else None,
                    "mac_utilisation": 0.25,
                    "read_bytes": 64,
                    "written_bytes": 64,
                }
            )  # fmt: skip
    task = {"network": "alexnet", "device": "zcu102", "batch_size": 4, "precision": "fp32", "family": "channel"}
    return {
        **task, "title": "made up", "design_sha256": "", "point": {"tm": 48, "tn": 8}, "lanes": 384, "exact": False,
        "interrupted": False, "seed": 1, "max_cycles": 5000, "phases": rows,
        "dram": {"latency_cycles": 9, "stall": 0.25, "bytes_per_kcycle": 0},
    }  # fmt: skip


def words(page: str) -> str:
    """The text of a page."""
    return html.unescape(re.sub(r"<[^>]+>", " ", own(page)))


def test_rows_say_how_far_predictions_are_off() -> None:
    data = verification_data(made_up_verification())
    assert list(data["phase"]) == [*PHASES[1:], *PHASES]
    assert list(data["predicted_off"]) == pytest.approx([0, 0, -0.1, -0.1, -0.1])
    assert data["model_off"].to_list()[0] == pytest.approx(0.2)
    assert math.isnan(data["model_off"].to_list()[1])
    assert list(data["difference"] != "") == [False, False, False, True, False]
    assert data["size"].to_list()[0] == "4 x 3 to 8 channels, 9 x 7, kernel 3 x 5"


def test_the_figure_has_a_bar_a_phase_and_no_marker_where_nothing_is_known() -> None:
    figure = verification_figure(verification_data(made_up_verification()))
    traces = {trace.name: trace for trace in figure.data}
    assert list(traces["forward, simulated"].x) == [3000]
    assert list(traces["weight gradient, simulated"].y) == ["conv1 · weight gradient", "conv2 · weight gradient"]
    assert list(traces["predicted for the RTL"].x) == [1000, 2000, 2700, 3600, 4500]
    assert list(traces["family's model"].x) == [1200, None, 3600, 4800, None]


def test_the_page_has_everything_and_is_the_same_every_time() -> None:
    content = made_up_verification()
    page = render_verification(content)
    assert page == render_verification(copy.deepcopy(content))
    for expected in (
        "Simulated RTL: alexnet on zcu102, channel", "channel: tm=48, tn=8", "latency 9 cycles, stalls 25",
        "4 of 5 phases bit-exact with the golden model; 15,000 cycles simulated", "conv2 input_grad: address 0x10",
        "(scaled)", "Nothing was measured on silicon",
    ):  # fmt: skip
        assert expected in words(page), expected
    assert "interrupted" not in words(page)
    stopped = words(render_verification({**content, "interrupted": True, "phases": []}))
    assert "The verification was interrupted" in stopped
    assert "No phase was simulated." in stopped


def test_all_is_well_where_all_is_exact() -> None:
    content = made_up_verification()
    rows = [{**row, "difference": "", "exact": True} for row in content["phases"][:2]]
    sentence = verification_sentence({**content, "phases": rows}).replace("\N{NO-BREAK SPACE}", " ")
    assert sentence == (
        "2 of 2 phases bit-exact with the golden model; 3,000 cycles simulated, "
        "off by: predicted +0.00 %, model unknown."
    )


def test_the_sweeps_report_shows_it_in_the_panel_of_its_task() -> None:
    content = made_up_verification()
    result = made_up.made_up()
    page = render(result, made_up.BOARDS, [content, {**content, "batch_size": 5}])
    assert page.count("<h3>Simulated RTL</h3>") == 1
    assert page.index("<h3>Simulated RTL</h3>") < page.index('id="panel-2"')
    assert "channel with tm=48, tn=8: 4 of 5 phases bit-exact" in words(page)
    assert "Simulated RTL" not in render(result, made_up.BOARDS)


def test_names_cannot_become_markup() -> None:
    content = made_up_verification()
    row = {**content["phases"][0], "layer": NASTY, "difference": NASTY}
    page = own(render_verification({**content, "network": NASTY, "family": NASTY, "phases": [row]}))
    assert "<img" not in page
    assert page.count("<script>") == own(render_verification(content)).count("<script>")
