"""What is searched: a family, a workload, a board, what is to be minimised, and the points that fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.errors import InputError, did_you_mean
from dse.estimate import OBJECTIVES, RESOURCES, Estimate, Float
from dse.model import ParallelismModel, phase_macs
from dse.power import PowerModel
from dse.space import DesignPoint, Parameter, SearchSpace
from dse.workload import Workload

__all__ = [
    "CHUNK",
    "Points",
    "Problem",
    "check_objectives",
    "feasible_count",
    "feasible_points",
    "is_idle",
    "largest_buffers",
    "prefix_lengths",
    "root",
]

Points = dict[str, NDArray[np.int64]]
"""Parameter name -> int64 [N]."""

CHUNK = 50_000
"""Points held at a time."""


def check_objectives(objectives: Sequence[str]) -> tuple[str, ...]:
    """``objectives`` as a tuple. Raises InputError where there is none, or one that is unknown or given twice."""
    if not objectives:
        raise InputError("objective", "at least one is needed", None, ", ".join(OBJECTIVES))
    for number, name in enumerate(objectives):
        if name not in OBJECTIVES:
            raise InputError("objective", "unknown objective", name, did_you_mean(str(name), OBJECTIVES))
        if name in objectives[:number]:
            raise InputError("objective", "is given twice", name)
    return tuple(objectives)


@dataclass(frozen=True)
class Problem:
    """Minimise ``objectives`` over the points of ``space`` that fit the board. Build one with ``Problem.of``."""

    model: ParallelismModel
    workload: Workload
    device: Device
    objectives: tuple[str, ...]
    reading: str
    space: SearchSpace

    @staticmethod
    def of(
        model: ParallelismModel,
        workload: Workload,
        device: Device,
        *,
        objectives: Sequence[str] = ("latency",),
        reading: str = "",
        fixed: Mapping[str, int] | None = None,
    ) -> Problem:
        """A checked problem; ``fixed`` pins parameters to one value.

        Raises InputError for an unknown objective, reading or parameter, an illegal value, a precision that family or
        board lacks, and the objective energy on a board without published power.
        """
        names = check_objectives(objectives)
        if "energy" in names and PowerModel.of(device).measurements == 0:
            raise InputError("objective energy", f"device {device.name} has no published power")
        if reading and reading not in model.readings:
            raise InputError(
                "reading", f"unknown for family {model.name}", reading, did_you_mean(reading, model.readings)
            )
        space = model.space(workload, device).restrict(fixed or {})
        return Problem(model, workload, device, names, reading or next(iter(model.readings)), space)

    @property
    def outer_and_slack(self) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
        """The parameters that a search enumerates, and the slack parameters that have more than one value."""
        slack = tuple(p for p in self.space.parameters if p.slack and len(p.values) > 1)
        return tuple(p for p in self.space.parameters if p not in slack), slack

    def subproblems(self) -> list[Problem]:
        """The problem on the parts of the space that the family wants searched first (parameters may be pinned)."""
        parts = self.model.subspaces(self.workload, self.device)
        legal = [fixed for fixed in parts if all(value in self.space[name].values for name, value in fixed.items())]
        spaces = [self.space.restrict(fixed) for fixed in legal]
        return [replace(self, space=space) for space in spaces if space.size < self.space.size]

    @cached_property
    def lowest(self) -> Points:
        """Every parameter at its lowest, once for each combination of the choices."""
        return self._corners(low=True)

    @cached_property
    def highest(self) -> Points:
        """Every parameter at its highest (idle ones at their lowest), once for each combination of the choices."""
        corners = self._corners(low=False)
        for parameter in self.space.parameters:
            idle = is_idle(parameter, corners)
            corners[parameter.name] = np.where(idle, parameter.values[0], corners[parameter.name])
        return corners

    def _corners(self, *, low: bool) -> Points:
        ends = [p.values if p.choice else p.values[[0 if low else -1]] for p in self.space.parameters]
        grids = np.meshgrid(*ends, indexing="ij")
        return {name: grid.reshape(-1) for name, grid in zip(self.space.names, grids, strict=True)}

    @cached_property
    def may_fit(self) -> bool:
        """False where no point can fit: not even a lowest one does, or the DRAM is too small for all.

        No resource falls when a parameter is raised, and DRAM capacity depends on choices only.
        """
        room = self.evaluate(self.lowest).violation["dram_bytes"] <= 0
        return bool(np.any(self.fits(self.lowest) & room))

    @cached_property
    def least_dram_bytes(self) -> float:
        """DRAM that a training step takes with the layout that takes least."""
        return float(np.min(self.evaluate(self.lowest).dram_capacity_bytes))

    def fits_otherwise(self, estimate: Estimate) -> NDArray[np.bool_]:
        """Whether each point keeps the constraints that are no logic resources, e.g. tiles fit buffers; bool [S]."""
        kept = [np.asarray(v <= 0) for name, v in estimate.violation.items() if name not in RESOURCES]
        return np.asarray(np.logical_and.reduce(kept))

    def heuristics(self) -> list[dict[str, int]]:
        """The papers' points that lie in the space (parameters may be pinned)."""
        found = self.model.heuristics(self.workload, self.device)
        return [point for point in found if bool(self.space.contains(point))]

    def evaluate(self, points: DesignPoint, *, detail: bool = False) -> Estimate:
        """Estimates of ``points`` (shape () or (N,))."""
        return self.model.evaluate(self.workload, self.device, points, reading=self.reading, detail=detail)

    def resources(self, points: DesignPoint) -> dict[str, Float]:
        """Resource name -> amount used [S]; much cheaper than an estimate."""
        return self.model.resources(self.workload, self.device, points, self.reading)

    @property
    def mac_floor_seconds(self) -> float:
        """Time in which as many multipliers as the DSP blocks make do an iteration's MACs; 0 where unlimited."""
        per_lane = self.device.dsp_cost[self.workload.precision.name].multiplier_dsp
        lanes = self._limits["dsp"] / per_lane if per_lane > 0 else math.inf
        return float(phase_macs(self.workload).sum()) / lanes / self.device.clock_hz

    def floor_seconds(self, points: DesignPoint) -> Float:
        """A cheap lower bound of the iteration's time [S], whatever the slack parameters."""
        cycles = self.model.floor_cycles(self.workload, self.device, points, self.reading)
        return np.asarray(cycles / self.device.clock_hz)

    def fits(self, points: DesignPoint) -> NDArray[np.bool_]:
        """Whether each point's logic resources are there, bool [S]; DRAM capacity is not looked at."""
        return self.within(self.resources(points))

    def within(self, resources: Mapping[str, Float]) -> NDArray[np.bool_]:
        """Whether each of ``resources`` is at most what the board lets a design take, bool [S]; unknown is not."""
        fit = [_at_most(np.asarray(resources[name]), limit) for name, limit in self._limits.items()]
        return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*fit)))

    @cached_property
    def _limits(self) -> dict[str, float]:
        return {name: self.device.capacity[name] * self.device.usable[name] for name in RESOURCES}

    def values(self, estimate: Estimate) -> Float:
        """The objectives of ``estimate``'s N points, [N,K]."""
        return np.stack([np.ravel(estimate.objective(name)) for name in self.objectives], axis=1)

    def power_w(self, resources: Mapping[str, Float]) -> Float:
        """Power in watts of designs that use ``resources`` [S]."""
        watts = PowerModel.of(self.device).watts(resources["dsp"], resources["bram36"], self.device.clock_hz)
        return np.asarray(watts)


