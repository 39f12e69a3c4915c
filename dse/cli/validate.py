"""``dse validate``: published tables against the models."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from dse.cli.guard import NOTHING_FEASIBLE, OK
from dse.cli.options import Json
from dse.cli.output import Table, number, print_json, print_tables, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dse.validation import ValidationRow

__all__ = ["validate"]


def validate(as_json: Json = False) -> int:
    """Compare the models with the values that papers print; exit 1 if one is off by more than its tolerance."""
    from dse.schema import plain
    from dse.validation import validate as validation_rows

    rows = validation_rows()
    if as_json:
        print_json({"rows": plain([asdict(row) for row in rows])})
    else:
        _print(rows)
    return OK if all(row.ok for row in rows) else NOTHING_FEASIBLE


def _print(rows: Sequence[ValidationRow]) -> None:
    notes = {text: number for number, text in enumerate(dict.fromkeys(row.note for row in rows if row.note), 1)}
    groups: dict[str, list[ValidationRow]] = {}
    for row in rows:
        groups.setdefault(row.paper if row.table else "counts of the networks", []).append(row)
    print_tables(*(_table(title, members, notes) for title, members in groups.items()))
    print()
    for text, position in notes.items():
        print(f"[{position}] {text}")
    missed = sum(not row.ok for row in rows)
    print(f"{len(rows)} values, {missed or 'none'} outside their tolerance")


def _table(title: str, rows: Sequence[ValidationRow], notes: Mapping[str, int]) -> Table:
    cells = [
        (
            row.table or row.paper,
            row.row,
            row.quantity,
            row.unit,
            number(row.published, 3),
            number(row.model, 3),
            share(row.deviation, "+.2f"),
            share(row.tolerance, ".2f"),
            row.status,
            "ok" if row.ok else "MISSED",
            f"[{notes[row.note]}]" if row.note else "",
        )
        for row in rows
    ]
    columns = (
        "table", "row", "quantity", "unit", "published", "model", "deviation", "tolerance", "status", "", "note",
    )  # fmt: skip
    return Table(title, columns, cells, "llllrrrrlll")
