"""Which points of a saved result are meant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.errors import InputError
from dse.results import Candidate, Cell, ResultSet

__all__ = ["Choice", "choose", "finalists", "task", "winners"]

_FORMS = "fastest, best, front-N, paper-N, or N, a row of the cell in points.parquet; N from 0"


@dataclass(frozen=True)
class Choice:
    """A point of a cell; ``name`` is what ``--point`` takes for it."""

    cell: Cell
    name: str
    point: dict[str, int]
    family_s: float = math.nan
    """Seconds of an iteration by the family's estimate."""


def choose(result: ResultSet, cell: int | None = None, point: str = "best") -> Choice:
    """Point ``point`` of cell number ``cell`` (default: the one whose winner is best in the first objective).

    Raises InputError for a number that does not exist, for a cell without a winner, and where no cell is given and the
    cells do not train the same network with the same batch on the same board.
    """
    chosen = task(result, cell)[0]
    kind, _, number = point.rpartition("-")
    if point == "best":
        return _winner(chosen)
    if kind in ("front", "paper"):
        candidates = chosen.pareto if kind == "front" else chosen.papers
        return _of(chosen, point, candidates[_index(point, number, len(candidates))])
    return _row(chosen, _index(point, point, len(chosen.points)))


def task(result: ResultSet, cell: int | None = None) -> list[Cell]:
    """The cells among which a point is chosen, in the order of their winners: all that have one, or number ``cell``.

    Raises InputError where there is none, for a number that does not exist, and where no cell is given and the cells
    are not of one task.
    """
    return _one_task(result) if cell is None else [_numbered(result, cell)]


def winners(cells: Sequence[Cell]) -> list[Choice]:
    """The winner of each of ``cells``. Raises InputError for a cell without."""
    return [_winner(cell) for cell in cells]


def finalists(cell: Cell, count: int) -> list[Choice]:
    """The ``count`` feasible points of ``cell`` that are the fastest by its family, none of them twice.

    They are the search's (the first ones if the table has equals), and the front's, of which the proof found some.
    """
    found = [_of(cell, f"front-{number}", candidate) for number, candidate in enumerate(cell.pareto)]
    if len(cell.points):
        fitting = cell.points["iteration_s"].where(cell.points["feasible"]).dropna()
        rows = fitting.sort_values(kind="stable").index[:count]
        found += [_row(cell, int(row)) for row in rows]
    distinct: dict[tuple[int, ...], Choice] = {}
    for choice in found:
        distinct.setdefault(tuple(choice.point.values()), choice)
    return sorted(distinct.values(), key=lambda choice: choice.family_s)[:count]


def _numbered(result: ResultSet, cell: int) -> Cell:
    if not 0 <= cell < len(result.cells):
        raise InputError("--cell", "there is no such cell", cell, f"0 to {len(result.cells) - 1}")
    return result.cells[cell]


def _one_task(result: ResultSet) -> list[Cell]:
    won = [cell for cell in result.cells if cell.best is not None]
    if not won:
        raise InputError("result", "nothing is feasible, so that there is no point to emit")
    keys = {(cell.network, cell.device, cell.batch_size, cell.precision, cell.objectives) for cell in won}
    if len(keys) > 1:
        labels = (f"{n}: {c.network} {c.device} {c.family} {c.batch_size}" for n, c in enumerate(result.cells))
        raise InputError("--cell", "is needed, as the cells are not of one task", allowed=", ".join(labels))
    return sorted(won, key=lambda cell: _best(cell).objectives[0])


def _best(cell: Cell) -> Candidate:
    if cell.best is None:
        raise InputError(f"cell {cell.network} {cell.device} {cell.family}", "has no feasible point")
    return cell.best


def _winner(cell: Cell) -> Choice:
    return _of(cell, "best", _best(cell))


def _of(cell: Cell, name: str, candidate: Candidate) -> Choice:
    seconds = candidate.estimate["iteration_s"]
    return Choice(cell, name, _whole(candidate.point), math.nan if seconds is None else seconds)


def _row(cell: Cell, number: int) -> Choice:
    """A row of the table of evaluated points."""
    row = cell.points.iloc[number]
    point = _whole({name: row[name] for name in _best(cell).point})
    return Choice(cell, str(number), point, float(row["iteration_s"]))


def _whole(point: Mapping[str, int]) -> dict[str, int]:
    return {name: int(value) for name, value in point.items()}


def _index(point: str, number: str, count: int) -> int:
    """``number`` as an index below ``count``."""
    if not (number.isascii() and number.isdigit()):
        raise InputError("--point", "has no such form", point, _FORMS)
    if int(number) >= count:
        raise InputError("--point", "there is no such point", point, f"numbers 0 to {count - 1}" if count else "none")
    return int(number)