def _at_most(used: Float, limit: float) -> NDArray[np.bool_]:
    """The same rounding as ``Estimate.violation`` <= 0."""
    return np.asarray(used / limit - 1.0 <= 0) if limit > 0 else np.asarray(used <= 0)


def is_idle(parameter: Parameter, points: Points) -> NDArray[np.bool_]:
    """Where the parameter has no meaning, bool [N]."""
    choice, value = parameter.idle or (parameter.name, None)
    return np.asarray(points[choice] == value) if value is not None else np.zeros(len(points[choice]), dtype=bool)


def prefix_lengths(problem: Problem, base: Points, parameter: Parameter) -> NDArray[np.int64]:
    """How many of the parameter's values, from the lowest, fit at each of ``base`` [N]; int64 [N], 0 where none does.

    Resources never fall when a parameter is raised, so the values that fit are the lowest ones. Of a choice all values
    are counted, of an idle parameter at most the lowest.
    """
    count = len(next(iter(base.values())))
    high = np.where(is_idle(parameter, base), 1, len(parameter.values))
    if parameter.choice:
        return high
    low = np.zeros(count, dtype=np.int64)
    while True:
        open_ = np.flatnonzero(low < high)
        if len(open_) == 0:
            return low
        middle = (low[open_] + high[open_]) // 2
        probe = {name: column[open_] for name, column in base.items()}
        probe[parameter.name] = parameter.values[middle]
        fit = problem.fits(probe)
        low[open_] = np.where(fit, middle + 1, low[open_])
        high[open_] = np.where(fit, high[open_], middle)


