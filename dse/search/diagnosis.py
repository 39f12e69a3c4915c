"""Where nothing fits: which resource is short, by how much, and which board would do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.errors import InputError
from dse.estimate import Estimate, Float
from dse.results import Diagnosis
from dse.search.candidates import candidate
from dse.search.problem import Points, Problem, feasible_points, largest_buffers, root

__all__ = ["diagnose", "feasible_somewhere", "smallest_board"]

_RANDOM_POINTS = 512
_BLOCK = 256


def diagnose(problem: Problem, fixed: Mapping[str, int] | None = None) -> Diagnosis:
    """Explain why no point of ``problem`` is feasible.

    The nearest point is the one with the smallest worst violation: the lowest point where buffers always suffice, else
    the best of the papers' points, corners and fixed pseudo-random points after changing one parameter at a time.
    """
    nearest, violation = _nearest(problem)
    return Diagnosis(
        short={name: value for name, value in violation.items() if not value <= 0},
        nearest=candidate(problem, nearest, "search"),
        smallest_board=smallest_board(problem, fixed),
    )


def _nearest(problem: Problem) -> tuple[dict[str, int], dict[str, float]]:
    points = _pool(problem)
    estimate = problem.evaluate(points)
    row = int(np.argmin(_worst(estimate)))
    worst = float(_worst(estimate)[row])
    while True:
        here = {name: int(column[row]) for name, column in points.items()}
        violation = {name: float(value[row]) for name, value in estimate.violation.items()}
        lines = _lines(problem, here)
        on_lines = problem.evaluate(lines)
        best = int(np.argmin(_worst(on_lines)))
        if not _worst(on_lines)[best] < worst:
            return here, violation
        points, estimate, row, worst = lines, on_lines, best, float(_worst(on_lines)[best])


def _worst(estimate: Estimate) -> Float:
    """The largest violation of each point [N]; unknown counts as infinite."""
    return np.asarray(np.nan_to_num(np.max(list(estimate.violation.values()), axis=0), nan=np.inf, posinf=np.inf))


def _pool(problem: Problem) -> Points:
    space, draw = problem.space, np.random.default_rng(0)
    corners = [{name: int(v) for name, v in space.corner(low=low).items()} for low in (True, False)]
    rows = [*corners, *problem.heuristics()]
    pool = {}
    for parameter in space.parameters:
        step = (len(parameter.values) * draw.random(_RANDOM_POINTS) ** 2).astype(np.int64)
        listed: NDArray[np.int64] = np.array([row[parameter.name] for row in rows], dtype=np.int64)
        pool[parameter.name] = np.concatenate([listed, parameter.values[step]])
    return pool


def _lines(problem: Problem, point: Mapping[str, int]) -> Points:
    """All points that differ from ``point`` in one parameter."""
    parts = []
    for parameter in problem.space.parameters:
        line = {name: np.full(len(parameter.values), value) for name, value in point.items()}
        line[parameter.name] = parameter.values
        parts.append(line)
    return {name: np.concatenate([part[name] for part in parts]) for name in point}


def smallest_board(problem: Problem, fixed: Mapping[str, int] | None = None) -> str:
    """Name of the board with the fewest LUTs on which the family has a feasible point; empty where none was found."""
    from dse.devices import list_devices, load_device

    boards = sorted((load_device(name) for name in list_devices()), key=lambda board: (board.lut, board.name))
    return next((board.name for board in boards if _feasible_on(board, problem, fixed)), "")


def _feasible_on(board: Device, problem: Problem, fixed: Mapping[str, int] | None) -> bool:
    try:
        there = Problem.of(problem.model, problem.workload, board, reading=problem.reading, fixed=fixed)
    except InputError:
        return False
    return feasible_somewhere(there)


def feasible_somewhere(problem: Problem, most: int = 4096) -> bool:
    """Whether a feasible point was found among the papers' points and about ``most`` others, fewest lanes first."""
    if not problem.may_fit:
        return False
    points = problem.heuristics()
    if points:
        arrays = {name: np.array([point[name] for point in points]) for name in problem.space.names}
        if bool(problem.evaluate(arrays).feasible.any()):
            return True
    outer, slack = problem.outer_and_slack
    tried = 0
    for block, rows in feasible_points(problem, root(problem), outer, chunk=_BLOCK):
        large_enough = problem.fits_otherwise(problem.evaluate(largest_buffers(problem, block)))
        roomy = {name: column[large_enough] for name, column in block.items()}
        for full, some in feasible_points(problem, roomy, slack, chunk=_BLOCK, top=True):
            if len(some) and bool(problem.evaluate(full).feasible.any()):
                return True
            tried += len(some)
        tried += len(rows)
        if tried > most:
            break
    return False
