"""Printing: one JSON object, or tables that are framed on a terminal and plain, aligned text anywhere else."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Table", "joules", "number", "percent", "point_text", "print_json", "print_tables", "seconds", "share"]


@dataclass(frozen=True)
class Table:
    """Rows of text under a title. ``align`` has one letter a column: ``l`` left, ``r`` right."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    align: str


def print_json(content: Mapping[str, Any]) -> None:
    """Write one JSON object with ``schema_version`` to stdout; ``content`` has JSON types (``dse.schema.plain``)."""
    from dse.results import SCHEMA_VERSION

    print(json.dumps({"schema_version": SCHEMA_VERSION, **content}, indent=2, allow_nan=False))


def print_tables(*tables: Table) -> None:
    """Write tables to stdout, a blank line between them."""
    for position, table in enumerate(tables):
        if position:
            print()
        if sys.stdout.isatty():
            _print_framed(table)
        else:
            _print_plain(table)


def _print_framed(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as Framed
    from rich.text import Text

    framed = Framed(title=Text(table.title), title_justify="left", show_header=any(table.columns))
    for name, side in zip(table.columns, table.align, strict=True):
        framed.add_column(Text(name), justify="right" if side == "r" else "left", overflow="fold")
    for row in table.rows:
        framed.add_row(*map(Text, row))
    Console().print(framed)


def _print_plain(table: Table) -> None:
    lines = [table.columns, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(table.columns))]
    if table.title:
        print(table.title)
    for line in lines if any(table.columns) else lines[1:]:
        cells = [
            text.rjust(width) if side == "r" else text.ljust(width)
            for text, width, side in zip(line, widths, table.align, strict=True)
        ]
        print("  ".join(cells).rstrip())


def number(value: float | None, digits: int = 0) -> str:
    """``1234.5`` as ``1,234.5``; whole numbers without decimals; what is not known as ``unknown``."""
    if value is None or not math.isfinite(value):
        return "unknown"
    return f"{value:,.{0 if float(value).is_integer() else digits}f}"


def joules(value: float | None, digits: int = 3) -> str:
    """``0.0204873`` as ``0.02049``: below 1 J four digits are significant; what is not known as ``unknown``."""
    if value is None or not 0 < abs(value) < 1:
        return number(value, digits)
    return f"{value:#.4g}"


def percent(part: float | None, whole: float) -> str:
    """``part`` of ``whole`` as ``12.3 %``; empty where the whole is nothing."""
    if part is None or not whole:
        return ""
    return f"{100 * part / whole:.1f} %"


def share(value: float, form: str) -> str:
    """``0.0123`` as ``1.23 %`` with the format ``form``; what is not known as ``unknown``."""
    return f"{100 * value:{form}} %" if math.isfinite(value) else "unknown"


def seconds(value: float | None) -> str:
    """A duration in milliseconds with four significant digits, as ``290.7 ms``."""
    if value is None or not math.isfinite(value):
        return "unknown"
    milliseconds = 1e3 * value
    digits = 0 if milliseconds >= 1000 else max(0, 3 - math.floor(math.log10(milliseconds))) if milliseconds > 0 else 0
    return f"{milliseconds:,.{digits}f} ms"


def point_text(point: Mapping[str, Any]) -> str:
    """``tm=16, tn=16``."""
    return ", ".join(f"{name}={int(value)}" for name, value in point.items())
