"""What the benchmarks share: one core, problems by name, and figures printed beside their limits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from dse.devices import load_device
from dse.networks import load_network
from dse.registry import family_named
from dse.search import Problem
from dse.workload import Workload, precision_named

__all__ = ["Figure", "one_core", "print_figures", "print_table", "problem"]

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Figure:
    """One measured number. ``limit`` is the most it may be, or with ``at_least`` the least; None where none is set."""

    what: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False

    @property
    def passed(self) -> bool:
        """Whether the limit is kept."""
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def one_core() -> None:
    """Keep this process, and those it starts, to one core (where the system can) and one thread."""
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})  # benchmarks at the same time rarely share one


def problem(
    family: str,
    network: str,
    device: str,
    *,
    batch_size: int = 128,
    precision: str = "fp32",
    objectives: Sequence[str] = ("latency",),
) -> Problem:
    """The search problem of shipped parts, by their names."""
    workload = Workload(load_network(network), batch_size, precision_named(precision))
    return Problem.of(family_named(family), workload, load_device(device), objectives=objectives)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need, the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        first, *rest = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join([row[0].ljust(len(first)), *rest]), flush=True)


def print_figures(figures: Sequence[Figure]) -> int:
    """Print each figure, its limit and whether it is kept; returns 1 where one is not, else 0."""
    rows = []
    for figure in figures:
        limit = "" if figure.limit is None else f"{'>=' if figure.at_least else '<='} {_number(figure.limit)}"
        verdict = "" if figure.limit is None else "pass" if figure.passed else "MISSED"
        rows.append([figure.what, _number(figure.value), figure.unit, limit, verdict])
    print_table(["figure", "value", "unit", "limit", ""], rows)
    return int(not all(figure.passed for figure in figures))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
