"""The timeline and the power of a simulated step, drawn."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go

from dse.reports.text import escape, records, seconds, significant, time_unit
from dse.reports.theme import INK, MUTED, PHASE_STYLES, base_figure

__all__ = ["power_figure", "timeline_figure"]

_STYLES = {**PHASE_STYLES, "transfer": ("transfer", "#BBBBBB")}


def timeline_figure(data: pd.DataFrame) -> go.Figure:
    """A lane a unit and link; a bar from start to end, coloured by phase."""
    lanes = list(dict.fromkeys(data["lane"]))
    figure = base_figure(150 + 46 * max(1, len(lanes)))
    factor, unit = time_unit(float(data["end_s"].max()) if len(data) else 1e-3)
    for phase, (title, colour) in _STYLES.items():
        part = data[data["phase"] == phase]
        if not part.empty:
            figure.add_trace(_bars(part, title, colour, factor))
    figure.update_layout(
        barmode="overlay",
        bargap=0.25,
        hovermode="closest",
        xaxis={"title": {"text": f"time ({unit})"}, "rangemode": "tozero", "tickformat": ",~g"},
        yaxis={
            "type": "category", "categoryorder": "array", "categoryarray": lanes, "autorange": "reversed",
            "showgrid": False,
        },
    )  # fmt: skip
    return figure


def _bars(part: pd.DataFrame, title: str, colour: str, factor: float) -> go.Bar:
    return go.Bar(
        base=(part["start_s"] * factor).to_list(),
        x=((part["end_s"] - part["start_s"]) * factor).to_list(),
        y=part["lane"].to_list(),
        orientation="h",
        name=title,
        marker={"color": colour, "line": {"color": "rgba(0,0,0,0.25)", "width": 0.5}},
        customdata=[_hover(row) for row in records(part)],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _hover(row: dict[str, object]) -> str:
    start, end = float(str(row["start_s"])), float(str(row["end_s"]))
    text = f"<b>{escape(row['name'])}</b><br>{seconds(end - start)} from {seconds(start)} on"
    if row["phase"] == "transfer":
        return f"{text}<br>{significant(float(str(row['count_bytes'])) / 1e6)} MB"
    level = float(str(row["level"]))
    slowed = f" at {level:g} of the clock" if level < 1 else ""
    return f"{text}<br>{significant(float(str(row['watts'])))} W{slowed}"


def power_figure(data: pd.DataFrame, cap_w: float) -> go.Figure:
    """Steps of power, the GPUs alone and the hybrid, and the cap where there is one."""
    figure = base_figure(320)
    factor, unit = time_unit(float(data["time_s"].max()) if len(data) else 1e-3)
    for name, colour, dash in (("GPU only", MUTED, "dot"), ("with FPGA", PHASE_STYLES["forward"][1], "solid")):
        part = data[data["plan"] == name]
        if not part.empty:
            figure.add_trace(
                go.Scatter(
                    x=(part["time_s"] * factor).to_list(),
                    y=part["watts"].to_list(),
                    mode="lines",
                    name=name,
                    line={"shape": "hv", "color": colour, "dash": dash, "width": 1.6},
                    hovertemplate=f"%{{y:.1f}} W from %{{x:.4g}} {unit} on<extra>{escape(name)}</extra>",
                )
            )
    if not math.isinf(cap_w):
        figure.add_hline(y=cap_w, line={"color": INK, "dash": "dash", "width": 1.5})
    figure.update_layout(
        xaxis={"title": {"text": f"time ({unit})"}, "rangemode": "tozero", "tickformat": ",~g"},
        yaxis={"title": {"text": "power (W)"}, "rangemode": "tozero"},
    )
    return figure
