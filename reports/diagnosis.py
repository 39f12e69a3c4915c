"""Cells in which nothing fits: what is short, by how much, the nearest point and the smallest board that would do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dse.reports.panels import Panel, proof_sentence
from dse.reports.text import command, escape, number, parameters, percent, quantity, resource_title, seconds
from dse.reports.winners import command_line
from dse.results import Cell

__all__ = ["Shortage", "diagnoses", "diagnosis_html"]


@dataclass(frozen=True)
class Shortage:
    """Why a cell has no feasible point."""

    family: str
    short: Mapping[str, float]
    """Constraint -> used / usable - 1 at the nearest point, worst first; infinite where the board has none."""
    nearest: str
    nearest_iteration_s: float
    smallest_board: str
    command: str
    text: str


def diagnoses(panel: Panel) -> list[Shortage]:
    """One per cell of the panel that has no feasible point but a diagnosis."""
    return [_shortage(panel, cell) for cell in panel.cells if cell.best is None and cell.diagnosis is not None]


def _shortage(panel: Panel, cell: Cell) -> Shortage:
    found = cell.diagnosis
    assert found is not None
    short = dict(sorted(found.short.items(), key=lambda item: (-_or_infinite(item[1]), item[0])))
    time_s = number(found.nearest.estimate.get("iteration_s"))
    nearest = parameters(found.nearest.point)
    board = (
        f"The smallest shipped board on which a design of this family fits is {found.smallest_board}."
        if found.smallest_board
        else "No shipped board fits a design of this family."
    )
    most = found.largest_batch
    if most is not None:
        board += f" The DRAM of {cell.device} holds " + (
            f"batches of up to {most:,}." if most else "not even one sample."
        )
    lacks = "; ".join(_lack(panel, cell, name, excess) for name, excess in short.items())
    text = f"The nearest point, {nearest} ({seconds(time_s)} an iteration), falls short: {lacks}. {board}"
    return Shortage(cell.family, short, nearest, time_s, found.smallest_board, command(cell, found.nearest), text)


def _lack(panel: Panel, cell: Cell, name: str, excess: float) -> str:
    title = resource_title(name)
    if math.isnan(excess):
        return f"{title} (its use is unknown)"
    if math.isinf(excess):
        return f"{title} (the board has none)"
    assert cell.diagnosis is not None
    estimate = cell.diagnosis.nearest.estimate
    text = f"{title}: {percent(excess)} over its limit"
    if panel.board is None:
        return text
    if name == "dram_bytes":
        used, usable, unit = number(estimate["dram_capacity_bytes"]), float(panel.board.dram_bytes), 1e9
        return f"{text} ({quantity(used / unit)} GB needed, {quantity(usable / unit)} GB on the board)"
    if name not in panel.board.capacity:
        return text
    used = number(estimate["resources"].get(name))
    usable = panel.board.capacity[name] * panel.board.usable[name]
    return f"{text} ({quantity(float(math.ceil(used)))} needed, {quantity(float(math.floor(usable)))} usable)"


def _or_infinite(excess: float) -> float:
    return math.inf if math.isnan(excess) else excess


def diagnosis_html(panel: Panel) -> str:
    """HTML of a panel's cells in which nothing fits; empty where there are none."""
    found = {shortage.family: shortage for shortage in diagnoses(panel)}
    parts = []
    for cell in panel.cells:
        if cell.best is not None:
            continue
        shortage = found.get(cell.family)
        why = shortage.text if shortage else "No diagnosis was recorded."
        proof = proof_sentence(cell)
        parts.append(
            f'<div class="nothing"><h4>{escape(cell.family)}: nothing fits {escape(panel.device)}</h4>'
            f"<p>{escape(why)}</p><p>{escape(proof[0].upper() + proof[1:])}.</p>"
            + (command_line(f"{cell.family}, nearest point", shortage.command) if shortage else "")
            + "</div>"
        )
    return "".join(parts)
