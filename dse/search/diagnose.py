"""Where nothing fits: which resource is short, by how much, and which board would do."""

from __future__ import annotations

from collections.abc import Mapping

from dse.device import Device
from dse.errors import InputError
from dse.results import Diagnosis
from dse.search.candidates import candidate
from dse.search.problem import Problem

__all__ = ["diagnose", "smallest_board"]


def diagnose(problem: Problem, fixed: Mapping[str, int] | None = None) -> Diagnosis:
    """Explain why no point of ``problem`` is feasible.

    The nearest point is the lowest one: no resource falls when a parameter is raised, and DRAM capacity does not
    depend on the point, so every violation is smallest there.
    """
    lowest = problem.space.corner(low=True)
    violation = {name: float(value) for name, value in problem.corner.violation.items()}
    return Diagnosis(
        short={name: value for name, value in violation.items() if not value <= 0},
        nearest=candidate(problem, {name: int(value) for name, value in lowest.items()}, "search"),
        smallest_board=smallest_board(problem, fixed),
    )


def smallest_board(problem: Problem, fixed: Mapping[str, int] | None = None) -> str:
    """Name of the board with the fewest LUTs on which the family has a feasible point; empty where none has."""
    from dse.devices import list_devices, load_device

    boards = sorted((load_device(name) for name in list_devices()), key=lambda board: (board.lut, board.name))
    return next((board.name for board in boards if _feasible_on(board, problem, fixed)), "")


def _feasible_on(board: Device, problem: Problem, fixed: Mapping[str, int] | None) -> bool:
    try:
        there = Problem.of(problem.model, problem.workload, board, reading=problem.reading, fixed=fixed)
    except InputError:
        return False
    return there.has_feasible_point
