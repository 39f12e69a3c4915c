"""Points around one that was found: what the search did not try because the family's estimate led it elsewhere."""

from __future__ import annotations

import numpy as np

from dse.device import Device
from dse.emit.choice import Choice
from dse.emit.design import workload_of
from dse.network import Network
from dse.registry import family_named
from dse.search import Problem
from dse.search.encoding import Encoding
from dse.search.neighbours import neighbours

__all__ = ["NEAR", "near"]

NEAR = "near"
"""Name of the choices: no point of the saved result."""


def near(choice: Choice, network: Network, device: Device) -> list[Choice]:
    """Feasible points of the family near ``choice`` (``dse.search.neighbours``), in the order of its estimates."""
    cell = choice.cell
    workload = workload_of(cell, network)
    problem = Problem.of(family_named(cell.family), workload, device, reading=cell.reading)
    encoding = Encoding.of(problem)
    if not encoding.free:
        return []
    points = encoding.points(neighbours(encoding, choice.point))
    estimate = problem.evaluate(points)
    seconds = estimate.iteration_s.tolist()
    order = sorted(np.flatnonzero(estimate.feasible).tolist(), key=seconds.__getitem__)
    return [Choice(cell, NEAR, {name: int(c[row]) for name, c in points.items()}, seconds[row]) for row in order]
