"""One run of CP-SAT on a placement model, ended by deterministic work, or by the clock if that comes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dse.cluster.budget import Budget
from dse.cluster.placement import Placement
from dse.cluster.placement_model import PlacementModel

__all__ = ["STATUSES", "Solved", "solve"]

STATUSES = ("feasible", "infeasible", "unknown")
"""What the solver can say; ``unknown``, the limit was reached, is never taken for infeasible."""

LEAST_S = 0.05


@dataclass(frozen=True)
class Solved:
    """What the solver said. With slack ``feasible`` means that something was found, ``exceeds`` whether limits are."""

    status: str
    work: float
    placement: Placement | None = None
    exceeds: bool = False


def solve(model: PlacementModel, work: float, workers: int, seed: int, budget: Budget) -> Solved:
    """Solve ``model`` with ``workers`` threads for at most ``work`` units; the same call gives the same answer.

    Several threads take turns in a fixed order (CP-SAT's interleaved search), unless the clock ends the search.
    """
    if not model.possible:
        return Solved("infeasible", 0.0)
    cp_model = model.module
    solver: Any = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = max(work, 1e-3)
    solver.parameters.max_time_in_seconds = max(budget.left_s, LEAST_S)
    solver.parameters.num_workers = workers
    solver.parameters.interleave_search = workers > 1
    solver.parameters.random_seed = seed
    solver.parameters.catch_sigint_signal = False
    status = solver.solve(model.model)
    spent = float(solver.response_proto.deterministic_time)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solved("feasible", spent, model.placement(solver), model.slack and solver.objective_value > 0)
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"invalid model: {model.model.validate()}")
    return Solved("infeasible" if status == cp_model.INFEASIBLE else "unknown", spent)
