"""Published tables against the models. The tables are data (``models/published/*.toml``): a file a paper.

A file has ``paper`` and ``[[case]]`` tables. A case is one design in one reading with ``[[case.row]]`` entries, each a
published figure with its tolerance and a status that says what agreement means:

- ``reproduced``: the formulas give the figure with nothing adjusted to it,
- ``fitted``: a constant was determined from this very figure,
- ``close``: the model covers the same quantity by other means; agreement within the tolerance is plausibility,
- ``contradicted``: the figure cannot follow from the paper's own numbers; the deviation is confirmed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.errors import InputError
from dse.fields import Fields, read_toml

if TYPE_CHECKING:
    from dse.cluster.published import ClusterMeasured
    from dse.measure import Measured

__all__ = ["STATUSES", "ValidationRow", "validate"]

STATUSES = ("reproduced", "fitted", "close", "contradicted")


@dataclass(frozen=True, slots=True)
class ValidationRow:
    """A published figure and what the model says. ``deviation`` = model / published - 1."""

    paper: str
    table: str
    row: str
    quantity: str
    unit: str
    published: float
    model: float
    deviation: float
    tolerance: float
    status: str
    ok: bool
    note: str = ""


def validate(directory: Path | None = None) -> list[ValidationRow]:
    """Every published figure, in file order, and the counts that network files state about themselves.

    ``directory`` holds the tables (default: those of the package). Raises InputError for a malformed table.
    """
    folder = directory or Path(__file__).parent / "models" / "published"
    rows = [row for path in sorted(folder.glob("*.toml")) for row in _file_rows(path)]
    return rows if directory else rows + _network_rows()


def _file_rows(path: Path) -> list[ValidationRow]:
    fields = read_toml(path)
    paper = fields.string("paper")
    cases = fields.tables("case")
    fields.close()
    return [row for case in cases for row in _case_rows(paper, case)]


def _case_rows(paper: str, case: Fields) -> list[ValidationRow]:
    case.string("name")
    measured = _measured(case)
    rows = [_row(paper, entry, measured) for entry in case.tables("row")]
    case.close()
    return rows


def _measured(case: Fields) -> Measured | ClusterMeasured:
    """What a case describes: an accelerator on a board, or a cluster of boards."""
    if "cluster" in case:
        from dse.cluster.published import ClusterMeasured

        return ClusterMeasured.of(case)
    from dse.measure import Measured

    return Measured.of(case)


def _row(paper: str, entry: Fields, measured: Measured | ClusterMeasured) -> ValidationRow:
    published, tolerance = entry.number("published"), entry.number("tolerance")
    status = entry.string("status", choices=STATUSES)
    make = partial(
        _judge,
        paper=paper,
        table=entry.string("table"),
        row=entry.string("name"),
        quantity=entry.string("quantity"),
        unit=entry.string("unit"),
        published=published,
        tolerance=tolerance,
        status=status,
        note=entry.string("note", ""),
    )
    model = measured.figure(entry)
    entry.close()
    return make(model=model)


def _judge(*, published: float, model: float, tolerance: float, status: str, **text: Any) -> ValidationRow:
    """A row with its deviation; a contradicted figure is ok where it does deviate."""
    deviation = model / published - 1 if published else float(model != 0)
    within = abs(deviation) <= tolerance + 1e-12
    ok = not within if status == "contradicted" else within
    return ValidationRow(
        published=published, model=model, deviation=deviation, tolerance=tolerance, status=status, ok=ok, **text
    )


def _network_rows() -> list[ValidationRow]:
    from dse.networks import list_networks, load_network, published_counts

    rows = []
    for name in sorted(list_networks()):
        try:
            network, counts = load_network(name), published_counts(name)
        except InputError as error:
            raise InputError(f"network {name}", "cannot be validated", str(error)) from error
        rows += [
            _judge(
                paper=count.source,
                table="",
                row=name,
                quantity=count.quantity,
                unit="",
                published=float(count.value),
                model=float(count.computed(network)),
                tolerance=float(count.tolerance),
                status="reproduced",
                note="",
            )
            for count in counts
        ]
    return rows
