"""Points as shares in [0, 1), so that nearly everything a sampler suggests fits the board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.estimate import Float
from dse.search.problem import Points, Problem, prefix_lengths
from dse.space import Parameter

__all__ = ["Encoding"]

_SIZE_MATTERS = {"energy", "bram", "bandwidth"}
"""Objectives that larger buffers may worsen."""


def _edges(parameter: Parameter) -> Float:
    """Where each value's cell begins and the last one ends [V+1]: in log value, for slack parameters in steps."""
    values = parameter.values.astype(np.float64)
    if parameter.slack or parameter.choice or len(values) == 1:
        return np.arange(len(values) + 1, dtype=np.float64)
    scaled = values if values[0] >= 1 else values - values[0] + 1.0
    return np.asarray(np.log(np.r_[scaled, scaled[-1] + (scaled[-1] - scaled[-2])]))


@dataclass(frozen=True)
class Encoding:
    """Decodes shares parameter by parameter: a share picks among the values that fit with all later ones lowest.

    Resources never fall when a parameter is raised, so these values are a prefix of the legal ones; its length is
    found by bisection, once for each choice of the earlier parameters. Where nothing fits the lowest value is taken.

    Where no objective rewards a smaller buffer, what the buffers leave over is given to them (``fill``).
    """

    problem: Problem
    free: tuple[Parameter, ...]
    """Parameters with more than one value, in order."""
    edges: tuple[Float, ...]
    known: dict[tuple[int, ...], int] = field(default_factory=dict)
    """Steps of the first parameters -> number of values of the next one that fit, at least 1."""

    @staticmethod
    def of(problem: Problem) -> Encoding:
        """The encoding of ``problem.space``."""
        free = tuple(p for p in problem.space.parameters if len(p.values) > 1)
        return Encoding(problem, free, tuple(_edges(p) for p in free))

    def decode(self, shares: Float) -> NDArray[np.int64]:
        """Steps (indexes into the legal values) [N,F] of ``shares`` [N,F] in [0, 1], F the free parameters."""
        steps = np.zeros(shares.shape, dtype=np.int64)
        for column, edges in enumerate(self.edges):
            lengths = self._lengths(steps[:, :column])
            place = edges[0] + shares[:, column] * (edges[lengths] - edges[0])
            found = np.searchsorted(edges, place, side="right") - 1
            steps[:, column] = np.clip(found, 0, lengths - 1)
        return steps

    def fill(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """``steps`` [N,F] with slack parameters raised, the last one first, as far as the board allows.

        Steps are returned as they are where an objective depends on the size of the buffers.
        """
        if _SIZE_MATTERS & set(self.problem.objectives):
            return steps
        filled = steps.copy()
        for column in reversed(range(len(self.free))):
            if self.free[column].slack:
                lengths = prefix_lengths(self.problem, self.points(filled), self.free[column])
                filled[:, column] = np.maximum(filled[:, column], lengths - 1)
        return filled

    def encode(self, point: Mapping[str, int]) -> list[float]:
        """Shares that decode to ``point``, or to the nearest smaller one that fits; one per free parameter."""
        shares: list[float] = []
        steps: list[int] = []
        for parameter, edges in zip(self.free, self.edges, strict=True):
            length = int(self._lengths(np.array([steps], dtype=np.int64))[0])
            step = min(int(np.searchsorted(parameter.values, point[parameter.name])), length - 1)
            middle = (edges[step] + edges[step + 1]) / 2
            shares.append(float((middle - edges[0]) / (edges[length] - edges[0])))
            steps.append(step)
        return shares

    def points(self, steps: NDArray[np.int64]) -> Points:
        """The points of ``steps`` [N,F]."""
        chosen = {p.name: p.values[steps[:, column]] for column, p in enumerate(self.free)}
        fixed = {p.name: np.repeat(p.values[:1], len(steps)) for p in self.problem.space.parameters}
        return {name: chosen.get(name, fixed[name]) for name in self.problem.space.names}

    def _lengths(self, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each row of steps [N,C] of the first C parameters, how many values of the next fit, at least 1."""
        keys: Sequence[tuple[int, ...]] = [tuple(row) for row in steps.tolist()]
        missing = list(dict.fromkeys(key for key in keys if key not in self.known))
        if missing:
            column = steps.shape[1]
            rows = np.zeros((len(missing), len(self.free)), dtype=np.int64)
            rows[:, :column] = missing
            lengths = prefix_lengths(self.problem, self.points(rows), self.free[column])
            self.known.update(zip(missing, np.maximum(lengths, 1).tolist(), strict=True))
        return np.array([self.known[key] for key in keys], dtype=np.int64)
