"""Search spaces: named hardware parameters with their legal values, and points of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.errors import InputError, did_you_mean

__all__ = ["DesignPoint", "Parameter", "SearchSpace", "point_at"]

_Value = TypeVar("_Value")

DesignPoint = Mapping[str, NDArray[np.int64]]
"""Parameter name -> int64 array of shape S, () for one point, (N,) for N points."""


def point_at(points: DesignPoint, index: int | NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """The point (or points) of a batch at ``index``."""
    return {name: np.asarray(values)[index] for name, values in points.items()}


@dataclass(frozen=True, eq=False)
class Parameter:
    """One hardware parameter. ``values`` are its legal values, int64, strictly increasing.

    ``slack`` promises: raising the parameter, all else equal, never makes an iteration slower and never lowers a
    resource. A search may then bound a whole line of points by its two ends. Every parameter but a ``choice`` promises
    the second half: no resource falls when it is raised. A choice is one of several kinds of design, numbered.
    """

    name: str
    values: NDArray[np.int64]
    meaning: str
    unit: str
    slack: bool = False
    choice: bool = False
    idle: tuple[str, int] | None = None
    """(Name and value of a choice): with it the parameter has no meaning, and stays at its lowest."""

    def __post_init__(self) -> None:
        """Refuse an empty list of values or one that does not increase."""
        if len(self.values) == 0 or np.any(np.diff(self.values) <= 0):
            raise ValueError(f"parameter {self.name}: values must be strictly increasing and not empty")

    @property
    def allowed(self) -> str:
        """The legal values in words, for error messages."""
        low, high = int(self.values[0]), int(self.values[-1])
        if len(self.values) == high - low + 1:
            return f"{low} to {high}"
        if len(self.values) <= 12:
            return ", ".join(str(v) for v in self.values)
        return f"{', '.join(str(v) for v in self.values[:4])}, ... {high} ({len(self.values)} values)"


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """The Cartesian product of the parameters' legal values; a point is legal whether or not it fits the board."""

    parameters: tuple[Parameter, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, in order."""
        return tuple(p.name for p in self.parameters)

    @property
    def size(self) -> int:
        """Number of points."""
        return prod(len(p.values) for p in self.parameters)

    def __getitem__(self, name: str) -> Parameter:
        """The parameter called ``name``. Raises InputError naming the choices."""
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise InputError(f"parameter {name}", "unknown parameter", None, did_you_mean(name, self.names))

    def resolve(self, values: Mapping[str, _Value]) -> dict[str, _Value]:
        """``values`` under the parameters' own names: case and underscores do not matter (``TB`` is ``t_b``).

        Raises InputError for an unknown name, or two names for one parameter.
        """
        plain = {name.replace("_", ""): name for name in self.names}
        out: dict[str, _Value] = {}
        for given, value in values.items():
            name = plain.get(given.lower().replace("_", ""), given)
            self[name]
            if name in out:
                raise InputError(f"parameter {name}", "is given twice", given)
            out[name] = value
        return out

    def split(self) -> tuple[SearchSpace, SearchSpace]:
        """The space of the parameters without slack, and the space of those with slack."""
        return (
            SearchSpace(tuple(p for p in self.parameters if not p.slack)),
            SearchSpace(tuple(p for p in self.parameters if p.slack)),
        )

    def restrict(self, fixed: Mapping[str, int]) -> SearchSpace:
        """The subspace in which the named parameters have one value. Raises InputError for one that is not legal."""
        fixed = self.resolve(fixed)
        for name, value in fixed.items():
            if value not in self[name].values:
                raise InputError(f"parameter {name}", "is not a legal value", value, self[name].allowed)
        return SearchSpace(
            tuple(replace(p, values=np.array([fixed[p.name]])) if p.name in fixed else p for p in self.parameters)
        )

    def points(self, start: int, stop: int) -> dict[str, NDArray[np.int64]]:
        """Points number ``start`` to ``stop`` - 1 in mixed-radix order, the last parameter fastest; shape (N,)."""
        index = np.arange(start, min(stop, self.size), dtype=np.int64)
        out: dict[str, NDArray[np.int64]] = {}
        for parameter in reversed(self.parameters):
            index, digit = np.divmod(index, len(parameter.values))
            out[parameter.name] = parameter.values[digit]
        return {name: out[name] for name in self.names}

    def chunks(self, size: int) -> Iterator[dict[str, NDArray[np.int64]]]:
        """All points, ``size`` at a time."""
        for start in range(0, self.size, size):
            yield self.points(start, start + size)

    def corner(self, *, low: bool) -> dict[str, NDArray[np.int64]]:
        """The point with every parameter at its lowest, or highest, value; shape ()."""
        return {p.name: np.asarray(p.values[0 if low else -1]) for p in self.parameters}

    def contains(self, point: Mapping[str, ArrayLike]) -> NDArray[np.bool_]:
        """Whether each point has legal values for exactly these parameters, bool [S]."""
        if set(point) != set(self.names):
            return np.asarray(False)
        inside = [np.isin(np.asarray(point[p.name]), p.values) for p in self.parameters]
        return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*inside)))

    def as_point(self, values: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.int64]]:
        """``values`` broadcast to one shape, checked. Raises InputError for a missing, unknown or illegal parameter."""
        values = self.resolve(values)
        for name in self.names:
            if name not in values:
                raise InputError(f"parameter {name}", "is missing", None, self[name].allowed)
        arrays = np.broadcast_arrays(*(np.asarray(values[name]) for name in self.names))
        for name, array in zip(self.names, arrays, strict=True):
            wrong = array[~np.isin(array, self[name].values)]
            if wrong.size:
                raise InputError(f"parameter {name}", "is not a legal value", wrong.flat[0].item(), self[name].allowed)
        return {name: array.astype(np.int64) for name, array in zip(self.names, arrays, strict=True)}
