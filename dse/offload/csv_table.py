"""Reading CSV files so that each wrong cell is one line naming file, line, column, rule, value and what is allowed."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dse.errors import InputError, did_you_mean

__all__ = ["CsvTable", "Row", "read_csv", "shipped"]


@dataclass(frozen=True)
class Row:
    """One line of a file. An empty cell is one that is not given."""

    where: str
    cells: Mapping[str, str]

    def error(self, column: str, rule: str, got: object = None, allowed: object = None) -> InputError:
        """An InputError that names file, line and ``column``."""
        return InputError(f"{self.where}: {column}", rule, got, allowed)

    def text(self, column: str, default: str | None = None) -> str:
        """A cell's text; ``default`` where it is empty. Raises InputError where it is empty and has no default."""
        value = self.cells.get(column, "")
        if value:
            return value
        if default is None:
            raise self.error(column, "must not be empty")
        return default

    def number(self, column: str, default: float | None = None, positive: bool = True) -> float:
        """A finite number, > 0 where ``positive``, else >= 0; ``default`` where the cell is empty."""
        text = self.cells.get(column, "")
        if not text and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0 or (positive and value == 0):
            raise self.error(column, "must be a number", text, "finite and > 0" if positive else "finite and >= 0")
        return value

    def whole(self, column: str, default: int | None = None) -> int:
        """A whole number from 1 to 2^40; ``default`` where the cell is empty."""
        text = self.cells.get(column, "")
        if not text and default is not None:
            return default
        try:
            value = int(text)
        except ValueError:
            value = 0
        if not 1 <= value <= 2**40:
            raise self.error(column, "must be a whole number", text, f"1 to {2**40}")
        return value


@dataclass(frozen=True)
class CsvTable:
    """Rows in file order; ``source`` is what a line ``# source: ...`` says, else the file's path."""

    rows: tuple[Row, ...]
    source: str


def shipped(name: str) -> Path:
    """The path of a table that comes with the package."""
    return Path(__file__).with_name(f"{name}.csv")


def read_csv(path: Path, required: Sequence[str], optional: Sequence[str]) -> CsvTable:
    """The table of a CSV file with a header line; lines that begin with ``#`` are comments.

    Raises InputError for a file that cannot be read, a missing, unknown or repeated column, a line with more cells
    than the header and a table without rows.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    notes = [line.lstrip("# ").strip() for line in lines if line.startswith("#")]
    source = next((note.partition(":")[2].strip() for note in notes if note.startswith("source:")), str(path))
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    try:
        parsed = [(number, [c.strip() for c in next(csv.reader([line], strict=True))]) for number, line in numbered]
    except csv.Error as error:
        raise InputError(str(path), f"is not valid CSV: {error}") from error
    if len(parsed) < 2:
        raise InputError(str(path), "needs a header line and at least one row", len(parsed))
    header = _header(path, parsed[0][1], required, optional)
    return CsvTable(tuple(_row(path, number, header, cells) for number, cells in parsed[1:]), source)


def _header(path: Path, header: list[str], required: Sequence[str], optional: Sequence[str]) -> list[str]:
    known = [*required, *optional]
    for column in header:
        if column not in known:
            raise InputError(f"{path}: header", "unknown column", column, did_you_mean(column, known))
        if header.count(column) > 1:
            raise InputError(f"{path}: header", "column is there twice", column)
    for column in required:
        if column not in header:
            raise InputError(f"{path}: header", f"column {column!r} is missing", ", ".join(header), ", ".join(known))
    return header


def _row(path: Path, number: int, header: list[str], cells: list[str]) -> Row:
    where = f"{path}: line {number}"
    if len(cells) > len(header):
        raise InputError(where, "has more cells than the header", len(cells), f"up to {len(header)}")
    return Row(where, dict(zip(header, cells, strict=False)))
