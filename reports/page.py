"""The page: head, one section a panel, notes; text escaped, figures embedded, nothing loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dse.device import Device
from dse.reports.diagnosis import diagnosis_html
from dse.reports.families import MEASURES, family_caption, family_data, family_figure
from dse.reports.layers import SCROLLING_ROWS, layer_data, layer_figure
from dse.reports.panels import Panel, make_panels, winner_sentence
from dse.reports.pareto import pareto_data
from dse.reports.pareto_figure import pareto_caption, pareto_figure
from dse.reports.resources import resource_data, resource_figure
from dse.reports.shell import fill_page, read_part
from dse.reports.text import escape, parameters, percent, resource_title
from dse.reports.theme import Style, embed, family_styles
from dse.reports.verification import verification_section, verification_sentence
from dse.reports.winners import winner_table
from dse.results import Cell, ResultSet

__all__ = ["render"]

_POINTS_PER_REPORT = 60_000
_POINTS_PER_CELL = (300, 5_000)
_NO_CELLS = "<p>The sweep has no cells.</p>"


def render(
    result: ResultSet, boards: Mapping[str, Device] | None = None, verified: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The report as one HTML page; the same result gives the same text.

    ``boards`` describes boards by name, for their capacities. Those it lacks are looked up among the installed ones,
    and left out where their file is not the one the run used (shares of the board are then not shown). ``verified`` has
    what ``dse verify`` found of RTL of the result's points.
    """
    panels = make_panels(result, boards)
    styles = family_styles(cell.family for cell in result.cells)
    fewest, most = _POINTS_PER_CELL
    per_cell = min(most, max(fewest, _POINTS_PER_REPORT // max(1, len(result.cells))))
    return fill_page(
        title=_title(result),
        head=_head(result),
        answers="".join(_answer(panel) for panel in panels),
        panels="".join(_panel(panel, styles, per_cell, verified, len(panels) == 1) for panel in panels) or _NO_CELLS,
        notes=read_part("notes.html"),
        version=result.run.version,
    )


def _listing(values: Iterable[object]) -> str:
    return ", ".join(str(v) for v in dict.fromkeys(values))


def _title(result: ResultSet) -> str:
    networks = _listing(c.network for c in result.cells)
    devices = _listing(c.device for c in result.cells)
    return f"Training accelerators for {networks} on {devices}" if result.cells else "Training accelerators"


def _head(result: ResultSet) -> str:
    """The question that was asked and how, as a definition list."""
    cells, run = result.cells, result.run
    rows = {
        "networks": _listing(c.network for c in cells),
        "boards": _listing(c.device for c in cells),
        "families": _listing(c.family for c in cells),
        "batch sizes": _listing(c.batch_size for c in cells),
        "precision": _listing(c.precision for c in cells),
        "optimiser": _listing(c.optimiser for c in cells),
        "objectives": _listing(name for c in cells for name in c.objectives),
        "search": _listing(_search(c) for c in cells),
        "seed": str(run.seed),
        "reading": _listing(f"{c.family}: {c.reading or 'default'}" for c in cells),
        "dse": f"{run.version}, revision {run.git_revision or 'unknown'}",
        "created": run.created,
        "with": ", ".join(f"{name} {version}" for name, version in sorted(run.packages.items())),
    }
    items = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v or '–')}</dd></div>" for k, v in rows.items())
    argv = f'<p class="argv"><code>{escape(" ".join(run.argv))}</code></p>' if run.argv else ""
    stopped = (
        '<p class="warning" role="alert">The sweep was interrupted: this report has what was found until then.</p>'
        if run.interrupted
        else ""
    )
    return f"{stopped}<dl>{items}</dl>{argv}"


def _search(cell: Cell) -> str:
    return f"{cell.method} ({cell.sampler})" if cell.sampler else cell.method


def _answer(panel: Panel) -> str:
    return f'<li><a href="#panel-{panel.number}">{escape(panel.title)}</a>: {escape(winner_sentence(panel))}</li>'


