"""One run of CP-SAT on a placement model, ended by deterministic work, or by the clock if that comes first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from dse.cluster.budget import Budget
from dse.cluster.placement import Placement
from dse.cluster.placement_model import PlacementModel

__all__ = ["STATUSES", "Solved", "solve"]

STATUSES = ("feasible", "infeasible", "unknown")
"""What the solver can say; ``unknown``, the limit was reached, is never taken for infeasible."""

LEAST_S = 0.05


_LINEARIZATION = (1, 0, 2)
"""How much of the model the linear relaxation has in each solver: some, none, all, and again from the start."""


@dataclass(frozen=True)
class Solved:
    """What the solver said. With slack ``feasible`` means that something was found, ``excess`` how far above limits."""

    status: str
    work: float
    placement: Placement | None = None
    excess: float = 0.0

    @property
    def answers(self) -> bool:
        """Whether no other solver can say more."""
        return self.status == "infeasible" or (self.status == "feasible" and not self.excess)


def solve(model: PlacementModel, work: float, workers: int, seed: int, budget: Budget) -> Solved:
    """Solve ``model`` with at most ``work`` units; the same call gives the same answer, unless the clock ends it.

    ``workers`` solvers of one thread each share the work and look in different ways; the first in their order that
    comes to an answer gives it, else the one that came closest. CP-SAT's own interleaved threads are not used: where
    one of them ends while another still loads the model, OR-Tools 9.15 aborts the process ("Check failed:
    heuristics.fixed_search != nullptr").
    """
    if not model.possible:
        return Solved("infeasible", 0.0)
    levels = [_LINEARIZATION[number % len(_LINEARIZATION)] for number in range(workers)]
    solvers = [_solver(model.module, work / workers, seed, level, budget) for level in levels]
    answers: list[Solved] = []
    with ThreadPoolExecutor(workers) as pool:
        calls = [pool.submit(_run, model, solver) for solver in solvers]
        try:
            for call in calls:
                answers.append(call.result())
                if answers[-1].answers:
                    break
        finally:
            for call, solver in zip(calls, solvers, strict=True):
                call.cancel()
                solver.stop_search()
    # Those that were stopped are charged what the one that answered took: what they did depends on the machine.
    spent = sum(answer.work for answer in answers) + answers[-1].work * (workers - len(answers))
    known = [answer for answer in answers if answer.status != "unknown"] or answers
    return replace(min(known, key=lambda answer: answer.excess), work=spent)


def _solver(cp_model: Any, work: float, seed: int, linearization: int, budget: Budget) -> Any:
    solver = cp_model.CpSolver()
    solver.parameters.max_deterministic_time = max(work, 1e-3)
    solver.parameters.max_time_in_seconds = max(budget.left_s, LEAST_S)
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = linearization
    solver.parameters.random_seed = seed
    solver.parameters.catch_sigint_signal = False
    return solver


def _run(model: PlacementModel, solver: Any) -> Solved:
    """What one solver says."""
    cp_model = model.module
    status = solver.solve(model.model)
    spent = float(solver.response_proto.deterministic_time)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solved("feasible", spent, model.placement(solver), solver.objective_value if model.slack else 0.0)
    if status == cp_model.MODEL_INVALID:
        raise RuntimeError(f"invalid model: {model.model.validate()}")
    return Solved("infeasible" if status == cp_model.INFEASIBLE else "unknown", spent)
