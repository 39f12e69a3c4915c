"""One probe: is there a placement at a throughput?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dse.cluster.budget import Budget
from dse.cluster.demand import DemandTable
from dse.cluster.neighbourhoods import approach
from dse.cluster.placement import Placement, canonical
from dse.cluster.placement_model import PlacementModel, Region
from dse.cluster.solve import solve
from dse.cluster.solver_costs import SolverCosts
from dse.cluster.usage import usage

__all__ = ["Probe", "probe"]

_PROOF = 0.25
"""Share of a probe's work that asks for a placement outright: many proofs that there is none are quick."""


@dataclass(frozen=True)
class Probe:
    """What was found out about one throughput (``solve.STATUSES``), with how much work."""

    fps: float
    status: str
    work: float
    placement: Placement | None = None
    """The best found on the way; where the status is not feasible it fits at a lower throughput, if at all."""


def probe(
    table: DemandTable,
    fps: float,
    work: float,
    workers: int,
    start: Placement | None,
    budget: Budget,
    seed: int = 0,
    told: Callable[[Placement], None] = lambda placement: None,
) -> Probe:
    """Ask for a placement at ``fps`` frames per second with ``work`` units, from ``start`` if there is one.

    First outright, then by way of neighbourhoods of ``start``; ``told`` gets every better placement on the way.
    """
    before, costs = budget.spent, SolverCosts(table, fps)
    model = PlacementModel(costs, Region([[stage] for stage in range(len(table.graph.stages))]), slack=False)
    if model.possible and start is not None:
        model.hint(canonical(table, start))
    done = solve(model, min(work if start is None else work * _PROOF, budget.left), workers, seed, budget)
    budget.spent += done.work
    if done.status != "unknown" or start is None:
        return Probe(fps, done.status, budget.spent - before, done.placement)
    nearest = start
    for placement in approach(table, start, fps, work - done.work, workers, seed, budget):
        nearest = placement
        told(placement)
    fits = usage(table, nearest, fps).fits
    return Probe(fps, "feasible" if fits else "unknown", budget.spent - before, nearest)
