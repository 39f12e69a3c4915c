"""Ranking configurations of an OpenCL kernel by the latency indicator of Hype-training, with a peak-MAC check.

The printed Eq. 1 is LI = M K N / (work group * F_max). The paper's own values (81.81, 142.57) hold a further factor K,
which does not change the order within one problem; here the printed equation counts. F_max comes from the user: no
model of it can be fitted to the five clocks that Table 4 implies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dse.errors import InputError, did_you_mean
from dse.offload.csv_table import Row, read_csv, shipped

__all__ = ["CONFIGURATIONS", "Configuration", "Ranked", "load_configurations", "rank", "rank_correlation"]

CONFIGURATIONS = {"hype_table4": "Hype-training (ICS 2021), Table 4: five MatMul kernels"}
"""Names of tables that come with the package -> what they are."""

_REQUIRED = ("op", "cu", "simd", "work_group", "unroll", "f_max_mhz")


@dataclass(frozen=True, slots=True)
class Configuration:
    """One build of a kernel. ``measured_s`` is NaN where it was not run."""

    op: str
    compute_units: int
    simd_width: int
    work_group: int
    unroll: int
    f_max_hz: float
    measured_s: float = math.nan

    @property
    def lanes(self) -> int:
        """Multiply-accumulates a clock cycle at most: compute units x SIMD width x unrolled iterations."""
        return self.compute_units * self.simd_width * self.unroll


@dataclass(frozen=True, slots=True)
class Ranked:
    """A configuration with its indicator; ``position`` 1 is the fastest expected, ties share the lower number."""

    configuration: Configuration
    position: int
    indicator: float
    least_s: float
    """Seconds that the multiply-accumulates take with every lane of every board busy in every cycle."""
    impossible: bool
    """The measured time is below ``least_s``."""


def rank(configurations: Sequence[Configuration], macs: int, boards: int = 1) -> list[Ranked]:
    """Configurations of one operation by ascending latency indicator, for a problem of ``macs`` split over ``boards``.

    Raises InputError where they are of several operations: indicators of different operations do not compare.
    """
    operations = sorted({c.op for c in configurations})
    if len(operations) > 1:
        raise InputError("rank", "configurations are of several operations", ", ".join(operations), "one operation")
    if macs < 1 or boards < 1:
        raise InputError("rank", "multiply-accumulates and boards must be whole numbers", f"{macs}, {boards}", ">= 1")
    scores = [macs / (c.work_group * c.f_max_hz) for c in configurations]
    ranked = []
    for configuration, value in zip(configurations, scores, strict=True):
        least_s = macs / (configuration.lanes * configuration.f_max_hz * boards)
        position = 1 + sum(other < value for other in scores)
        impossible = configuration.measured_s < least_s
        ranked.append(Ranked(configuration, position, value, least_s, impossible))
    return sorted(ranked, key=lambda r: r.indicator)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's coefficient, ties at their mean rank; NaN for fewer than three pairs or a constant column."""
    if len(first) < 3 or len(set(first)) == 1 or len(set(second)) == 1:
        return math.nan
    import pandas as pd

    return float(pd.Series(first).rank().corr(pd.Series(second).rank()))


def load_configurations(reference: str | Path) -> tuple[list[Configuration], str]:
    """Configurations of a CSV file, or the shipped table of that name, and the document they are from.

    Columns: op, cu, simd, work_group, unroll, f_max_mhz; optional measured_ms. Raises InputError, one line.
    """
    path = Path(reference)
    if str(reference) in CONFIGURATIONS and not path.exists():
        path = shipped(str(reference))
    elif not path.suffix and not path.exists():
        near = did_you_mean(str(reference), CONFIGURATIONS)
        raise InputError("configurations", "unknown table", str(reference), near)
    table = read_csv(path, _REQUIRED, ("measured_ms",))
    return [_configuration(row) for row in table.rows], table.source


def _configuration(row: Row) -> Configuration:
    return Configuration(
        op=row.text("op"),
        compute_units=row.whole("cu"),
        simd_width=row.whole("simd"),
        work_group=row.whole("work_group"),
        unroll=row.whole("unroll"),
        f_max_hz=row.number("f_max_mhz") * 1e6,
        measured_s=row.number("measured_ms", math.nan) / 1e3,
    )
