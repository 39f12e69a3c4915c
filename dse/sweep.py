"""Search a whole grid of networks, boards, families and batch sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from dse.device import Device
from dse.devices import load_device
from dse.errors import InputError, did_you_mean
from dse.model import ParallelismModel
from dse.network import Network
from dse.networks import load_network
from dse.registry import families as known_families
from dse.registry import family_named
from dse.results import ResultSet
from dse.search.cell import Settings
from dse.search.collector import Limits
from dse.search.pool import run_cells
from dse.search.problem import Problem, check_objectives
from dse.search.run_info import run_info
from dse.workload import Precision, Workload, optimiser_named, precision_named

__all__ = ["Progress", "sweep"]

_Item = TypeVar("_Item", str, int)
_Loaded = TypeVar("_Loaded", Network, Device)


@dataclass(frozen=True)
class Progress:
    """How far a sweep is; ``cell`` counts from 0 to ``cells`` - 1."""

    cell: int
    cells: int
    label: str
    """Network, board, family and batch size."""
    stage: str
    """``search`` or ``proof``."""
    done: int
    total: int
    """Trials of the search; steps of the proof."""


def sweep(
    networks: Sequence[Network | str | Path] | Network | str | Path,
    devices: Sequence[Device | str | Path] | Device | str | Path,
    families: Sequence[ParallelismModel | str] | None = None,
    *,
    batch_sizes: Sequence[int] = (128,),
    precision: str = "fp32",
    optimiser: str = "sgd",
    objectives: Sequence[str] = ("latency",),
    search: str = "optuna",
    sampler: str = "tpe",
    trials: int = 500,
    seed: int = 0,
    jobs: int = 1,
    reading: str = "",
    prove: bool = True,
    proof_limit_s: float = 300.0,
    on_progress: Callable[[Progress], None] | None = None,
) -> ResultSet:
    """Find the best accelerator of every cell networks x devices x batch sizes x families, in that order.

    ``networks`` and ``devices`` are names, paths of TOML files or loaded objects; ``families`` names or models, None
    for all that have ``precision``. ``optimiser`` is sgd, momentum or adam. ``objectives`` (minimised): latency
    [s/iteration], energy [J/iteration], dsp, bram [RAMB36], bandwidth [B/s]. ``search`` "optuna" samples ``trials``
    points with ``sampler`` and, with ``prove``, then finds the proven optimum and the gap to it; "exhaustive" does the
    latter only. A cell's proof is given up after ``proof_limit_s`` seconds, and its kind is then ``none``. ``reading``
    applies to the families that have it. ``jobs`` processes share the cells. The same ``seed`` gives the same result,
    whatever ``jobs``.

    Ctrl-C returns what was found so far, with ``run.interrupted``. Raises InputError, before any search, for whatever
    is unknown, given twice, out of range, or lacking in a named family or board.
    """
    limits = Limits(time_limit_s=_positive("proof limit", proof_limit_s))
    settings = Settings(method=search, sampler=sampler, trials=trials, seed=seed, prove=prove, limits=limits)
    settings.check()
    _check_jobs(jobs)
    nets = [item if isinstance(item, Network) else load_network(item) for item in _listed(networks, "network")]
    boards = [item if isinstance(item, Device) else load_device(item) for item in _listed(devices, "device")]
    number_format, updates = precision_named(precision), optimiser_named(optimiser)
    models = _models(families, number_format, reading)
    _no_repeats("network", [net.name for net in nets])
    _no_repeats("device", [board.name for board in boards])
    _no_repeats("family", [model.name for model in models])
    _no_repeats("batch size", list(batch_sizes))
    names = check_objectives([objectives] if isinstance(objectives, str) else objectives)
    problems = [
        Problem.of(
            model,
            Workload(net, size, number_format, updates),
            board,
            objectives=names,
            reading=reading if reading in model.readings else "",
        )
        for net in nets
        for board in boards
        for size in batch_sizes
        for model in models
    ]
    run = run_info(nets, boards, seed)
    report = _reporter(problems, on_progress)
    cells, interrupted = run_cells(problems, settings, jobs=jobs, on_progress=report)
    return ResultSet(tuple(cells), replace(run, interrupted=interrupted))


def _positive(what: str, seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise InputError(what, "must be a number of seconds > 0", seconds)
    return float(seconds)


def _reporter(
    problems: Sequence[Problem], on_progress: Callable[[Progress], None] | None
) -> Callable[[int, str, int, int], None] | None:
    if on_progress is None:
        return None
    labels = [
        f"{p.workload.network.name} on {p.device.name}, {p.model.name}, batch {p.workload.batch_size}" for p in problems
    ]

    def report(cell: int, stage: str, done: int, total: int) -> None:
        on_progress(Progress(cell, len(labels), labels[cell], stage, done, total))

    return report


def _listed(given: Sequence[_Loaded | str | Path] | _Loaded | str | Path, what: str) -> list[_Loaded | str | Path]:
    """``given`` as a list; a single name, path or object counts as one."""
    if isinstance(given, str | Path | Network | Device):
        return [given]
    items = list(given)
    if not items:
        raise InputError(what, "at least one is needed")
    return items


def _models(
    given: Sequence[ParallelismModel | str] | ParallelismModel | str | None, precision: Precision, reading: str
) -> list[ParallelismModel]:
    if given is None:
        models = [model for model in known_families().values() if precision.name in model.precisions]
        if not models:
            raise InputError("precision", "no family has it", precision.name)
    else:
        items = [given] if isinstance(given, str | ParallelismModel) else list(given)
        if not items:
            raise InputError("family", "at least one is needed", None, ", ".join(known_families()))
        models = [item if isinstance(item, ParallelismModel) else family_named(item) for item in items]
    readings = {name for model in models for name in model.readings}
    if reading and reading not in readings:
        raise InputError("reading", "no chosen family has it", reading, did_you_mean(reading, readings))
    return models


def _no_repeats(what: str, values: Sequence[_Item]) -> None:
    if not values:
        raise InputError(what, "at least one is needed")
    for number, value in enumerate(values):
        if value in values[:number]:
            raise InputError(what, "is given twice", value)


def _check_jobs(jobs: int) -> None:
    if isinstance(jobs, bool) or not isinstance(jobs, int) or not 1 <= jobs <= 1024:
        raise InputError("jobs", "must be a whole number in range", jobs, "1 to 1024")
