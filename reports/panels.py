"""Panels: cells that may be compared (same network, board, batch size and precision), and what they say in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dse.device import Device
from dse.devices import load_device
from dse.errors import InputError
from dse.estimate import OBJECTIVES
from dse.reports.text import number, parameters, percent, seconds, significant
from dse.results import Cell, ResultSet

__all__ = ["Panel", "boards_of", "make_panels", "proof_sentence", "winner_sentence"]


@dataclass(frozen=True)
class Panel:
    """One network on one board at one batch size and precision: one cell a family."""

    number: int
    """1, 2, ... in the order of the result; part of the page's element ids."""
    network: str
    device: str
    batch_size: int
    precision: str
    cells: tuple[Cell, ...]
    board: Device | None
    """None where the board's file is not to be had, or is not the one the run used."""

    @property
    def title(self) -> str:
        """``alexnet on zcu102, batch 4, fp32``."""
        return f"{self.network} on {self.device}, batch {self.batch_size}, {self.precision}"

    @property
    def winner(self) -> Cell | None:
        """The cell whose best point has the lowest first objective; an earlier cell wins a tie."""
        with_best = [c for c in self.cells if c.best is not None]
        return min(with_best, key=_first_objective) if with_best else None


def _first_objective(cell: Cell) -> float:
    value = cell.best.objectives[0] if cell.best is not None and cell.best.objectives else math.nan
    return math.inf if math.isnan(value) else value


def make_panels(result: ResultSet, boards: Mapping[str, Device] | None = None) -> tuple[Panel, ...]:
    """The result's panels in order of first appearance. ``boards`` as for ``boards_of``."""
    found = boards_of(result, boards)
    groups: dict[tuple[str, str, int, str], list[Cell]] = {}
    for cell in result.cells:
        groups.setdefault((cell.network, cell.device, cell.batch_size, cell.precision), []).append(cell)
    return tuple(
        Panel(i, *key, cells=tuple(cells), board=found.get(key[1])) for i, (key, cells) in enumerate(groups.items(), 1)
    )


def boards_of(result: ResultSet, boards: Mapping[str, Device] | None = None) -> dict[str, Device]:
    """Board name -> description: from ``boards``, else the installed one if its hash is the one the run recorded."""
    found = dict(boards or {})
    for name, reference in {cell.device: cell.device_reference or cell.device for cell in result.cells}.items():
        if name in found:
            continue
        try:
            device = load_device(reference)
        except InputError:
            continue
        if result.run.inputs.get(name, device.digest) == device.digest:
            found[name] = device
    return found


def proof_sentence(cell: Cell) -> str:
    """What is known about the distance from the optimum."""
    proof = cell.proof
    if proof.kind not in ("exhaustive", "bound"):
        best = f"not proven: the best of {cell.evaluated:,} evaluated points"
        if cell.best is None or len(proof.floor) != 1 or not proof.floor[0] > 0:
            return best
        return f"{best}, at most {percent(cell.best.objectives[0] / proof.floor[0] - 1, 1)} above the optimum"
    how = f"every other of the {proof.space_size:,} points was evaluated or excluded by a bound"
    if proof.kind == "exhaustive" and proof.evaluated >= proof.space_size:
        how = f"every one of the {proof.space_size:,} points was evaluated"
    elif proof.kind == "exhaustive":
        how = f"all {proof.evaluated:,} of {proof.space_size:,} points whose resources fit were evaluated"
    if cell.best is None:
        return f"proven: {how} and none fits"
    what = "proven optimum"
    if proof.optimum and len(cell.objectives) == 1 and cell.best.objectives[0] > proof.optimum[0] * (1 + 1e-9):
        excess = 100 * (cell.best.objectives[0] / proof.optimum[0] - 1)
        what = f"{significant(excess, 2)}\N{NO-BREAK SPACE}% above the proven optimum"
    return f"{what}: {how}{_search_gap(cell)}"


def _search_gap(cell: Cell) -> str:
    if cell.method != "optuna" or math.isnan(cell.proof.gap):
        return ""
    alone = f"; the search alone ({cell.evaluated:,} points)"
    if math.isinf(cell.proof.gap):
        return f"{alone} found nothing that fits"
    if len(cell.objectives) > 1:
        return f"{alone} missed {percent(cell.proof.gap, 2)} of the exact front's hypervolume"
    return f"{alone} came within {percent(cell.proof.gap, 2)}"


def winner_sentence(panel: Panel) -> str:
    """Who wins a panel, with what, how fast, by how much and how sure that is."""
    cell = panel.winner
    if cell is None or cell.best is None:
        proven = all(c.proof.kind in ("exhaustive", "bound") for c in panel.cells)
        sure = "proven for every family" if proven else "not proven"
        return f"Nothing fits: no family has a feasible point ({sure})."
    estimate = cell.best.estimate
    text = (
        f"{cell.family} wins with {parameters(cell.best.point)}: {seconds(number(estimate['iteration_s']))} an "
        f"iteration, {significant(number(estimate['samples_per_s']))} samples/s{_lead(panel, cell)}. "
    )
    proof = proof_sentence(cell)
    return f"{text}{proof[0].upper()}{proof[1:]}."


def _lead(panel: Panel, winner: Cell) -> str:
    """How far the next family is behind in the first objective."""
    others = [c for c in panel.cells if c is not winner and c.best is not None and c.family != winner.family]
    if not others:
        return ""
    second = min(others, key=_first_objective)
    best, next_best = _first_objective(winner), _first_objective(second)
    if not (0 < best < math.inf and next_best < math.inf):
        return ""
    if winner.objectives[0] == "latency":
        return f", {next_best / best:,.2f} times as fast as the best {second.family} design"
    name = winner.objectives[0]
    unit = OBJECTIVES.get(name, "")
    return f", {significant(best)} {unit} against {significant(next_best)} for the best {second.family} design"
