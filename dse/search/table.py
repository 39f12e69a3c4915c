"""Evaluated points as table columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.estimate import Estimate
from dse.search.problem import Points, Problem

__all__ = ["Thinned", "columns_of", "frame_of"]

Columns = dict[str, NDArray[np.generic]]

_TOTALS = ("iteration_cycles", "iteration_s", "samples_per_s", "dram_bytes", "dram_bytes_per_s", "power_w", "energy_j")


def columns_of(problem: Problem, points: Points, estimate: Estimate) -> Columns:
    """Column name -> [N]: parameters, ``objective_*``, totals, resources, ``violation_*``, ``feasible``."""
    columns: Columns = {name: points[name] for name in problem.space.names}
    columns |= {f"objective_{name}": np.ravel(estimate.objective(name)) for name in problem.objectives}
    columns |= {name: np.ravel(getattr(estimate, name)) for name in _TOTALS}
    columns |= {name: np.ravel(amount) for name, amount in estimate.resources.items()}
    columns |= {f"violation_{name}": np.ravel(amount) for name, amount in estimate.violation.items()}
    columns["feasible"] = np.ravel(estimate.feasible)
    return columns


def frame_of(parts: list[Columns]) -> pd.DataFrame:
    """Blocks of columns as one frame."""
    if not parts:
        return pd.DataFrame()
    return pd.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


@dataclass
class Thinned:
    """Keeps every point while there are at most ``limit``, else every 2nd, 4th, ... of them: bounded memory.

    Call it with each evaluated block (``exact_search(record=...)``).
    """

    problem: Problem
    limit: int = 100_000
    stride: int = 1
    seen: int = 0
    parts: list[Columns] = field(default_factory=list)

    def __call__(self, points: Points, estimate: Estimate) -> None:
        """Add a block."""
        columns = columns_of(self.problem, points, estimate)
        count = len(columns["feasible"])
        first = -self.seen % self.stride
        self.seen += count
        # Copies: a view would keep the whole block alive.
        self.parts.append({name: column[first :: self.stride].copy() for name, column in columns.items()})
        while sum(len(part["feasible"]) for part in self.parts) > self.limit:
            whole = frame_of(self.parts)
            self.parts = [{str(name): whole[name].to_numpy()[::2].copy() for name in whole.columns}]
            self.stride *= 2

    @property
    def frame(self) -> pd.DataFrame:
        """What was kept, in order of evaluation."""
        return frame_of(self.parts)
