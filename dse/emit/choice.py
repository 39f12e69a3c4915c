"""Which point of a saved result is meant."""

from __future__ import annotations

from dataclasses import dataclass

from dse.errors import InputError
from dse.results import Candidate, Cell, ResultSet

__all__ = ["Choice", "choose", "winners"]

_FORMS = "best, front-N, paper-N, or N, a row of the cell in points.parquet; N from 0"


@dataclass(frozen=True)
class Choice:
    """A point of a cell; ``name`` is what ``--point`` takes for it."""

    cell: Cell
    name: str
    point: dict[str, int]


def choose(result: ResultSet, cell: int | None = None, point: str = "best") -> Choice:
    """Point ``point`` of cell number ``cell`` (default: the one whose winner is best in the first objective).

    Raises InputError for a number that does not exist, for a cell without a winner, and where no cell is given and the
    cells do not train the same network with the same batch on the same board.
    """
    chosen = _best_cell(result) if cell is None else _numbered(result, cell)
    kind, _, number = point.rpartition("-")
    if point == "best":
        return Choice(chosen, point, _point(_best(chosen)))
    if kind in ("front", "paper"):
        candidates = chosen.pareto if kind == "front" else chosen.papers
        return Choice(chosen, point, _point(candidates[_index(point, number, len(candidates))]))
    row = chosen.points.iloc[_index(point, point, len(chosen.points))]
    return Choice(chosen, point, {name: int(row[name]) for name in _best(chosen).point})


def winners(result: ResultSet) -> list[Choice]:
    """The winner of every cell that has one, in the families' order of the first objective.

    Raises InputError where there is none, and where the cells are not of one task, as ``choose`` does.
    """
    _best_cell(result)
    won = sorted((c for c in result.cells if c.best is not None), key=lambda cell: _best(cell).objectives[0])
    return [Choice(cell, "best", _point(_best(cell))) for cell in won]


def _numbered(result: ResultSet, cell: int) -> Cell:
    if not 0 <= cell < len(result.cells):
        raise InputError("--cell", "there is no such cell", cell, f"0 to {len(result.cells) - 1}")
    return result.cells[cell]


def _best_cell(result: ResultSet) -> Cell:
    won = [cell for cell in result.cells if cell.best is not None]
    if not won:
        raise InputError("result", "nothing is feasible, so that there is no point to emit")
    keys = {(cell.network, cell.device, cell.batch_size, cell.precision, cell.objectives) for cell in won}
    if len(keys) > 1:
        labels = (f"{n}: {c.network} {c.device} {c.family} {c.batch_size}" for n, c in enumerate(result.cells))
        raise InputError("--cell", "is needed, as the cells are not of one task", allowed=", ".join(labels))
    return min(won, key=lambda cell: _best(cell).objectives[0])


def _best(cell: Cell) -> Candidate:
    if cell.best is None:
        raise InputError(f"cell {cell.network} {cell.device} {cell.family}", "has no feasible point")
    return cell.best


def _point(candidate: Candidate) -> dict[str, int]:
    return {name: int(value) for name, value in candidate.point.items()}


def _index(point: str, number: str, count: int) -> int:
    """``number`` as an index below ``count``."""
    if not (number.isascii() and number.isdigit()):
        raise InputError("--point", "has no such form", point, _FORMS)
    if int(number) >= count:
        raise InputError("--point", "there is no such point", point, f"numbers 0 to {count - 1}" if count else "none")
    return int(number)
