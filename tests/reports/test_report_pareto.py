"""The trade-off figure's data: axes, front, marks, thinning."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from dse.reports.axes import choose_axes
from dse.reports.panels import Panel, make_panels
from dse.reports.pareto import pareto_data, pareto_mask, thin
from dse.reports.pareto_figure import pareto_caption, pareto_figure
from dse.reports.theme import family_styles
from dse.results import Cell
from tests.reports import made_up


def one(cell: Cell) -> Panel:
    """The panel of one cell."""
    return make_panels(made_up.made_up(cell), made_up.BOARDS)[0]


def test_the_mask_keeps_what_nothing_dominates() -> None:
    x = np.array([1.0, 2.0, 2.0, 3.0, 3.0, 4.0])
    y = np.array([9.0, 5.0, 4.0, 4.0, 6.0, 1.0])
    assert pareto_mask(x, y).tolist() == [True, False, True, False, False, True]
    assert pareto_mask(np.array([1.0, 1.0]), np.array([2.0, 2.0])).tolist() == [True, False]
    assert pareto_mask(np.array([]), np.array([])).tolist() == []


def test_axes_follow_the_objectives_and_what_is_known() -> None:
    channel = made_up.channel_cell()
    assert [a.objective for a in choose_axes([channel])] == ["latency", "dsp"]
    two = dataclasses.replace(channel, objectives=("energy", "bram"))
    assert [a.objective for a in choose_axes([two])] == ["energy", "bram"]
    dsp_only = dataclasses.replace(channel, objectives=("dsp",))
    assert [a.objective for a in choose_axes([dsp_only])] == ["latency", "dsp"], "latency is always on x"
    mute = dataclasses.replace(made_up.channel_cell("mute", None, papers=()), objectives=("latency", "energy"))
    assert [a.objective for a in choose_axes([mute])] == ["latency", "dsp"], "energy is not known"
    assert choose_axes([channel])[0].unit == "ms"
    assert [a.objective for a in choose_axes([])] == ["latency", "dsp"]


def test_the_front_joins_evaluated_and_proven_points_of_all_families(panels: tuple[Panel, ...]) -> None:
    data = pareto_data(panels[0], 5000)
    assert data.x.label == "iteration time (ms)"
    first = data.front.iloc[0]
    assert (first["family"], first["parameters"]) == ("channel", "tm=48, tn=8")
    assert first["x"] == pytest.approx(429.0, abs=0.05)
    assert first["y"] == 1920
    assert data.front["x"].is_monotonic_increasing
    assert data.front["y"].is_monotonic_decreasing
    assert (data.front["y"] <= 2394).all(), "infeasible points are no part of the front"
    assert set(data.front["family"]) == {"channel", "batch"}


def test_the_papers_designs_and_the_optimum_are_marked(panels: tuple[Panel, ...]) -> None:
    marks = [(m.kind, m.family, m.label, m.feasible) for m in pareto_data(panels[0], 5000).marks]
    assert marks == [
        ("optimum", "channel", "channel", True),
        ("paper", "channel", "EF-Train, scaled", False),
        ("paper", "channel", "EF-Train", True),
        ("best", "batch", "batch", True),
        ("paper", "batch", "DarkFPGA", False),
    ]


def test_thinning_keeps_the_front_and_the_order_and_is_repeatable() -> None:
    points = made_up.cloud(("tm", "tn"), 5, 20_000)
    panel = one(dataclasses.replace(made_up.channel_cell(), points=points))
    whole, thinned = pareto_data(panel, 10**6), pareto_data(panel, 1000)
    assert len(thinned.clouds[0].frame) == 1000
    assert thinned.clouds[0].total == len(whole.clouds[0].frame) > 5000
    pd.testing.assert_frame_equal(thinned.front, whole.front)
    fits = whole.clouds[0].frame[whole.clouds[0].frame["feasible"]]
    on_front = fits[pareto_mask(fits["x"].to_numpy(), fits["y"].to_numpy())]
    assert set(on_front.index) <= set(thinned.clouds[0].frame.index)
    pd.testing.assert_frame_equal(pareto_data(panel, 1000).clouds[0].frame, thinned.clouds[0].frame)
    assert f"1,000 of {thinned.clouds[0].total:,} points are drawn" in pareto_caption(thinned, panel)
    assert len(thin(whole.clouds[0].frame, 10)) >= len(on_front)


def test_points_without_a_known_figure_are_counted() -> None:
    points = made_up.cloud(("tm", "tn"), 1, 50)
    points.loc[:9, "iteration_s"] = np.nan
    panel = one(dataclasses.replace(made_up.channel_cell(), points=points))
    data = pareto_data(panel, 5000)
    assert data.clouds[0].unknown == 10
    assert "channel: 10 points have no known figure and are not drawn." in pareto_caption(data, panel)


def test_cells_without_points_or_with_objective_columns_only() -> None:
    channel = made_up.channel_cell()
    bare = one(dataclasses.replace(channel, points=pd.DataFrame()))
    assert len(pareto_data(bare, 5000).front) == 2, "the best and the small one"
    named = channel.points.rename(columns={"iteration_s": "objective_latency"})
    data = pareto_data(one(dataclasses.replace(channel, points=named)), 5000)
    assert len(data.clouds[0].frame) > 400


def test_axes_are_logarithmic_unless_something_is_zero(panels: tuple[Panel, ...]) -> None:
    data = pareto_data(panels[0], 5000)
    styles = family_styles(c.family for c in panels[0].cells)
    assert data.log == (True, True)
    figure = pareto_figure(data, panels[0], styles)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert any("2,394 usable DSP" in a.text for a in figure.layout.annotations)
    points = made_up.cloud(("tm", "tn"), 1, 50)
    points.loc[0, "dsp"] = 0
    zero = one(dataclasses.replace(made_up.channel_cell(), points=points))
    assert pareto_data(zero, 5000).log == (True, False)


def test_the_first_view_leaves_very_slow_points_out_but_no_mark(panels: tuple[Panel, ...]) -> None:
    data = pareto_data(panels[0], 5000)
    lowest, highest = data.view[:2]
    assert highest <= 30 * data.front["x"].min()
    assert data.outside == sum(int((c.frame["x"] > 30 * data.front["x"].min()).sum()) for c in data.clouds) + int(
        (data.front["x"] > 30 * data.front["x"].min()).sum()
    )
    assert all(lowest <= mark.x <= highest for mark in data.marks)
    assert "slower points are off the right edge" in pareto_caption(data, panels[0])


def test_a_family_looks_the_same_whatever_the_order() -> None:
    assert family_styles(["a", "b"]) == family_styles(["b", "a", "b"])
    assert len({s.colour for s in family_styles("abcdefg").values()}) == 7
