"""Points as the candidates of a result, with their estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dse.results import Candidate
from dse.schema import estimate_json
from dse.search.problem import Points, Problem

__all__ = ["candidate", "candidates"]


def candidate(problem: Problem, point: Mapping[str, int], origin: str) -> Candidate:
    """One point with its estimate, per-layer detail included."""
    arrays = {name: np.asarray(point[name], dtype=np.int64) for name in problem.space.names}
    estimate = problem.evaluate(arrays, detail=True)
    return Candidate(
        point={name: int(value) for name, value in arrays.items()},
        estimate=estimate_json(problem.workload, estimate),
        origin=origin,
        objectives=tuple(float(estimate.objective(name)) for name in problem.objectives),
    )


def candidates(problem: Problem, points: Points, origins: Sequence[str]) -> tuple[Candidate, ...]:
    """``points`` [M] with their estimates, without per-layer detail."""
    if not origins:
        return ()
    estimate = problem.evaluate(points)
    values = problem.values(estimate)
    return tuple(
        Candidate(
            point={name: int(points[name][row]) for name in problem.space.names},
            estimate=estimate_json(problem.workload, estimate, row),
            origin=origin,
            objectives=tuple(values[row].tolist()),
        )
        for row, origin in enumerate(origins)
    )
