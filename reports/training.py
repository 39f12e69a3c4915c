"""A training run of an emitted accelerator in simulation as a page: the loss, and the cycles of each layer."""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go

from dse._version import __version__
from dse.reports.shell import fill_page, write_page
from dse.reports.text import escape
from dse.reports.theme import PHASE_STYLES, base_figure, embed
from dse.verify.train_run import LayerCycles, TrainVerification

__all__ = ["render_training", "write_training_report"]

_NOTES = """<p>Every iteration ran on the emitted RTL in Verilator, through its DMA engines and a model of DRAM.
After each, activations, indexes, errors with their exponents, gradients and parameters in DRAM were compared bit for
bit with the golden model in numpy. Cycles are those of the simulated clock; nothing here was measured on silicon.</p>
"""


def write_training_report(result: TrainVerification, path: Path) -> None:
    """Write the page to ``path``, whole or not at all. Raises OSError where the file cannot be written."""
    write_page(render_training(result), path)


def render_training(result: TrainVerification) -> str:
    """The page; the same run gives the same text."""
    name = result.schedule.workload.network.name
    dram = result.settings.dram
    stated = {
        "accelerator": result.design.title,
        "data": result.settings.data,
        "memory": f"latency {dram.latency} cycles, stalls {100 * dram.stall:g} %",
        "largest step": f"2^-{result.settings.rate_shift} of a weight's range",
        "seed": str(result.settings.seed),
    }
    items = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in stated.items())
    parts = [
        f"<h2>{escape(name)}</h2><h3>Loss</h3>",
        embed(_loss_figure(result), "loss", "Mean over the batch, of each iteration before its update."),
        "<h3>Cycles of an iteration</h3>",
        embed(_cycles_figure(result.layers()), "cycles", "Simulated, by layer and phase; hover for the prediction."),
        _table(result.layers()),
    ]
    return fill_page(
        title=f"{name}: training on the emitted accelerator, simulated",
        head=f"<dl>{items}</dl>",
        answers="".join(f"<li>{escape(text)}</li>" for text in _answers(result)),
        panels=f'<section class="panel" id="panel-1">{"".join(parts)}</section>',
        notes=_NOTES,
        version=__version__,
    )


def _answers(result: TrainVerification) -> list[str]:
    exact, rows = sum(row.exact for row in result.rows), result.rows
    found = [f"{exact} of {len(rows)} iterations bit-exact with the golden model."]
    if rows:
        total, predicted = rows[-1].cycles, result.schedule.cycles
        off = 100 * (predicted / total - 1) if total else 0.0
        found.append(f"{total:,} cycles an iteration; predicted {predicted:,} ({off:+.2f} %).")
        found.append(f"Loss {rows[0].loss:.4f} at first, {rows[-1].loss:.4f} at last.")
    before, after = (100 * share for share in result.accuracy)
    return [*found, f"Accuracy on test samples: {before:.1f} % before, {after:.1f} % after."]


def _loss_figure(result: TrainVerification) -> go.Figure:
    figure = base_figure(300)
    numbers, losses = [row.number for row in result.rows], [row.loss for row in result.rows]
    hover = "iteration %{x}: %{y:.4f}<extra></extra>"
    style = {"color": PHASE_STYLES["forward"][1], "width": 1.6}
    figure.add_trace(go.Scatter(x=numbers, y=losses, mode="lines", name="loss", line=style, hovertemplate=hover))
    figure.update_layout(
        xaxis={"title": {"text": "iteration"}, "tickformat": "d"},
        yaxis={"title": {"text": "loss"}, "rangemode": "tozero"},
        showlegend=False,
    )
    return figure


def _cycles_figure(rows: list[LayerCycles]) -> go.Figure:
    layers = list(dict.fromkeys(escape(row.layer) for row in rows))
    figure = base_figure(150 + 26 * max(len(layers), 1))
    for phase, (title, colour) in PHASE_STYLES.items():
        part = [row for row in rows if row.phase == phase]
        if part:
            figure.add_trace(
                go.Bar(
                    x=[row.simulated for row in part], y=[escape(row.layer) for row in part], orientation="h",
                    name=title, marker={"color": colour}, customdata=[row.predicted for row in part],
                    hovertemplate=f"%{{y}} {title}: %{{x:,}} cycles, predicted %{{customdata:,}}<extra></extra>",
                )
            )  # fmt: skip
    figure.update_layout(
        barmode="stack",
        xaxis={"title": {"text": "cycles"}},
        yaxis={"type": "category", "categoryorder": "array", "categoryarray": layers, "autorange": "reversed"},
    )
    return figure


def _table(rows: list[LayerCycles]) -> str:
    heads = "".join(f'<th scope="col">{text}</th>' for text in ("layer", "phase", "simulated", "predicted", "off by"))
    body = ""
    for row in rows:
        off = f"{100 * (row.predicted / row.simulated - 1):+.2f} %" if row.simulated else ""
        cells = (row.phase, f"{row.simulated:,}", f"{row.predicted:,}", off)
        body += f'<tr><th scope="row">{escape(row.layer)}</th>{"".join(f"<td>{escape(c)}</td>" for c in cells)}</tr>'
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
