"""The best design of each cell: time, throughput, utilisation, resources, power, proof, and how to get it again."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dse.estimate import RESOURCES
from dse.reports.panels import Panel, proof_sentence
from dse.reports.text import (
    command,
    escape,
    number,
    parameters,
    percent,
    quantity,
    resource_title,
    seconds,
    short_origin,
    significant,
)
from dse.results import Candidate, Cell

__all__ = ["Use", "Winner", "best_paper", "resource_uses", "winner_table", "winners"]


@dataclass(frozen=True)
class Use:
    """How much of a resource a design takes; NaN where unknown."""

    used: float
    capacity: float
    """What the board has."""
    usable: float
    """Share of the capacity that a design may take, 0 to 1."""

    @property
    def share(self) -> float:
        """used / capacity; NaN where either is unknown or the board has none."""
        return self.used / self.capacity if self.capacity > 0 else math.nan


@dataclass(frozen=True)
class Winner:
    """Figures of one cell's best point; NaN where unknown. Joules and seconds are per iteration."""

    family: str
    point: Mapping[str, int]
    command: str
    origin: str
    lanes: int
    iteration_s: float
    samples_per_s: float
    gops: float
    """Giga-operations per second that the network needs, 1 MAC = 2 operations."""
    mac_utilisation: float
    """MAC floor cycles / cycles, 0 to 1."""
    resources: Mapping[str, Use]
    power_w: float
    energy_j: float
    dram_bytes_per_s: float
    proof: str
    gap: float
    speedup_over_paper: float
    """Iteration time of the paper's fastest feasible design / this one's; NaN where it has none that fits."""


def winners(panel: Panel) -> list[Winner | None]:
    """One Winner per cell of the panel, in order; None where nothing is feasible."""
    return [None if cell.best is None else _winner(panel, cell, cell.best) for cell in panel.cells]


def _winner(panel: Panel, cell: Cell, best: Candidate) -> Winner:
    estimate = best.estimate
    iteration_s = number(estimate["iteration_s"])
    phases = [phase for layer in estimate.get("layers", ()) for phase in layer["phases"].values()]
    macs = math.fsum(number(p["macs"]) for p in phases) if phases else math.nan
    floor = math.fsum(number(p["mac_floor_cycles"]) for p in phases) if phases else math.nan
    paper = best_paper(cell)
    paper_s = number(paper.estimate["iteration_s"]) if paper and paper.feasible else math.nan
    return Winner(
        family=cell.family,
        point=dict(best.point),
        command=command(cell, best),
        origin=best.origin,
        lanes=cell.lanes,
        iteration_s=iteration_s,
        samples_per_s=number(estimate["samples_per_s"]),
        gops=2 * macs / iteration_s / 1e9,
        mac_utilisation=floor / number(estimate["iteration_cycles"]),
        resources=resource_uses(panel, estimate),
        power_w=number(estimate.get("power_w")),
        energy_j=number(estimate.get("energy_j")),
        dram_bytes_per_s=number(estimate.get("dram_bytes_per_s")),
        proof=cell.proof.kind,
        gap=cell.proof.gap,
        speedup_over_paper=paper_s / iteration_s,
    )


def resource_uses(panel: Panel, estimate: Mapping[str, Any]) -> dict[str, Use]:
    """Resource name -> use on the panel's board, in report order."""
    board = panel.board
    return {
        name: Use(
            number(estimate["resources"].get(name)),
            board.capacity[name] if board else math.nan,
            board.usable[name] if board else math.nan,
        )
        for name in RESOURCES
    }


def best_paper(cell: Cell) -> Candidate | None:
    """The fastest of the paper's designs that fit, else the fastest of those that do not; None without any."""
    return min(
        cell.papers, key=lambda c: (not c.feasible, _or_infinite(number(c.estimate["iteration_s"]))), default=None
    )


def _or_infinite(value: float) -> float:
    return math.inf if math.isnan(value) else value


def winner_table(panel: Panel) -> str:
    """HTML: one column a family, one row a figure, then the command of each design."""
    found = winners(panel)
    head = "".join(
        f'<th scope="col"{_mark(panel, cell)}>{escape(cell.family)}{" ★" if cell is panel.winner else ""}</th>'
        for cell in panel.cells
    )
    columns = [_column(panel, cell, winner) for cell, winner in zip(panel.cells, found, strict=True)]
    titles = list(next((c for c in columns if len(c) > 1), columns[0]))
    body = "".join(
        f'<tr><th scope="row">{escape(title)}</th>'
        + "".join(
            f"<td{_mark(panel, cell)}>{escape(column.get(title, '–'))}</td>"
            for cell, column in zip(panel.cells, columns, strict=True)
        )
        + "</tr>"
        for title in titles
    )
    caption = f"Best design of each family: {escape(panel.title)}{' (★ wins)' if panel.winner else ''}"
    return (
        f'<div class="wide"><table style="min-width:{10 + 11 * len(columns)}rem"><caption>{caption}</caption>'
        f'<thead><tr><th scope="col">figure</th>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        + "".join(command_line(w.family, w.command) for w in found if w)
    )


def command_line(label: str, text: str) -> str:
    """HTML of a command with a copy button; lines break before a flag."""
    words = " ".join(f"<span>{escape(word)}</span>" for word in re.split(" (?=-)", text))
    return (
        f'<div class="command"><span>{escape(label)}</span><code>{words}</code>'
        f'<button type="button" class="copy" aria-label="Copy the {escape(label)} command">Copy</button></div>'
    )


def _mark(panel: Panel, cell: Cell) -> str:
    return ' class="best"' if cell is panel.winner else ""


def _column(panel: Panel, cell: Cell, winner: Winner | None) -> dict[str, str]:
    if winner is None:
        return {"parameters": "nothing fits, see below"}
    rows = {
        "parameters": parameters(winner.point),
        "MAC lanes": f"{winner.lanes:,}",
        "iteration time": seconds(winner.iteration_s),
        "throughput": f"{significant(winner.samples_per_s)} samples/s",
        "effective speed": quantity(winner.gops, "GOPS", "not recorded"),
        "MAC utilisation": "not recorded" if math.isnan(winner.mac_utilisation) else percent(winner.mac_utilisation),
        "against the paper's design": _against_paper(cell, winner),
    }
    rows |= {resource_title(name): _use(use) for name, use in winner.resources.items()}
    energy_per_sample = winner.energy_j / cell.batch_size
    return rows | {
        "power": quantity(winner.power_w, "W"),
        "energy per iteration": quantity(winner.energy_j, "J"),
        "energy per sample": quantity(energy_per_sample, "J"),
        "mean DRAM bandwidth": quantity(winner.dram_bytes_per_s / 1e9, "GB/s"),
        "proof": proof_sentence(cell),
    }


def _use(use: Use) -> str:
    text = quantity(math.ceil(use.used) if math.isfinite(use.used) and use.used > 100 else use.used, absent="unknown")
    if use.capacity == 0:
        return f"{text} (board has none)"
    return text if math.isnan(use.share) else f"{text} ({percent(use.share)} of {use.capacity:,.0f})"


def _against_paper(cell: Cell, winner: Winner) -> str:
    paper = best_paper(cell)
    if paper is None:
        return "no published design"
    if not paper.feasible:
        return f"{short_origin(paper.origin)}: {parameters(paper.point)} does not fit"
    paper_point = f"{parameters(paper.point)} ({short_origin(paper.origin)})"
    return f"{winner.speedup_over_paper:,.2f} times as fast as {paper_point}"
