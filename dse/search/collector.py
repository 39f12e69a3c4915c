"""Evaluating points within a budget while keeping the front of the feasible ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.estimate import Estimate, Float
from dse.search.pareto import Front
from dse.search.problem import Points, Problem

__all__ = ["Budget", "Collector", "Limits", "OnProgress", "OutOfBudgetError", "Record"]

OnProgress = Callable[[int, int], None]
"""Called with (done, total), in points."""

Record = Callable[[Points, Estimate], None]
"""Called with every evaluated block of points."""


@dataclass(frozen=True)
class Limits:
    """When to give up: after ``max_points`` evaluated points, or ``time_limit_s`` seconds (None: never)."""

    max_points: int = 20_000_000
    time_limit_s: float | None = None


class OutOfBudgetError(Exception):
    """The limits of a search were reached."""


@dataclass
class Budget:
    """What an exact search may still do, and what it has done."""

    limits: Limits
    evaluated: int = 0
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.perf_counter() - self.started

    def spend(self, points: int) -> None:
        """Account for ``points`` about to be evaluated. Raises OutOfBudgetError."""
        limit = self.limits.time_limit_s
        if self.evaluated + points > self.limits.max_points or (limit is not None and self.seconds > limit):
            raise OutOfBudgetError
        self.evaluated += points


@dataclass
class Collector:
    """Evaluates blocks of points within a budget and keeps the front of the feasible ones."""

    problem: Problem
    budget: Budget
    record: Record | None
    front: Front
    floor: Float | None = None
    """No point that fits is below this in its objectives [K]; None while nothing is known."""

    def evaluate(self, points: Points) -> tuple[Estimate, Float, NDArray[np.bool_]]:
        """Estimate of ``points``, objectives [N,K] and whether each is feasible; the front is updated."""
        count = len(next(iter(points.values())))
        self.budget.spend(count)
        estimate = self.problem.evaluate(points)
        values = self.problem.values(estimate)
        good = estimate.feasible & ~np.isnan(values).any(axis=1)
        payload = {"_dsp": estimate.resources["dsp"], "_bram36": estimate.resources["bram36"], **points}
        self.front.add(values[good], {name: column[good] for name, column in payload.items()})
        if self.record is not None:
            self.record(points, estimate)
        return estimate, values, good
