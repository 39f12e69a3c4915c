"""One cell of a sweep: search, proof, the gap between them, the papers' designs, and why nothing fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from dse.device import Device
from dse.devices import list_devices
from dse.errors import InputError, did_you_mean
from dse.estimate import Float
from dse.model import ParallelismModel
from dse.network import Network
from dse.networks import list_networks
from dse.results import Candidate, Cell, Proof
from dse.search.candidates import candidate, candidates
from dse.search.collector import Limits, OnProgress
from dse.search.diagnosis import diagnose
from dse.search.exhaustive import ExactResult, exact_search
from dse.search.pareto import Front, hypervolume
from dse.search.problem import Points, Problem
from dse.search.samplers import METHODS
from dse.search.sampling import SampledResult, check_sampling, optuna_search
from dse.search.table import Thinned
from dse.workload import Workload

__all__ = ["OnStage", "Settings", "front_gap", "proven_optimum", "run_cell", "search_cell"]

OnStage = Callable[[str, int, int], None]
"""Called with ("search" | "proof", done, total)."""


@dataclass(frozen=True)
class Settings:
    """How to search a cell."""

    method: str = "optuna"
    sampler: str = "tpe"
    trials: int = 500
    seed: int = 0
    prove: bool = True
    limits: Limits = field(default_factory=Limits)

    def check(self) -> None:
        """Raises InputError for an unknown method or sampler, or trials or a seed out of range."""
        if self.method not in METHODS:
            raise InputError("search", "unknown method", self.method, did_you_mean(str(self.method), METHODS))
        check_sampling(self.sampler, self.trials, self.seed)


def search_cell(
    model: ParallelismModel,
    workload: Workload,
    device: Device,
    *,
    objectives: Sequence[str] = ("latency",),
    method: str = "optuna",
    sampler: str = "tpe",
    trials: int = 500,
    seed: int = 0,
    reading: str = "",
    fixed: Mapping[str, int] | None = None,
    prove: bool = True,
    limits: Limits | None = None,
    on_progress: OnStage | None = None,
) -> Cell:
    """Search the family's space for this workload on this board.

    ``method`` "optuna" samples ``trials`` points and, with ``prove``, then finds the proven optimum: ``best`` is the
    better of both and ``proof.gap`` says how far the samples alone were. "exhaustive" does the exact search only.
    ``fixed`` pins parameters. Ctrl-C returns what was found. Raises InputError for bad arguments (see ``Problem.of``).
    """
    settings = Settings(method, sampler, trials, seed, prove, limits or Limits())
    settings.check()
    problem = Problem.of(model, workload, device, objectives=objectives, reading=reading, fixed=fixed)
    return run_cell(problem, settings, fixed=fixed, on_progress=on_progress)[0]


def proven_optimum(
    model: ParallelismModel,
    workload: Workload,
    device: Device,
    *,
    objectives: Sequence[str] = ("latency",),
    reading: str = "",
    fixed: Mapping[str, int] | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> ExactResult:
    """The proven optimum (one objective) or exact Pareto front (several); see ``exact_search``."""
    problem = Problem.of(model, workload, device, objectives=objectives, reading=reading, fixed=fixed)
    return exact_search(problem, limits=limits, on_progress=on_progress)


def run_cell(
    problem: Problem,
    settings: Settings,
    *,
    fixed: Mapping[str, int] | None = None,
    on_progress: OnStage | None = None,
) -> tuple[Cell, bool]:
    """``search_cell`` on a checked problem; also whether Ctrl-C ended it."""
    search = _exhaustive if settings.method == "exhaustive" else _sampled
    cell, interrupted = _unfit(problem, settings), False
    if problem.may_fit:
        cell, interrupted = search(problem, settings, on_progress)
    if cell.best is None and not interrupted:
        cell = replace(cell, diagnosis=diagnose(problem, fixed))
    return cell, interrupted


def _stage(on_progress: OnStage | None, name: str) -> OnProgress | None:
    if on_progress is None:
        return None
    return lambda done, total: on_progress(name, done, total)


def _unfit(problem: Problem, settings: Settings) -> Cell:
    """The cell of a problem whose lowest point does not fit, which rules out every other."""
    proof = Proof("bound", math.nan, 1, problem.space.size, 0.0)
    return _cell(problem, settings, proof, {}, (), pd.DataFrame(), 1, 0.0)


def _exhaustive(problem: Problem, settings: Settings, on_progress: OnStage | None) -> tuple[Cell, bool]:
    kept = Thinned(problem)
    exact = exact_search(problem, limits=settings.limits, record=kept, on_progress=_stage(on_progress, "search"))
    proof = _proof(exact, gap=0.0 if exact.kind != "none" and len(exact.front) else math.nan)
    origins = ["proof"] * len(exact.front)
    cell = _cell(problem, settings, proof, exact.points, origins, kept.frame, exact.evaluated, exact.seconds)
    return cell, exact.interrupted


def _proof(exact: ExactResult, gap: float) -> Proof:
    optimum = tuple(exact.front.min(axis=0).tolist()) if exact.kind != "none" and len(exact.front) else ()
    floor = exact.floor if exact.kind == "none" else ()
    return Proof(exact.kind, gap, exact.evaluated, exact.space_size, exact.seconds, optimum, floor)


def _sampled(problem: Problem, settings: Settings, on_progress: OnStage | None) -> tuple[Cell, bool]:
    found = optuna_search(
        problem,
        sampler=settings.sampler,
        trials=settings.trials,
        seed=settings.seed,
        on_progress=_stage(on_progress, "search"),
    )
    front = _front_of(problem, found)
    if settings.prove and not found.interrupted:
        exact = exact_search(problem, limits=settings.limits, on_progress=_stage(on_progress, "proof"))
    else:
        exact = ExactResult("none", np.empty((0, front.values.shape[1])), {}, (), 0, problem.space.size, 0.0)
    gap = front_gap(front.values, exact.front) if exact.kind != "none" and len(exact.front) else math.nan
    points = _merged(problem, front, exact)
    origins = _origins(problem, points, found)
    cell = _cell(problem, settings, _proof(exact, gap), points, origins, found.table, len(found.values), found.seconds)
    return cell, found.interrupted or exact.interrupted


def _front_of(problem: Problem, found: SampledResult) -> Front:
    front = Front.empty(len(problem.objectives))
    good = found.feasible
    if good.any():
        ties = {"_dsp": found.table["dsp"].to_numpy(), "_bram36": found.table["bram36"].to_numpy()}
        payload = {**ties, **found.points}
        front.add(found.values[good], {name: column[good] for name, column in payload.items()})
    return front


def _merged(problem: Problem, front: Front, exact: ExactResult) -> Points:
    """The exact front where it is proven, else the front of both."""
    if exact.kind != "none":
        return exact.points
    both = Front.empty(len(problem.objectives))
    for values, columns in ((front.values, front.payload), (exact.front, exact.points)):
        if len(values):
            both.add(values, {name: columns[name] for name in problem.space.names})
    return {name: both.payload.get(name, np.empty(0)).astype(np.int64) for name in problem.space.names}


def _origins(problem: Problem, points: Points, found: SampledResult) -> list[str]:
    names = problem.space.names
    sampled = set(zip(*(found.points[name].tolist() for name in names), strict=True))
    chosen = zip(*(points[name].tolist() for name in names), strict=True)
    return ["search" if point in sampled else "proof" for point in chosen]


def front_gap(found: Float, exact: Float) -> float:
    """How far ``found`` [M,K] is from the proven ``exact`` [E,K]; both minimised.

    One objective: found / optimum - 1, infinite where nothing was found. Several: the share of the exact front's
    hypervolume that ``found`` misses, up to a corner 10 % beyond the worst of the exact front in each objective.
    """
    if len(found) == 0:
        return math.inf if exact.shape[1] == 1 else 1.0
    if exact.shape[1] == 1:
        best, optimum = float(found.min()), float(exact.min())
        if best == optimum:
            return 0.0
        return best / optimum - 1 if optimum > 0 else math.inf
    ideal = exact.min(axis=0)
    extent = np.maximum(np.ptp(exact, axis=0), np.abs(exact).max(axis=0))
    scale = np.where(extent > 0, extent, 1.0)
    reference = (exact.max(axis=0) - ideal) / scale + 0.1
    whole = hypervolume((exact - ideal) / scale, reference)
    return max(0.0, 1 - hypervolume((found - ideal) / scale, reference) / whole)


def _reference(loaded: Network | Device, known: Mapping[str, Path]) -> str:
    """What the command line takes for ``loaded``: its name where that is known, else the path of its file."""
    own = str(known.get(loaded.name, "")) == loaded.path
    return loaded.name if own or not loaded.path else loaded.path


def _cell(
    problem: Problem,
    settings: Settings,
    proof: Proof,
    points: Points,
    origins: Sequence[str],
    table: pd.DataFrame,
    evaluated: int,
    seconds: float,
) -> Cell:
    front = candidates(problem, points, origins)
    best: Candidate | None = None
    lanes = 0
    if front:
        best = candidate(problem, front[0].point, front[0].origin)
        lanes = math.prod(best.point[name] for name in problem.model.lanes_of)
    workload = problem.workload
    return Cell(
        network=workload.network.name,
        device=problem.device.name,
        family=problem.model.name,
        batch_size=workload.batch_size,
        precision=workload.precision.name,
        optimiser=workload.optimiser.name,
        reading=problem.reading,
        objectives=problem.objectives,
        method=settings.method,
        sampler=settings.sampler if settings.method == "optuna" else "",
        seed=settings.seed,
        evaluated=evaluated,
        search_s=seconds,
        proof=proof,
        best=best,
        pareto=front,
        papers=tuple(candidate(problem, point, problem.model.reference) for point in problem.heuristics()),
        lanes=lanes,
        network_reference=_reference(workload.network, list_networks()),
        device_reference=_reference(problem.device, list_devices()),
        points=table,
    )
