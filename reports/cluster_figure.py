"""The figures of a cluster's report, from the data frames of ``cluster_data``."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go

from dse.reports.cluster_data import RESOURCE_TITLES
from dse.reports.text import escape, percent, records, significant
from dse.reports.theme import INK, MUTED, PHASE_STYLES, base_figure, family_styles

__all__ = ["placement_figure", "scaling_figure", "timeline_figure", "usage_figure"]

_PHASE_COLOURS = {
    "forward": PHASE_STYLES["forward"][1],
    "backward": PHASE_STYLES["weight_grad"][1],
    "update": PHASE_STYLES["update"][1],
}


def placement_figure(stages: pd.DataFrame, edges: pd.DataFrame) -> go.Figure:
    """The graph in topological order, a row a node; edges that cross the network in ink, the others faint."""
    nodes = list(dict.fromkeys(sorted(stages["node"])))
    row = {node: number for number, node in enumerate(nodes)}
    figure = base_figure(140 + 44 * len(nodes))
    place = [(record["position"], row[record["node"]]) for record in records(stages)]
    for crosses, colour, width, title in ((False, MUTED, 1, "on a board"), (True, INK, 1.6, "over the network")):
        xs: list[float | None] = []
        ys: list[float | None] = []
        for edge in records(edges[edges["crosses"] == crosses]):
            (x0, y0), (x1, y1) = place[edge["source"]], place[edge["target"]]
            xs += [x0, x1, None]
            ys += [y0, y1, None]
        line = {"color": colour, "width": width}
        figure.add_trace(go.Scatter(x=xs, y=ys, mode="lines", line=line, name=title, hoverinfo="skip"))
    styles = family_styles(nodes)
    for node, part in stages.groupby("node", sort=True):
        style = styles[str(node)]
        figure.add_trace(
            go.Scatter(
                x=part["position"].to_list(),
                y=[row[str(node)]] * len(part),
                mode="markers",
                marker={"color": style.colour, "symbol": style.symbol, "size": 11},
                showlegend=False,
                customdata=[
                    f"<b>{escape(r['stage'])}</b> on {escape(r['node'])}"
                    f"<br>{r['layers']} layers, weights {r['weights']}"
                    f"<br>{r['lanes'] or 'no lanes'}, {significant(r['dsp'])} DSP, {significant(r['ram_mb'])} Mb RAM"
                    f"<br>{r['depth']} times over the network from the input"
                    for r in records(part)
                ],
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
    figure.update_yaxes(tickvals=list(row.values()), ticktext=[escape(n) for n in nodes], autorange="reversed")
    figure.update_xaxes(title={"text": "stage, from the input to the loss"})
    return figure


def usage_figure(usage: pd.DataFrame) -> go.Figure:
    """A field a node and resource, darker the fuller."""
    table = usage.pivot_table(index="node", columns="resource", values="share", sort=False)[list(RESOURCE_TITLES)]
    figure = base_figure(120 + 34 * len(table))
    shares = table.to_numpy()
    figure.add_trace(
        go.Heatmap(
            z=(shares * 100).tolist(),
            x=list(RESOURCE_TITLES.values()),
            y=[escape(name) for name in table.index],
            zmin=0,
            zmax=100,
            colorscale="Blues",
            text=[["" if math.isnan(v) else f"{100 * v:.0f}" for v in line] for line in shares],
            texttemplate="%{text}",
            hovertemplate="%{y}: %{z:.1f} % of %{x}<extra></extra>",
            colorbar={"title": {"text": "%"}},
        )
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(showlegend=False)
    return figure


def timeline_figure(timeline: pd.DataFrame) -> go.Figure:
    """When each frame leaves each stage: forward down the stages, its gradients back up, the update at the end."""
    figure = base_figure(520)
    total_s = float(timeline["end_s"].max())
    for phase, title in (("forward", "forward"), ("backward", "gradients back")):
        part = timeline[timeline["phase"] == phase]
        xs: list[float | None] = []
        ys: list[float | None] = []
        for _, frame in part.groupby("frame", sort=True):
            ordered = frame.sort_values("end_s")
            xs += [*(1e3 * ordered["end_s"]), None]
            ys += [*ordered["position"], None]
        line = {"color": _PHASE_COLOURS[phase], "width": 1}
        figure.add_trace(go.Scatter(x=xs, y=ys, mode="lines", line=line, name=title, hoverinfo="skip"))
    last_s = float(timeline[timeline["phase"] != "update"]["end_s"].max())
    figure.add_vrect(
        x0=1e3 * last_s, x1=1e3 * total_s, fillcolor=_PHASE_COLOURS["update"], opacity=0.5, line_width=0,
        annotation_text="update", annotation_position="top left",
    )  # fmt: skip
    figure.update_xaxes(title={"text": "ms since the batch began"})
    figure.update_yaxes(title={"text": "stage"}, autorange="reversed")
    return figure


def scaling_figure(curves: Mapping[str, pd.DataFrame]) -> go.Figure:
    """Throughput against nodes, a curve a key; the aggregate bound of the first dashed; its proven bounds dotted."""
    figure = base_figure(420)
    styles = family_styles(curves)
    first = next(iter(curves.values()))
    for column, title, dash in (("aggregate_fps", "all nodes together", "dash"), ("bound_fps", "proven bound", "dot")):
        line = {"color": MUTED, "dash": dash}
        figure.add_trace(
            go.Scatter(x=first["nodes"].to_list(), y=first[column].to_list(), mode="lines", line=line, name=title)
        )
    for name, data in curves.items():
        style = styles[name]
        figure.add_trace(
            go.Scatter(
                x=data["nodes"].to_list(),
                y=[None if math.isnan(v) else v for v in data["fps"]],
                mode="lines+markers",
                name=escape(name),
                line={"color": style.colour},
                marker={"symbol": style.symbol, "size": 9},
                customdata=[
                    f"{r['nodes']} nodes: {significant(r['fps'])} fps<br>gap {percent(r['bound_fps'] / r['fps'] - 1)}"
                    f"<br>binding {escape(r['binding'])}"
                    if not math.isnan(r["fps"])
                    else f"{r['nodes']} nodes: none"
                    for r in records(data)
                ],
                hovertemplate="%{customdata}<extra></extra>",
            )
        )
    figure.update_xaxes(title={"text": "nodes"}, dtick=1)
    figure.update_yaxes(title={"text": "frames per second"}, rangemode="tozero")
    return figure