def feasible_points(
    problem: Problem,
    base: Points,
    parameters: Sequence[Parameter],
    *,
    chunk: int = CHUNK,
    top: bool = False,
) -> Iterator[tuple[Points, NDArray[np.int64]]]:
    """All points that fit and differ from a row of ``base`` in ``parameters`` only, in lexicographic order.

    ``base`` has ``parameters`` at their lowest. Yields blocks of about ``chunk`` points with the row of ``base`` of
    each; points that do not fit are never built. ``top`` keeps only the highest value of the last parameter.
    """
    rows = np.arange(len(next(iter(base.values()))))
    yield from _expand(problem, base, rows, tuple(parameters), chunk, top)


def _expand(
    problem: Problem, base: Points, rows: NDArray[np.int64], parameters: tuple[Parameter, ...], chunk: int, top: bool
) -> Iterator[tuple[Points, NDArray[np.int64]]]:
    if not parameters:
        yield base, rows
        return
    parameter, *rest = parameters
    lengths = prefix_lengths(problem, base, parameter)
    if top and not rest:
        fit = lengths > 0
        block = {name: column[fit] for name, column in base.items()}
        block[parameter.name] = parameter.values[lengths[fit] - 1]
        yield block, rows[fit]
        return
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        done = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, done + chunk, side="right")), start + 1)
        repeats = lengths[start:stop]
        if repeats.sum():
            block = {name: np.repeat(column[start:stop], repeats) for name, column in base.items()}
            offset = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
            block[parameter.name] = parameter.values[offset]
            numbers = np.repeat(rows[start:stop], repeats)
            if parameter.choice:
                fit = problem.fits(block)
                block, numbers = {name: column[fit] for name, column in block.items()}, numbers[fit]
            yield from _expand(problem, block, numbers, tuple(rest), chunk, top)
        start = stop


def feasible_count(problem: Problem, parameters: Sequence[Parameter], limit: int) -> int:
    """How many points of ``parameters`` fit with the others at their lowest; counting stops above ``limit``."""
    base = root(problem)
    *most, last = parameters
    total = 0
    for block, _ in feasible_points(problem, base, most):
        total += int(prefix_lengths(problem, block, last).sum())
        if total > limit:
            break
    return total


def largest_buffers(problem: Problem, points: Points) -> Points:
    """``points`` [N] with every slack parameter at the most that fits next to the lowest of the others.

    No point that fits has a larger one, so this bounds how fast the points can be, whether or not it fits itself.
    """
    largest = dict(points)
    for parameter in problem.outer_and_slack[1]:
        largest[parameter.name] = parameter.values[prefix_lengths(problem, points, parameter) - 1]
    return largest


def root(problem: Problem) -> Points:
    """The lowest point as a batch of one."""
    return {name: value.reshape(1) for name, value in problem.space.corner(low=True).items()}
