"""The trade-off of a panel: every evaluated point, the front of those that fit, the papers' designs, the optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.estimate import Float
from dse.reports.axes import Axis, choose_axes
from dse.reports.panels import Panel
from dse.reports.text import parameters
from dse.results import Candidate, Cell

__all__ = ["Cloud", "Mark", "ParetoData", "pareto_data", "pareto_mask", "thin"]

_FARTHEST = 30.0


@dataclass(frozen=True)
class Cloud:
    """The evaluated points of one family."""

    family: str
    names: tuple[str, ...]
    """Parameter names: the columns of ``frame`` beside x, y and feasible."""
    frame: pd.DataFrame
    total: int
    """Points with known figures before thinning; ``frame`` has as many rows or fewer."""
    unknown: int
    """Points left out because a figure of theirs is not known."""


@dataclass(frozen=True)
class Mark:
    """A point that is drawn on its own. ``kind``: ``best`` (not proven), ``optimum`` (proven) or ``paper``."""

    kind: str
    family: str
    label: str
    x: float
    y: float
    feasible: bool
    parameters: str


@dataclass(frozen=True)
class ParetoData:
    """Everything in the trade-off figure, in the axes' units."""

    x: Axis
    y: Axis
    clouds: tuple[Cloud, ...]
    front: pd.DataFrame
    """Columns x, y, family, parameters: feasible points of any family that none dominates, by rising x."""
    marks: tuple[Mark, ...]
    view: tuple[float, float, float, float]
    """Lowest and highest x, then y, of the points that are worth a first look; NaN without points."""
    outside: int
    """Drawn points beyond the view."""

    @property
    def log(self) -> tuple[bool, bool]:
        """Whether all values on x and on y are above 0, so that the axis can be logarithmic."""
        return _all_positive(self, "x"), _all_positive(self, "y")


def pareto_data(panel: Panel, most: int) -> ParetoData:
    """The panel's points, at most ``most`` a cell (front points are kept, the rest evenly thinned in their order)."""
    x, y = choose_axes(panel.cells)
    whole = [_cloud(cell, x, y) for cell in panel.cells]
    front = _front(panel, whole, x, y)
    clouds = tuple(
        Cloud(cloud.family, cloud.names, thin(cloud.frame, most), cloud.total, cloud.unknown) for cloud in whole
    )
    marks = [mark for cell in panel.cells for mark in _marks(cell, x, y)]
    view, outside = _view(clouds, front, marks)
    return ParetoData(x, y, clouds, front, tuple(marks), view, outside)


def pareto_mask(x: Float, y: Float) -> NDArray[np.bool_]:
    """Which points no other dominates when both figures are minimised, [N]; of equal points the first only."""
    mask = np.zeros(len(x), dtype=bool)
    lowest = math.inf
    for i in np.lexsort((y, x)):
        if y[i] < lowest:
            mask[i], lowest = True, float(y[i])
    return mask


