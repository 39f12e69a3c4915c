"""What ``dse sweep`` prints of each cell: the winner, its proof, the papers' designs, or why nothing fits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dse.cli.estimate_text import batch_text, violation_text
from dse.cli.output import joules, number, percent, point_text, seconds

if TYPE_CHECKING:
    from dse.device import Device
    from dse.results import Candidate, Cell

__all__ = ["cell_text", "proof_text", "shortage_text"]


def cell_text(cell: Cell, device: Device, trials: int) -> str:
    """The lines of one cell, for which the search was given ``trials``."""
    reading = f", reading {cell.reading}" if cell.reading else ""
    optimiser = f", {cell.optimiser}" if cell.optimiser != "sgd" else ""
    title = (
        f"{cell.network} on {cell.device}, {cell.family}, batch {cell.batch_size}, {cell.precision}{optimiser}{reading}"
    )
    lines = _winner(cell, cell.best, device, trials) if cell.best else _diagnosis(cell)
    lines += [("papers" if i == 0 else "", _paper(paper, cell.best)) for i, paper in enumerate(cell.papers)]
    return "\n".join([title, *(f"  {label:<10} {text}" for label, text in lines)])


def _winner(cell: Cell, best: Candidate, device: Device, trials: int) -> list[tuple[str, str]]:
    estimate = best.estimate
    used = [
        f"{name} {number(amount, 1)} ({percent(amount, device.capacity[name])})"
        for name, amount in estimate["resources"].items()
        if amount is None or amount > 0
    ]
    lines = [
        ("winner", f"{point_text(best.point)} ({cell.lanes:,} lanes)"),
        ("time", f"{seconds(estimate['iteration_s'])} an iteration, {number(estimate['samples_per_s'], 2)} samples/s"),
        ("power", _power(estimate)),
        ("resources", ", ".join(used)),
        ("search", proof_text(cell, trials)),
    ]
    if len(cell.objectives) > 1:
        lines.append(("front", f"{len(cell.pareto)} points in {', '.join(cell.objectives)}"))
    return lines


def _power(estimate: Mapping[str, float | None]) -> str:
    if estimate["power_w"] is None:
        return "unknown, nothing is published for this device"
    return f"{number(estimate['power_w'], 2)} W, {joules(estimate['energy_j'])} J an iteration"


def proof_text(cell: Cell, trials: int) -> str:
    """For example ``500 trials, 0.9 s, gap to the proven optimum 0.00 %``."""
    points = f"{cell.evaluated:,} distinct points"
    sampled = f"{trials:,} trials" + (f" ({points})" if cell.evaluated != trials else "")
    work = f"{points if cell.method == 'exhaustive' else sampled}, {cell.search_s:.1f} s"
    if cell.proof.kind == "none":
        return f"{work}, optimum not proven{_at_most(cell)} ({cell.proof.space_size:,} points in the space)"
    if not math.isfinite(cell.proof.gap):
        return f"{work}, none of them feasible; the winner is the proven optimum" if cell.best else work
    if len(cell.objectives) > 1:
        return f"{work}, {100 * cell.proof.gap:.2f} % of the proven front's hypervolume missed"
    return f"{work}, gap to the proven optimum {100 * cell.proof.gap:.2f} %"


def _at_most(cell: Cell) -> str:
    """How far from the optimum the best point is at most, where a lower bound is known."""
    if cell.best is None or len(cell.proof.floor) != 1 or not cell.proof.floor[0] > 0:
        return ""
    return f", at most {100 * (cell.best.objectives[0] / cell.proof.floor[0] - 1):.1f} % above it"


def _paper(paper: Candidate, best: Candidate | None) -> str:
    took = paper.estimate["iteration_s"]
    text = f"{paper.origin}: {point_text(paper.point)}, {seconds(took)}"
    if best is not None and took is not None:
        text += f", {took / best.estimate['iteration_s']:.2f} times the winner's"
    return text if paper.feasible else f"{text}; does not fit: {violation_text(paper.estimate['violations'])}"


def shortage_text(cell: Cell) -> str:
    """In one line, what a cell without a feasible point is short of."""
    where = f"{cell.family} on {cell.device}"
    return f"{where}: {violation_text(cell.diagnosis.short)}" if cell.diagnosis else f"{where}: no point was found"


def _diagnosis(cell: Cell) -> list[tuple[str, str]]:
    lines = [("winner", "none: nothing feasible")]
    if cell.diagnosis is None:
        return lines
    nearest, board = cell.diagnosis.nearest, cell.diagnosis.smallest_board
    return [
        *lines,
        ("short of", violation_text(cell.diagnosis.short)),
        *([("DRAM", batch_text(cell.diagnosis.largest_batch))] if cell.diagnosis.largest_batch is not None else []),
        ("nearest", f"{point_text(nearest.point)}, {seconds(nearest.estimate['iteration_s'])} if it fitted"),
        ("would fit", f"{board}, the smallest shipped board that does" if board else "no shipped board"),
    ]
