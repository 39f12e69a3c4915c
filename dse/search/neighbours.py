"""Points near a good one: a parameter a step or a factor up or down, or a factor handed from one to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from dse.search.encoding import Encoding

__all__ = ["neighbours"]

_FACTORS = (2, 3, 4)


def neighbours(encoding: Encoding, point: Mapping[str, int]) -> NDArray[np.int64]:
    """Steps [N,F] of points near ``point`` whose resources fit, each with its buffers and with the most that fit.

    Lanes multiply: where one loop takes a factor that another gives up, their number stays. Buffers share the memory:
    where one shrinks, another may grow. A value that is not legal stands for the nearest that is.
    """
    free = encoding.free
    values = np.array([point[p.name] for p in free], dtype=np.float64)
    rows = []
    for change in _changes(encoding, values):
        row = values.copy()
        row[list(change)] = list(change.values())
        rows.append(row)
    steps = np.stack([_nearest(p.values, np.array(rows)[:, i]) for i, p in enumerate(free)], axis=1)
    slack = np.array([p.slack for p in free])
    bare = np.where(slack, 0, steps)
    steps = np.unique(np.concatenate([steps, bare]), axis=0)
    fitting = steps[encoding.problem.fits(encoding.points(steps))]
    return np.unique(encoding.fill(fitting), axis=0)


def _changes(encoding: Encoding, values: NDArray[np.float64]) -> Iterator[dict[int, float]]:
    """Number of a free parameter -> its new value, for each neighbour."""
    free = encoding.free
    for i, parameter in enumerate(free):
        if parameter.choice:
            yield from ({i: float(value)} for value in parameter.values)
            continue
        step = 1.0 if not parameter.slack or len(parameter.values) < 2 else float(np.diff(parameter.values).min())
        others = [j for j, p in enumerate(free) if j != i and p.slack == parameter.slack and not p.choice]
        yield from ({i: values[i] + change} for change in (-step, step))
        for factor in _FACTORS:
            yield {i: values[i] * factor}
            yield {i: values[i] / factor}
            yield from ({i: values[i] / factor, j: values[j] * factor} for j in others)


def _nearest(legal: NDArray[np.int64], wanted: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index of the legal value nearest to each of ``wanted``."""
    above = np.clip(np.searchsorted(legal, wanted), 1, max(len(legal) - 1, 1))
    below = above - 1
    above = np.minimum(above, len(legal) - 1)
    return np.where(wanted - legal[below] <= legal[above] - wanted, below, above)
