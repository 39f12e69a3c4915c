"""``dse validate``: published tables against the models."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dse.cli.guard import NOTHING_FEASIBLE, OK
from dse.cli.options import Json
from dse.cli.output import Table, number, print_json, print_tables

if TYPE_CHECKING:
    from dse.validation import ValidationRow

__all__ = ["validate"]


def validate(as_json: Json = False) -> int:
    """Compare the models with the values that papers print; exit 1 if one is off by more than its tolerance."""
    from dse.validation import validate as validation_rows

    rows = validation_rows()
    if as_json:
        print_json({"rows": [asdict(row) for row in rows]})
    else:
        _print(rows)
    return OK if all(row.ok for row in rows) else NOTHING_FEASIBLE


def _print(rows: list[ValidationRow]) -> None:
    cells = [
        (
            row.paper,
            row.table,
            row.row,
            row.quantity,
            row.unit,
            number(row.published, 3),
            number(row.model, 3),
            f"{100 * row.deviation:+.2f} %",
            f"{100 * row.tolerance:.2f} %",
            row.status,
            "ok" if row.ok else "MISSED",
        )
        for row in rows
    ]
    columns = (
        "paper", "table", "row", "quantity", "unit", "published", "model", "deviation", "tolerance", "status", "",
    )  # fmt: skip
    print_tables(Table("Published values and the models", columns, cells, "lllllrrrrll"))
    notes = list(dict.fromkeys(f"{row.paper}, {row.table}, {row.row}: {row.note}" for row in rows if row.note))
    missed = sum(not row.ok for row in rows)
    for line in ("", *notes, f"{len(rows)} values, {missed or 'none'} outside their tolerance"):
        print(line)
