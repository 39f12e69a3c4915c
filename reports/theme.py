"""Looks that all figures share: colours of families and phases, axes, and the HTML a figure is embedded with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dse.reports.text import escape

__all__ = ["GRID", "INK", "MUTED", "PAPER", "PHASE_STYLES", "Style", "base_figure", "embed", "family_styles"]

INK, MUTED, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--grid)", "var(--paper)"
"""Colours that the page's script resolves, so that figures follow the light or dark scheme."""

_OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "pentagon", "hexagon", "triangle-down")

PHASE_STYLES = {
    "forward": ("forward", "#4477AA"),
    "input_grad": ("input gradient", "#66CCEE"),
    "weight_grad": ("weight gradient", "#EE6677"),
    "update": ("update", "#CCBB44"),
}
"""Phase -> (title, colour)."""


@dataclass(frozen=True)
class Style:
    """Colour (Okabe-Ito, safe for colour-blind readers) and marker symbol of a family."""

    colour: str
    symbol: str


def family_styles(families: Iterable[str]) -> dict[str, Style]:
    """One style a family, the same in every figure of a report whatever the order of its cells."""
    return {
        name: Style(_OKABE_ITO[i % len(_OKABE_ITO)], _SYMBOLS[i % len(_SYMBOLS)])
        for i, name in enumerate(sorted(set(families)))
    }


def base_figure(height_px: int) -> go.Figure:
    """An empty figure with the report's fonts, margins, legend and axis lines."""
    axis: dict[str, Any] = {
        "gridcolor": GRID, "linecolor": MUTED, "zerolinecolor": GRID, "automargin": True, "showline": True,
        "ticks": "outside", "tickcolor": MUTED, "ticklen": 4, "title": {"standoff": 12},
    }  # fmt: skip
    return go.Figure(
        layout={
            "template": go.layout.Template(),
            "height": height_px,
            "showlegend": True,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": "system-ui, -apple-system, Segoe UI, Roboto, sans-serif", "size": 13, "color": INK},
            "margin": {"l": 16, "r": 16, "t": 16, "b": 16},
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1.02,
                "yanchor": "bottom",
                "traceorder": "normal",
            },
            "hoverlabel": {"align": "left", "bgcolor": PAPER, "bordercolor": MUTED, "font": {"color": INK}},
            "xaxis": axis,
            "yaxis": axis,
        }
    )


def embed(figure: go.Figure, name: str, caption: str, *, tall: bool = False) -> str:
    """HTML of a figure: its data as JSON, which the page's script draws when it comes into view, and a caption."""
    data = figure.to_json(engine="json").replace("<", "\\u003c")
    plot = (
        f'<div class="plot" id="{escape(name)}" role="img" aria-label="{escape(caption)}"'
        f' style="height:{int(figure.layout.height)}px"></div>'
    )
    return (
        f"<figure><div{' class=tall' if tall else ''}>{plot}</div>"
        f'<script type="application/json" id="{escape(name)}-data">{data}</script>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
