"""Families against each other and against their papers: throughput and energy a sample, all in the same model."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from dse.reports.panels import Panel
from dse.reports.text import escape, number, parameters, records, short_origin, significant
from dse.reports.theme import MUTED, Style, base_figure
from dse.reports.winners import best_paper
from dse.results import Candidate, Cell

__all__ = ["MEASURES", "family_caption", "family_data", "family_figure"]

_TALLEST = 2.0

MEASURES = {
    "samples_per_s": "throughput (samples/s)",
    "energy_per_sample_j": "energy per sample (J)",
}
"""Column of ``family_data`` -> axis title."""


def family_data(panel: Panel) -> pd.DataFrame:
    """One row per family and design; columns family, design (``best``, ``paper``), origin, feasible, point, MEASURES.

    An unknown figure is NaN.
    """
    rows = []
    for cell in panel.cells:
        if cell.best is not None:
            rows.append(_row(cell, "best", cell.best))
        paper = best_paper(cell)
        if paper is not None:
            rows.append(_row(cell, "paper", paper))
    columns = ["family", "design", "origin", "feasible", "point", *MEASURES]
    return pd.DataFrame(rows, columns=columns)


def _row(cell: Cell, design: str, candidate: Candidate) -> dict[str, object]:
    estimate = candidate.estimate
    return {
        "family": cell.family,
        "design": design,
        "origin": candidate.origin,
        "feasible": candidate.feasible,
        "point": parameters(candidate.point),
        "samples_per_s": number(estimate["samples_per_s"]),
        "energy_per_sample_j": number(estimate.get("energy_j")) / cell.batch_size,
    }


def _drawn(data: pd.DataFrame, measure: str) -> pd.DataFrame:
    """The rows that a figure can show: known, and not so far above all that fit as to flatten them."""
    known = data[data[measure].notna()]
    highest = known[known["feasible"]][measure].max()
    return known if math.isnan(highest) else known[known["feasible"] | (known[measure] <= _TALLEST * highest)]


def family_caption(panel: Panel, data: pd.DataFrame, measure: str) -> str:
    """What the figure shows and which designs are off its scale."""
    text = f"{panel.title}: {MEASURES[measure]}. Both designs of a family are estimated by the same model."
    known = data[data[measure].notna()]
    for row in records(known[~known.index.isin(_drawn(data, measure).index)]):
        value = significant(row[measure], 3)
        design = f"{short_origin(row['origin'])}, {row['point']}"
        text += f" {design}, does not fit {panel.device} and is off the scale ({value})."
    return text


def family_figure(data: pd.DataFrame, measure: str, styles: Mapping[str, Style]) -> go.Figure:
    """Grouped bars: the best design filled, the paper's hatched, grey where it does not fit the board."""
    drawn = _drawn(data, measure)
    figure = base_figure(340)
    figure.update_layout(
        barmode="group",
        bargap=0.35,
        bargroupgap=0.08,
        xaxis={"type": "category", "title": {"text": "family"}, "showgrid": False},
        yaxis={"title": {"text": MEASURES[measure]}, "rangemode": "tozero", "tickformat": ",~g"},
    )
    for design, title in (("best", "best found"), ("paper", "paper's design (grey: does not fit)")):
        part = drawn[drawn["design"] == design]
        if part.empty:
            continue
        fills = [styles[f].colour if fits else MUTED for f, fits in part[["family", "feasible"]].to_numpy()]
        figure.add_trace(
            go.Bar(
                x=[escape(f) for f in part["family"]],
                y=part[measure].to_list(),
                name=title,
                marker={
                    "color": fills,
                    "line": {"color": fills, "width": 1.5},
                    "pattern": {"shape": "" if design == "best" else "/", "fillmode": "replace", "size": 7},
                },
                text=[significant(v, 3) for v in part[measure]],
                textposition="outside",
                cliponaxis=False,
                customdata=[
                    f"<b>{escape(r['family'])}</b>, {escape(r['origin'])}{'' if r['feasible'] else ' (does not fit)'}"
                    f"<br>{escape(r['point'])}<br>{significant(r[measure])}"
                    for r in records(part)
                ],
                hovertemplate=f"%{{customdata}} {escape(MEASURES[measure].split('(')[1].rstrip(')'))}<extra></extra>",
            )
        )
    return figure
