"""Axes of the trade-off figure: how an objective is read from a table of points or from one candidate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dse.estimate import Float
from dse.reports.text import number, time_unit
from dse.results import Candidate, Cell

__all__ = ["Axis", "choose_axes", "scaled"]


@dataclass(frozen=True)
class Axis:
    """One objective as an axis: value in the results times ``factor`` is what is drawn, in ``unit``."""

    objective: str
    title: str
    unit: str
    factor: float
    column: str
    """Key of an estimate or of its resources, and column of the points."""
    resource: str = ""
    """The resource whose capacity bounds this axis; empty where none does."""

    @property
    def label(self) -> str:
        """Title with the unit."""
        return f"{self.title} ({self.unit})"

    def of(self, candidate: Candidate) -> float:
        """The candidate's value as drawn; NaN where unknown."""
        estimate = candidate.estimate
        if self.resource:
            return number(estimate["resources"].get(self.column)) * self.factor
        return number(estimate.get(self.column)) * self.factor

    def of_points(self, points: pd.DataFrame) -> Float:
        """Every point's value as drawn, [N]; NaN where unknown."""
        for name in (self.column, f"objective_{self.objective}"):
            if name in points.columns:
                return pd.to_numeric(points[name], errors="coerce").to_numpy(dtype=np.float64) * self.factor
        return np.full(len(points), math.nan)


_AXES = {
    "latency": Axis("latency", "iteration time", "s", 1.0, "iteration_s"),
    "energy": Axis("energy", "energy per iteration", "J", 1.0, "energy_j"),
    "dsp": Axis("dsp", "DSP blocks", "count", 1.0, "dsp", "dsp"),
    "bram": Axis("bram", "BRAM36 blocks", "count", 1.0, "bram36", "bram36"),
    "bandwidth": Axis("bandwidth", "mean DRAM bandwidth", "GB/s", 1e-9, "dram_bytes_per_s"),
}


def choose_axes(cells: Iterable[Cell]) -> tuple[Axis, Axis]:
    """The first two objectives that some candidate has a figure for; latency and DSP blocks fill up."""
    cells = tuple(cells)
    candidates = [c for cell in cells for c in _candidates(cell)]
    wanted = [name for cell in cells[:1] for name in cell.objectives]
    known = [
        _AXES[name]
        for name in dict.fromkeys([*wanted, "latency", "dsp", "bram"])
        if name in _AXES and (not candidates or any(not math.isnan(_AXES[name].of(c)) for c in candidates))
    ]
    first, second = [*known, _AXES["latency"], _AXES["dsp"]][:2]
    if second.objective == "latency":
        first, second = second, first
    return scaled(first, candidates), scaled(second, candidates)


def scaled(axis: Axis, candidates: Iterable[Candidate]) -> Axis:
    """``axis`` in the unit of time that suits the fastest candidate that fits; other axes as they are."""
    if axis.objective != "latency":
        return axis
    known = [c for c in candidates if axis.of(c) > 0]
    times = [axis.of(c) for c in known if c.feasible] or [axis.of(c) for c in known]
    factor, unit = time_unit(min(times, default=1e-3))
    return Axis(axis.objective, axis.title, unit, factor, axis.column)


def _candidates(cell: Cell) -> list[Candidate]:
    nearest = [cell.diagnosis.nearest] if cell.diagnosis else []
    return [*([cell.best] if cell.best else []), *cell.pareto, *cell.papers, *nearest]
