"""What the best designs take of the board."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from dse.reports.panels import Panel
from dse.reports.text import escape, percent, quantity, records, resource_title
from dse.reports.theme import INK, MUTED, Style, base_figure
from dse.reports.winners import resource_uses

__all__ = ["resource_data", "resource_figure"]


def resource_data(panel: Panel) -> pd.DataFrame:
    """One row per resource and family that fits: family, resource, used, capacity, usable, share; unknown is NaN."""
    rows = [
        (cell.family, name, use.used, use.capacity, use.usable, use.share)
        for cell in panel.cells
        if cell.best is not None
        for name, use in resource_uses(panel, cell.best.estimate).items()
    ]
    return pd.DataFrame(rows, columns=["family", "resource", "used", "capacity", "usable", "share"])


def resource_figure(data: pd.DataFrame, styles: Mapping[str, Style]) -> go.Figure:
    """Grouped bars in percent of the board, a tick at the share a design may use, a line at 100 %."""
    figure = base_figure(360)
    data = data[data["share"].notna()]
    for family, part in data.groupby("family", sort=False):
        figure.add_trace(
            go.Bar(
                x=[resource_title(name) for name in part["resource"]],
                y=(part["share"] * 100).to_list(),
                name=escape(family),
                marker={"color": styles[str(family)].colour},
                text=[f"{100 * share:.0f}" if share >= 0.01 else "<1" * (share > 0) or "0" for share in part["share"]],
                textposition="outside",
                cliponaxis=False,
                customdata=[
                    f"<b>{escape(family)}</b><br>{quantity(float(round(r['used'], 1)))} of {quantity(r['capacity'])} "
                    f"{resource_title(r['resource'])}: {percent(r['share'])}"
                    f"<br>a design may use {percent(r['usable'], 0)}"
                    for r in records(part)
                ],
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
    limits = data.drop_duplicates("resource")
    for place, usable in enumerate(limits["usable"]):
        figure.add_shape(
            type="line", x0=place - 0.4, x1=place + 0.4, y0=100 * usable, y1=100 * usable, name="usable share",
            line={"color": MUTED, "width": 2}, showlegend=place == 0, legendgroup="usable share",
        )  # fmt: skip
    figure.add_hline(100, line={"color": INK, "width": 1.5, "dash": "dash"})
    top = max(108.0, 108 * float(data["share"].max())) if not data.empty else 108.0
    figure.update_layout(
        barmode="group",
        bargap=0.3,
        xaxis={"type": "category", "title": {"text": "resource"}, "showgrid": False},
        yaxis={"title": {"text": "share of the board (%)"}, "range": [0, top]},
    )
    return figure
