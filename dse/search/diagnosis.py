"""Where nothing fits: which resource is short, by how much, and which board would do."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.device import Device
from dse.errors import InputError
from dse.estimate import Estimate, Float
from dse.results import Diagnosis
from dse.search.candidates import candidate
from dse.search.problem import Points, Problem, feasible_points, largest_buffers, root

__all__ = ["diagnose", "feasible_somewhere", "smallest_board"]

_RANDOM_POINTS = 128
_BLOCK = 256


def diagnose(problem: Problem, fixed: Mapping[str, int] | None = None) -> Diagnosis:
    """Explain why no point of ``problem`` is feasible.

    The nearest point is the one with the smallest worst violation among the lowest, the highest, the papers' and fixed
    pseudo-random points, after changing one parameter at a time for the better.
    """
    nearest, violation = _nearest(problem)
    most = None
    if not violation["dram_bytes"] <= 0:
        most = problem.model.largest_batch(problem.workload, problem.device, nearest, problem.reading)
    return Diagnosis(
        short={name: value for name, value in violation.items() if not value <= 0},
        nearest=candidate(problem, nearest, "search"),
        smallest_board=smallest_board(problem, fixed),
        largest_batch=most,
    )


def _nearest(problem: Problem) -> tuple[dict[str, int], dict[str, float]]:
    points = _listed(problem)
    estimate = problem.evaluate(points)
    if _worst(estimate).min() > 0:
        points = _with_random(problem, points)
        estimate = problem.evaluate(points)
    while True:
        row = int(np.argmin(_worst(estimate)))
        here = {name: int(column[row]) for name, column in points.items()}
        violation = {name: float(value[row]) for name, value in estimate.violation.items()}
        worst = float(_worst(estimate)[row])
        if worst <= 0:
            return here, violation
        lines = _lines(problem, here)
        on_lines = problem.evaluate(lines)
        if not _worst(on_lines).min() < worst:
            return here, violation
        points, estimate = lines, on_lines


def _worst(estimate: Estimate) -> Float:
    """The largest violation of each point [N] but for DRAM capacity, the same for all points; unknown is infinite."""
    parts = [value for name, value in estimate.violation.items() if name != "dram_bytes"]
    return np.asarray(np.nan_to_num(np.max(parts, axis=0), nan=np.inf, posinf=np.inf))


def _listed(problem: Problem) -> Points:
    """The lowest and highest points and the papers'."""
    space = problem.space
    papers = problem.heuristics()
    return {
        name: np.concatenate(
            [problem.lowest[name], problem.highest[name], np.array([p[name] for p in papers], dtype=np.int64)]
        )
        for name in space.names
    }


def _with_random(problem: Problem, points: Points) -> Points:
    """``points`` and fixed pseudo-random ones, small values more often than large."""
    draw = np.random.default_rng(0)
    pool = {}
    for parameter in problem.space.parameters:
        step = (len(parameter.values) * draw.random(_RANDOM_POINTS) ** 2).astype(np.int64)
        pool[parameter.name] = np.concatenate([points[parameter.name], parameter.values[step]])
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
    if not board.dram_bytes >= problem.least_dram_bytes:
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
