"""The trade-off of a panel as a scatter figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dse.reports.axes import Axis
from dse.reports.panels import Panel
from dse.reports.pareto import Cloud, Mark, ParetoData
from dse.reports.text import escape, quantity, resource_title, short_origin
from dse.reports.theme import INK, MUTED, PAPER, Style, base_figure

__all__ = ["pareto_caption", "pareto_figure"]


def pareto_figure(data: ParetoData, panel: Panel, styles: Mapping[str, Style]) -> go.Figure:
    """Points by family, hollow grey where they do not fit; the front; papers' designs as stars; optima as rings."""
    figure = base_figure(560)
    first = True
    for cloud in data.clouds:
        figure.add_trace(_points(data, cloud, styles[cloud.family], fits=False, legend=first))
        first = False
    for cloud in data.clouds:
        figure.add_trace(_points(data, cloud, styles[cloud.family], fits=True, legend=True))
    figure.add_trace(_front(data))
    _add_marks(figure, data, styles)
    _add_labels(figure, data)
    views = (data.view[:2], data.view[2:])
    for axis, of, log, view in zip(("xaxis", "yaxis"), (data.x, data.y), data.log, views, strict=True):
        figure.update_layout({axis: _axis(of, log, view, data.outside > 0)})
        _add_limit(figure, axis, of, log, panel)
    return figure


def pareto_caption(data: ParetoData, panel: Panel) -> str:
    """What the figure shows and what it leaves out."""
    text = (
        f"{panel.title}: {data.y.title} against {data.x.title}. Down and left is better. Filled points fit the board, "
        "hollow grey ones do not; the line is the front of all points that fit; stars are the papers' own designs."
    )
    for cloud in data.clouds:
        if len(cloud.frame) < cloud.total:
            text += f" {cloud.family}: {len(cloud.frame):,} of {cloud.total:,} points are drawn."
        if cloud.unknown:
            text += f" {cloud.family}: {cloud.unknown:,} points have no known figure and are not drawn."
    if data.outside and all(data.log):
        text += f" {data.outside:,} slower points are off the right edge: double-click, or autoscale, shows them."
    return text


def _hover(data: ParetoData, head: str) -> str:
    return (
        f"{head}<br>{data.x.title}: %{{x:,.4~g}} {data.x.unit}"
        f"<br>{data.y.title}: %{{y:,.4~g}} {data.y.unit}<extra></extra>"
    )


def _points(data: ParetoData, cloud: Cloud, style: Style, *, fits: bool, legend: bool) -> go.Scatter:
    part = cloud.frame[cloud.frame["feasible"] == fits]
    pairs = ", ".join(f"{escape(name)}=%{{customdata[{i}]}}" for i, name in enumerate(cloud.names))
    family = escape(cloud.family)
    marker: dict[str, Any] = (
        {"color": style.colour, "size": 6, "opacity": 0.75}
        if fits
        else {"color": MUTED, "size": 5, "opacity": 0.45, "line": {"width": 1}}
    )
    return go.Scatter(
        x=part["x"].to_numpy(dtype=np.float32),
        y=part["y"].to_numpy(dtype=np.float32),
        customdata=part[[f"parameter {name}" for name in cloud.names]].to_numpy(dtype=np.int64).astype(np.int32),
        mode="markers",
        name=family if fits else "does not fit",
        legendgroup=f"family {family}" if fits else "does not fit",
        showlegend=legend and len(part) > 0,
        marker={"symbol": style.symbol if fits else f"{style.symbol}-open", **marker},
        hovertemplate=_hover(data, f"<b>{family}</b>{'' if fits else ' (does not fit)'}<br>{pairs}"),
    )


def _front(data: ParetoData) -> go.Scatter:
    return go.Scatter(
        x=data.front["x"].to_numpy(dtype=np.float64),
        y=data.front["y"].to_numpy(dtype=np.float64),
        text=[f"<b>{escape(f)}</b><br>{escape(p)}" for f, p in data.front[["family", "parameters"]].to_numpy()],
        mode="lines",
        name="Pareto front",
        line={"color": INK, "width": 1.5, "shape": "hv"},
        hovertemplate=_hover(data, "%{text}"),
    )


