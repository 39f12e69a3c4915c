"""Where an iteration's time goes: each layer's phases against the floor that its multiply-accumulates set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dse.network import MAC_OPERATIONS
from dse.reports.text import escape, number, parameters, percent, records, significant, time_unit
from dse.reports.theme import INK, PHASE_STYLES, base_figure
from dse.results import Cell
from dse.workload import PHASES

__all__ = ["MOST_ROWS", "SCROLLING_ROWS", "LayerData", "layer_data", "layer_figure"]

MOST_ROWS = 60
"""Networks with more layers have their quick auxiliary layers summed in one row."""

SCROLLING_ROWS = 45
"""A figure with more rows scrolls; its axis is then at the top, where reading starts."""

_QUICK = 0.005
_LONGEST_NAME = 26


@dataclass(frozen=True)
class LayerData:
    """Time by layer and phase of a cell's best point."""

    frame: pd.DataFrame
    """One row per layer and phase: layer, op, phase, cycles, seconds, share (of the iteration), mac_floor_cycles,
    dram_bytes, bound, lost (words: causes and shares), tiling (words)."""
    floor: pd.DataFrame
    """One row per layer in network order: layer, op, cycles, mac_floor_cycles, floor_s."""
    grouped: int
    """How many auxiliary layers the last row sums; 0 where every layer has its own."""


_COLUMNS = (
    "layer", "op", "phase", "cycles", "seconds", "share", "mac_floor_cycles", "dram_bytes", "bound", "lost", "tiling",
)  # fmt: skip


def layer_data(cell: Cell) -> LayerData | None:
    """The best point's layers; None where nothing fits or the estimate has no layers."""
    if cell.best is None or not cell.best.estimate.get("layers"):
        return None
    estimate = cell.best.estimate
    total = number(estimate["iteration_cycles"])
    cycle_s = number(estimate["iteration_s"]) / total
    rows = [
        {
            "layer": layer["name"],
            "op": layer["op"],
            "phase": phase,
            "cycles": number(costs["cycles"]),
            "mac_floor_cycles": number(costs["mac_floor_cycles"]),
            "dram_bytes": number(costs["dram_bytes"]),
            "bound": costs["bound"],
            "lost": _lost(costs),
            "tiling": parameters(costs["tiling"]),
        }
        for layer in estimate["layers"]
        for phase, costs in layer["phases"].items()
    ]
    frame, grouped = _group_quick(pd.DataFrame(rows, columns=_COLUMNS), len(estimate["layers"]), total)
    frame = frame.assign(seconds=frame["cycles"] * cycle_s, share=frame["cycles"] / total)
    floor = frame.groupby("layer", sort=False).agg(
        op=("op", "first"), cycles=("cycles", "sum"), mac_floor_cycles=("mac_floor_cycles", "sum")
    )
    floor = floor.assign(floor_s=floor["mac_floor_cycles"] * cycle_s).reset_index()
    return LayerData(frame, floor, grouped)


def _group_quick(frame: pd.DataFrame, layers: int, total: float) -> tuple[pd.DataFrame, int]:
    """Sum by phase the auxiliary layers that take less than 0.5 % each, where there are too many rows to read."""
    if layers <= MOST_ROWS:
        return frame, 0
    share = frame.groupby("layer")["cycles"].transform("sum") / total
    quick = ~frame["op"].isin(MAC_OPERATIONS) & (share < _QUICK)
    count = frame[quick]["layer"].nunique()
    if count < 2:
        return frame, 0
    summed = frame[quick].groupby("phase")[["cycles", "mac_floor_cycles", "dram_bytes"]].sum()
    summed = summed.reindex([p for p in PHASES if p in summed.index]).reset_index()
    summed = summed.assign(layer=f"{count} other auxiliary layers", op="sum", bound="various", lost="", tiling="")
    return pd.concat([frame[~quick], summed], ignore_index=True)[list(_COLUMNS)], count


def layer_figure(data: LayerData) -> go.Figure:
    """Stacked horizontal bars, one a layer, in network order; a tick on each at its MAC floor."""
    names = data.floor["layer"].to_list()
    height_px = max(260, 130 + 22 * len(names))
    figure = base_figure(height_px)
    scrolls = len(names) > SCROLLING_ROWS
    longest = data.frame.groupby("layer")["seconds"].sum().max()
    factor, unit = time_unit(float(longest) if longest > 0 else 1e-3)
    for phase in PHASES:
        part = data.frame[data.frame["phase"] == phase]
        if not part.empty:
            figure.add_trace(_bars(part, phase, factor))
    floors = data.floor[data.floor["mac_floor_cycles"] > 0]
    figure.add_trace(
        go.Scatter(
            x=(floors["floor_s"] * factor).to_list(),
            y=floors["layer"].map(escape).to_list(),
            customdata=[
                f"<b>{escape(r['layer'])}</b><br>MAC floor: {significant(r['mac_floor_cycles'])} cycles, "
                f"{percent(r['mac_floor_cycles'] / r['cycles'] if r['cycles'] else math.nan)} of this layer's"
                for r in records(floors)
            ],
            mode="markers",
            name="MAC floor (every lane busy)",
            marker={"symbol": "line-ns", "size": 15, "line": {"color": INK, "width": 2.5}},
            hovertemplate="%{customdata}<extra></extra>",
        )
    )
    figure.update_layout(
        barmode="stack",
        bargap=0.25,
        legend={"y": 1 + (64 if scrolls else 10) / height_px},
        xaxis={
            "title": {"text": f"time per iteration ({unit})"}, "rangemode": "tozero", "tickformat": ",~g",
            "side": "top" if scrolls else "bottom",
        },
        yaxis={
            "type": "category", "categoryorder": "array", "categoryarray": [escape(n) for n in names],
            "range": [len(names) - 0.5, -0.5], "tickmode": "array", "tickvals": list(range(len(names))),
            "ticktext": [escape(_short(n)) for n in names], "showgrid": False,
        },
    )  # fmt: skip
    return figure


def _lost(costs: Mapping[str, Any]) -> str:
    """The causes that cost a phase most of its cycles, for example ``input_channels 60 %, wait 26 %``."""
    shares = {name: number(lost) / number(costs["cycles"]) for name, lost in costs["lost_cycles"].items()}
    ranked = sorted((share, name) for name, share in shares.items() if share >= 0.01)[::-1]
    return ", ".join(f"{name} {percent(share, 0)}" for share, name in ranked)


def _bars(part: pd.DataFrame, phase: str, factor: float) -> go.Bar:
    title, colour = PHASE_STYLES[phase]
    return go.Bar(
        x=(part["seconds"] * factor).to_list(),
        y=part["layer"].map(escape).to_list(),
        orientation="h",
        name=title,
        marker={"color": colour},
        customdata=[
            f"<b>{escape(r['layer'])}</b> ({escape(r['op'])}), {title}"
            f"<br>{significant(r['cycles'])} cycles, {percent(r['share'], 2)} of the iteration"
            f"<br>MAC floor {significant(r['mac_floor_cycles'])} cycles"
            f"<br>bound by {escape(r['bound'])}, {significant(r['dram_bytes'] / 1e6)} MB of DRAM traffic"
            + (f"<br>lost to {escape(r['lost'])}" if r["lost"] else "")
            + (f"<br>tiling {escape(r['tiling'])}" if r["tiling"] else "")
            for r in records(part)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
