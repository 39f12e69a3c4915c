"""One probe: is there a placement at a throughput?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dse.cluster.budget import Budget
from dse.cluster.contraction import contracted
from dse.cluster.demand import DemandTable
from dse.cluster.neighbourhoods import approach, ram_exceeded
from dse.cluster.placement import Placement, canonical
from dse.cluster.placement_model import PlacementModel, Region
from dse.cluster.solve import solve
from dse.cluster.solver_costs import SolverCosts
from dse.cluster.usage import usage

__all__ = ["Probe", "probe"]

_PROOF, _MOST_PROOF = 0.1, 8.0
"""Share of a probe's work, and the most, that asks for a placement outright: many proofs are quick."""


_COARSE, _PART = 0.3, 0.3
"""Share of the work for a start that has too little RAM, on parts of up to such a share of an average node."""


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

    First outright, then by way of neighbourhoods of ``start``, or, where that exceeds RAM, of the best placement of
    larger parts of the graph. ``told`` gets every better placement on the way.
    """
    before, costs = budget.spent, SolverCosts(table, fps)
    model = PlacementModel(costs, Region([[stage] for stage in range(len(table.graph.stages))]), slack=False)
    if model.possible and start is not None:
        model.hint(canonical(table, start))
    done = solve(
        model, min(work if start is None else min(work * _PROOF, _MOST_PROOF), budget.left), workers, seed, budget
    )
    budget.spent += done.work
    if done.status != "unknown" or start is None:
        return Probe(fps, done.status, budget.spent - before, done.placement)
    nearest = start
    if ram_exceeded(table, start):
        coarse = solve(_coarse(costs, start), _COARSE * work, workers, seed, budget)
        budget.spent += coarse.work
        nearest = coarse.placement or start
    left = work - (budget.spent - before)
    for placement in approach(table, nearest, fps, left, workers, seed, budget):
        nearest = placement
        told(placement)
    fits = usage(table, nearest, fps).fits
    return Probe(fps, "feasible" if fits else "unknown", budget.spent - before, nearest)


def _coarse(costs: SolverCosts, start: Placement) -> PlacementModel:
    """The model of larger parts, cut where ``start`` has them on several nodes, from there."""
    begin = canonical(costs.table, start)
    parts: list[list[int]] = []
    for part in contracted(costs.table, costs.fps, _PART):
        homes: dict[int, list[int]] = {}
        for stage in part:
            homes.setdefault(begin.node[stage], []).append(stage)
        parts += homes.values()
    model = PlacementModel(costs, Region(sorted(parts, key=lambda part: part[0])), slack=True)
    if model.possible:
        model.hint(begin)
    return model
