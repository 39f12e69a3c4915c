"""A verification of emitted RTL: simulated cycles of every layer and phase beside what was predicted, and exactness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dse._version import __version__
from dse.reports.shell import fill_page, read_part, write_page
from dse.reports.text import escape, number, parameters, percent, records
from dse.reports.theme import INK, PAPER, PHASE_STYLES, base_figure, embed

__all__ = [
    "render_verification",
    "verification_data",
    "verification_figure",
    "verification_section",
    "verification_sentence",
    "write_verification_report",
]

_SCROLLING_ROWS = 45

Content = Mapping[str, Any]
"""What ``verify.json`` holds (docs/json.md)."""


def write_verification_report(content: Content, path: Path) -> None:
    """Write the page of a verification to ``path``, whole or not at all. Raises OSError."""
    write_page(render_verification(content), path)


def render_verification(content: Content) -> str:
    """The page; the same verification gives the same text."""
    dram = content["dram"]
    facts = {
        "network": f"{content['network']}, batch {content['batch_size']}, {content['precision']}",
        "board": content["device"],
        "design": f"{content['family']}: {parameters(content['point'])}",
        "lanes": f"{content['lanes']:,}",
        "memory": f"latency {dram['latency_cycles']} cycles, stalls {percent(dram['stall'], 0)}",
        "layers scaled to": f"{content['max_cycles']:,} cycles of the lanes a phase",
        "seed": str(content["seed"]),
    }
    items = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items())
    body = f"<h2>Cycles</h2>{verification_section(content, 'cycles') or '<p>No phase was simulated.</p>'}"
    stopped = '<p class="warning" role="alert">The verification was interrupted: this is what was found until then.</p>'
    return fill_page(
        title=f"Simulated RTL: {content['network']} on {content['device']}, {content['family']}",
        head=f"{stopped if content['interrupted'] else ''}<dl>{items}</dl>",
        answers=f"<li>{escape(verification_sentence(content))}</li>",
        panels=f'<section class="panel" id="panel-1">{body}</section>',
        notes=read_part("verification_notes.html"),
        version=__version__,
    )


def verification_data(content: Content) -> pd.DataFrame:
    """One row per layer and phase: layer, phase, size (words), scaled, simulated, predicted, model (cycles),
    predicted_off, model_off (over simulated, less 1; NaN where unknown), lanes (share of the lanes' cycles with a
    useful multiplication), difference (empty where DRAM is bit-exact).
    """
    rows = []
    for row in content["phases"]:
        simulated, predicted, model = (number(row[f"{name}_cycles"]) for name in ("simulated", "predicted", "model"))
        rows.append(
            {
                "layer": row["layer"],
                "phase": row["phase"],
                "size": _size(row["shape"]),
                "scaled": row["scaled"],
                "simulated": simulated,
                "predicted": predicted,
                "model": model,
                "predicted_off": _off(predicted, simulated),
                "model_off": _off(model, simulated),
                "lanes": number(row["mac_utilisation"]),
                "difference": row["difference"],
            }
        )
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = (
    "layer", "phase", "size", "scaled", "simulated", "predicted", "model", "predicted_off", "model_off", "lanes",
    "difference",
)  # fmt: skip


def _size(shape: Mapping[str, Any]) -> str:
    height, width = shape["size"]
    kernel = " x ".join(str(k) for k in shape["kernel"])
    return f"{shape['batch']} x {shape['n']} to {shape['m']} channels, {height} x {width}, kernel {kernel}"


def _off(cycles: float, simulated: float) -> float:
    return cycles / simulated - 1 if simulated else math.nan


def verification_sentence(content: Content) -> str:
    """Whether all is exact, and how far the predictions are off in total."""
    data = verification_data(content)
    if data.empty:
        return "No phase was simulated."
    wrong = data[data["difference"] != ""]
    exact = f"{len(data) - len(wrong)} of {len(data)} phases bit-exact with the golden model"
    total = float(data["simulated"].sum())
    offs = [f"{name} {_signed(_off(float(data[name].sum(skipna=False)), total))}" for name in ("predicted", "model")]
    differ = "".join(f"; {row['layer']} {row['phase']}: {row['difference']}" for row in records(wrong))
    return f"{exact}; {total:,.0f} cycles simulated, off by: {', '.join(offs)}{differ}."


def verification_section(content: Content, name: str) -> str:
    """The figure, its element called ``name``, and the table; empty where nothing was simulated."""
    data = verification_data(content)
    if data.empty:
        return ""
    caption = (
        "Clock cycles of every phase on the emitted RTL, from start to the last write response, and what was predicted "
        "for the same size and memory."
    )
    if data["scaled"].any():
        caption += " Long layers are scaled down: their rows say to what."
    figure = embed(verification_figure(data), name, caption, tall=len(data) > _SCROLLING_ROWS)
    return figure + _table(data)


def verification_figure(data: pd.DataFrame) -> go.Figure:
    """A horizontal bar a layer and phase, with a tick at the engine's prediction and a diamond at the family's."""
    labels = [f"{row['layer']} · {PHASE_STYLES[row['phase']][0]}" for row in records(data)]
    height_px = max(260, 150 + 22 * len(labels))
    figure = base_figure(height_px)
    for phase, (title, colour) in PHASE_STYLES.items():
        rows = [(label, row) for label, row in zip(labels, records(data), strict=True) if row["phase"] == phase]
        if rows:
            figure.add_trace(
                go.Bar(
                    x=[row["simulated"] for _, row in rows], y=[escape(label) for label, _ in rows], orientation="h",
                    name=f"{title}, simulated", marker={"color": colour}, customdata=[_hover(row) for _, row in rows],
                    hovertemplate="%{customdata}<extra></extra>",
                )
            )  # fmt: skip
    tick = {"symbol": "line-ns", "size": 14, "line": {"color": INK, "width": 2.5}}
    diamond = {"symbol": "diamond", "size": 10, "color": PAPER, "line": {"color": INK, "width": 1.5}}
    for column, title, marker in (("predicted", "predicted for the RTL", tick), ("model", "family's model", diamond)):
        values = [None if math.isnan(value) else value for value in data[column]]
        places = [escape(label) for label in labels]
        figure.add_trace(go.Scatter(x=values, y=places, mode="markers", name=title, hoverinfo="skip", marker=marker))
    figure.update_layout(
        bargap=0.25,
        barmode="overlay",
        legend={"y": 1 + 10 / height_px},
        xaxis={"title": {"text": "clock cycles"}, "rangemode": "tozero", "tickformat": ",~s"},
        yaxis={
            "type": "category", "categoryorder": "array", "categoryarray": [escape(label) for label in labels],
            "range": [len(labels) - 0.5, -0.5], "showgrid": False,
        },
    )  # fmt: skip
    return figure


def _hover(row: Mapping[str, Any]) -> str:
    return (
        f"<b>{escape(row['layer'])}</b>, {escape(row['phase'])}<br>{escape(row['size'])}"
        f"<br>{row['simulated']:,.0f} cycles simulated<br>predicted for the RTL {_signed(row['predicted_off'])}"
        f"<br>family's model {_signed(row['model_off'])}<br>{percent(row['lanes'])} of the lanes' cycles useful"
    )


_HEADS = ("layer", "phase", "size", "simulated", "predicted", "model", "lanes", "DRAM")


def _table(data: pd.DataFrame) -> str:
    columns = "".join(f'<th scope="col">{escape(head)}</th>' for head in _HEADS)
    body = ""
    for row in records(data):
        model = "unknown" if math.isnan(row["model"]) else f"{row['model']:,.0f} ({_signed(row['model_off'])})"
        cells = (
            row["phase"],
            f"{row['size']}{' (scaled)' if row['scaled'] else ''}",
            f"{row['simulated']:,.0f}",
            f"{row['predicted']:,.0f} ({_signed(row['predicted_off'])})",
            model,
            percent(row["lanes"]),
            row["difference"] or "bit-exact",
        )
        body += f'<tr><th scope="row">{escape(row["layer"])}</th>'
        body += "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
    return (
        f'<div class="wide"><table class="cycles"><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def _signed(ratio: float) -> str:
    if math.isnan(ratio):
        return "unknown"
    return f"{'+' if ratio >= 0 else '-'}{percent(abs(ratio), 2)}"