def _add_marks(figure: go.Figure, data: ParetoData, styles: Mapping[str, Style]) -> None:
    papers = [m for m in data.marks if m.kind == "paper"]
    for fits, symbol, name in ((True, "star", "paper's design"), (False, "x", "paper's design, does not fit")):
        part = [m for m in papers if m.feasible == fits]
        if part:
            colours = [styles[m.family].colour for m in part]
            figure.add_trace(_mark_trace(data, part, name, symbol, colours, 15 if fits else 11))
    for kind, name in (("optimum", "proven optimum"), ("best", "best found (not proven)")):
        part = [m for m in data.marks if m.kind == kind]
        if part:
            symbol = "circle" if kind == "optimum" else "diamond"
            trace = _mark_trace(data, part, name, symbol, [styles[m.family].colour for m in part], 14)
            trace.update(marker_line={"width": 3, "color": INK})
            figure.add_trace(trace)


def _mark_trace(
    data: ParetoData, marks: Sequence[Mark], name: str, symbol: str, colours: Sequence[str], size: int
) -> go.Scatter:
    return go.Scatter(
        x=[m.x for m in marks],
        y=[m.y for m in marks],
        text=[escape(m.label) for m in marks],
        customdata=[f"{escape(m.family)}: {escape(m.parameters)}" for m in marks],
        mode="markers",
        name=name,
        cliponaxis=False,
        marker={"symbol": symbol, "size": size, "color": list(colours), "line": {"color": PAPER, "width": 1}},
        hovertemplate=_hover(data, f"<b>{name}</b> (%{{text}})<br>%{{customdata}}"),
    )


def _add_labels(figure: go.Figure, data: ParetoData) -> None:
    """Each paper's name once beside its fastest design that fits and once beside its fastest that does not.

    Names stand towards the empty side: below designs that fit, above the others.
    """
    named: dict[tuple[str, bool], Mark] = {}
    for mark in sorted((m for m in data.marks if m.kind == "paper"), key=lambda m: (m.x, m.y)):
        named.setdefault((short_origin(mark.label), mark.feasible), mark)
    for rank, ((name, fits), mark) in enumerate(named.items()):
        figure.add_annotation(
            x=_place(mark.x, data.log[0]),
            y=_place(mark.y, data.log[1]),
            text=escape(name),
            ax=-36 if fits else 36,
            ay=(34 + 20 * (rank % 2)) * (1 if fits else -1),
            standoff=8,
            arrowwidth=1,
            arrowhead=0,
            arrowcolor=INK,
            bgcolor=PAPER,
            opacity=0.92,
            borderpad=2,
            font={"size": 12},
        )


def _place(value: float, log: bool) -> float:
    """Where an annotation goes: plotly wants the logarithm on a logarithmic axis."""
    return math.log10(value) if log else value


def _axis(axis: Axis, log: bool, view: tuple[float, ...], zoomed: bool) -> dict[str, Any]:
    common = {"title": {"text": axis.label}, "tickformat": "~s" if axis.unit == "count" else ",~g"}
    if not log:
        return common | {"rangemode": "tozero"}
    low, high = (math.log10(value) for value in view)
    margin = 0.06 * (high - low) + 0.05
    shown: dict[str, Any] = {"range": [low - margin, high + margin]} if zoomed else {}
    shown |= {"dtick": "D2"} if high - low < 4 else {}
    return common | shown | {"type": "log", "minor": {"ticks": "outside", "ticklen": 2}}


def _add_limit(figure: go.Figure, name: str, axis: Axis, log: bool, panel: Panel) -> None:
    """A dashed line at what the board lets a design use of the axis's resource."""
    if not axis.resource or panel.board is None:
        return
    limit = panel.board.capacity[axis.resource] * panel.board.usable[axis.resource]
    if limit <= 0:
        return
    text = f"{escape(panel.device)}: {quantity(float(round(limit)))} usable {resource_title(axis.resource)}"
    line = {"color": MUTED, "width": 1.5, "dash": "dash"}
    label: dict[str, Any] = {"text": text, "showarrow": False, "font": {"color": MUTED, "size": 12}}
    if name == "yaxis":
        figure.add_hline(limit, line=line)
        place = {"xref": "x domain", "x": 1, "xanchor": "right", "y": _place(limit, log), "yanchor": "bottom"}
    else:
        figure.add_vline(limit, line=line)
        place = {"yref": "y domain", "y": 1, "yanchor": "top", "x": _place(limit, log), "xanchor": "left"}
    figure.add_annotation(label | place)