def thin(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most about ``most`` rows: all that are on the feasible front, and of the others every k-th."""
    if len(frame) <= most:
        return frame
    fits = np.flatnonzero(frame["feasible"].to_numpy())
    on_front = fits[pareto_mask(frame["x"].to_numpy()[fits], frame["y"].to_numpy()[fits])]
    others = np.setdiff1d(np.arange(len(frame)), on_front)
    kept = others[np.linspace(0, len(others) - 1, max(0, most - len(on_front))).astype(np.int64)]
    return frame.iloc[np.sort(np.concatenate([on_front, kept]))]


def _cloud(cell: Cell, x: Axis, y: Axis) -> Cloud:
    points = cell.points
    names = tuple(name for name in _parameter_names(cell) if name in points.columns)
    fits = points["feasible"] if "feasible" in points.columns else pd.Series(True, index=points.index)
    frame = pd.DataFrame({"x": x.of_points(points), "y": y.of_points(points), "feasible": fits.to_numpy(dtype=bool)})
    for name in names:
        frame[f"parameter {name}"] = points[name].to_numpy()
    known = np.isfinite(frame["x"].to_numpy()) & np.isfinite(frame["y"].to_numpy())
    frame = frame[known].drop_duplicates(ignore_index=True)
    return Cloud(cell.family, names, frame, len(frame), int((~known).sum()))


def _parameter_names(cell: Cell) -> Sequence[str]:
    nearest = [cell.diagnosis.nearest] if cell.diagnosis else []
    for candidate in [*([cell.best] if cell.best else []), *cell.pareto, *cell.papers, *nearest]:
        return tuple(candidate.point)
    return ()


def _front(panel: Panel, clouds: Sequence[Cloud], x: Axis, y: Axis) -> pd.DataFrame:
    """The front over all families, of the evaluated points and of what the proofs found."""
    rows: list[tuple[float, float, str, str]] = []
    for cell, cloud in zip(panel.cells, clouds, strict=True):
        found = [*cell.pareto, *([cell.best] if cell.best else [])]
        rows += [(x.of(c), y.of(c), cell.family, parameters(c.point)) for c in found if c.feasible]
        fits = cloud.frame[cloud.frame["feasible"]]
        fits = fits[pareto_mask(fits["x"].to_numpy(), fits["y"].to_numpy())]
        values = fits[[f"parameter {name}" for name in cloud.names]].to_numpy()
        points = [parameters(dict(zip(cloud.names, row, strict=True))) for row in values]
        rows += list(zip(fits["x"], fits["y"], [cell.family] * len(fits), points, strict=True))
    frame = pd.DataFrame(rows, columns=["x", "y", "family", "parameters"]).astype({"x": float, "y": float})
    frame = frame[np.isfinite(frame["x"]) & np.isfinite(frame["y"])]
    frame = frame[pareto_mask(frame["x"].to_numpy(), frame["y"].to_numpy())]
    sorted_frame: pd.DataFrame = frame.sort_values("x", ignore_index=True)
    return sorted_frame


def _marks(cell: Cell, x: Axis, y: Axis) -> list[Mark]:
    def mark(kind: str, label: str, candidate: Candidate) -> Mark:
        text = parameters(candidate.point)
        return Mark(kind, cell.family, label, x.of(candidate), y.of(candidate), candidate.feasible, text)

    proven = cell.proof.kind in ("exhaustive", "bound")
    marks = [mark("optimum" if proven else "best", cell.family, cell.best)] if cell.best else []
    marks += [mark("paper", candidate.origin, candidate) for candidate in cell.papers]
    return [m for m in marks if math.isfinite(m.x) and math.isfinite(m.y)]


def _view(
    clouds: Sequence[Cloud], front: pd.DataFrame, marks: Sequence[Mark]
) -> tuple[tuple[float, float, float, float], int]:
    """The box of the marks and of all points up to 30 times the lowest x that fits; and how many are outside."""
    drawn = pd.concat([front[["x", "y"]], *(cloud.frame[["x", "y"]] for cloud in clouds)])
    marked = pd.DataFrame([(m.x, m.y) for m in marks], columns=["x", "y"])
    everything = pd.concat([drawn, marked])
    if everything.empty:
        return (math.nan, math.nan, math.nan, math.nan), 0
    limit = max(_FARTHEST * front["x"].min(), marked["x"].max()) if len(front) else math.inf
    seen = everything[everything["x"] <= limit]
    low, high = seen.min(), seen.max()
    box = (float(low["x"]), float(high["x"]), float(low["y"]), float(high["y"]))
    return box, int((drawn["x"] > limit).sum())


def _all_positive(data: ParetoData, axis: str) -> bool:
    values = [*data.front[axis], *(getattr(mark, axis) for mark in data.marks)]
    return all(v > 0 for v in values) and all(bool((cloud.frame[axis] > 0).all()) for cloud in data.clouds)