def _panel(
    panel: Panel, styles: Mapping[str, Style], per_cell: int, verified: Sequence[Mapping[str, Any]], alone: bool
) -> str:
    """A panel's section; ``alone`` leaves out the sentence that stands under Answers, right above."""
    parts = [
        f"<h2>{escape(panel.title)}</h2>",
        "" if alone else f'<p class="answer">{escape(winner_sentence(panel))}</p>',
        _section("Best design of each family", winner_table(panel) + diagnosis_html(panel)),
        _section("Trade-off", _trade_off(panel, styles, per_cell)),
        _section("Families against each other and their papers", _families(panel, styles)),
        _section("Where the time goes", _layers(panel)),
        _section("Resources against the board", _resources(panel, styles)),
        _section("Simulated RTL", _simulated(panel, verified)),
    ]
    return f'<section class="panel" id="panel-{panel.number}">{"".join(parts)}</section>'


def _section(title: str, body: str) -> str:
    return f"<h3>{escape(title)}</h3>{body}" if body else ""


def _trade_off(panel: Panel, styles: Mapping[str, Style], per_cell: int) -> str:
    data = pareto_data(panel, per_cell)
    if not data.marks and all(cloud.frame.empty for cloud in data.clouds):
        return ""
    figure = pareto_figure(data, panel, styles)
    return embed(figure, f"pareto-{panel.number}", pareto_caption(data, panel))


def _families(panel: Panel, styles: Mapping[str, Style]) -> str:
    data = family_data(panel)
    figures = ""
    for measure, title in MEASURES.items():
        if data[measure].notna().any():
            name = f"families-{measure.replace('_', '-')}-{panel.number}"
            figures += embed(family_figure(data, measure, styles), name, family_caption(panel, data, measure))
        elif not data.empty:
            figures += f"<p>{escape(title)}: not published for {escape(panel.device)}.</p>"
    return f'<div class="pair">{figures}</div>' if figures else ""


def _layers(panel: Panel) -> str:
    """The winner's figure, then the other families' behind a disclosure each."""
    parts = []
    for number, cell in enumerate(panel.cells, 1):
        data = layer_data(cell)
        if data is None or cell.best is None:
            continue
        rows = len(data.floor)
        total = float(data.floor["cycles"].sum())
        busy = percent(float(data.floor["mac_floor_cycles"].sum()) / total if total else float("nan"))
        caption = (
            f"{panel.title}, {cell.family} with {parameters(cell.best.point)}: time of every layer by phase, and the "
            f"floor at which every lane does a useful MAC in every cycle ({busy} of the time)."
        )
        if data.grouped:
            caption += f" The last row sums {data.grouped} auxiliary layers of less than 0.5 % of the time each."
        figure = embed(layer_figure(data), f"layers-{panel.number}-{number}", caption, tall=rows > SCROLLING_ROWS)
        first = cell is panel.winner
        body = figure if first else f"<details><summary>{escape(cell.family)}</summary>{figure}</details>"
        parts.append((not first, body))
    return "".join(body for _, body in sorted(parts, key=lambda part: part[0]))


def _resources(panel: Panel, styles: Mapping[str, Style]) -> str:
    data = resource_data(panel)
    if data.empty:
        return ""
    if panel.board is None:
        return f"<p>The run's description of {escape(panel.device)} is not at hand: shares of it are unknown.</p>"
    absent = [r for r, part in data.groupby("resource", sort=False) if (part["capacity"] == 0).all()]
    caption = f"{panel.title}: what the best design of each family takes. The dashed line is the whole chip."
    if absent:
        caption += f" The board has no {_listing(resource_title(str(r)) for r in absent)}."
    return embed(resource_figure(data, styles), f"resources-{panel.number}", caption)


def _simulated(panel: Panel, verified: Sequence[Mapping[str, Any]]) -> str:
    """What was found of RTL of this panel's designs, one after the other."""
    task = (panel.network, panel.device, panel.batch_size, panel.precision)
    parts: list[str] = []
    for content in verified:
        if tuple(content[key] for key in ("network", "device", "batch_size", "precision")) == task:
            name = f"cycles-{panel.number}-{len(parts) + 1}"
            said = f"{content['family']} with {parameters(content['point'])}: {verification_sentence(content)}"
            parts.append(f"<p>{escape(said)}</p>{verification_section(content, name)}")
    return "".join(parts)
