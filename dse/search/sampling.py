"""Sampling the space with Optuna: batches of asks, one vectorised estimate, tells."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dse.errors import InputError, did_you_mean
from dse.estimate import Float
from dse.search.collector import OnProgress
from dse.search.encoding import Encoding
from dse.search.neighbours import neighbours
from dse.search.pareto import Front
from dse.search.problem import Points, Problem
from dse.search.samplers import SAMPLERS
from dse.search.table import Columns, columns_of, frame_of

if TYPE_CHECKING:
    import optuna

__all__ = ["SampledResult", "check_sampling", "optuna_search"]

_POPULATION = 50
_BATCH = {"nsga2": _POPULATION, "tpe": 16, "random": 256, "qmc": 256}
_LEARNING = ("nsga2", "tpe")
"""Samplers that come back to what was good, and so to points that they know."""
_DRAWN = 16384
"""Random points of which the floor is looked at."""
_SHARE = 5
"""One in so many trials goes to points with a low floor, and one, at the end, to neighbours of the best."""
_MOST_QUEUED = 256
"""Points with a low floor at most, however many the trials: more of them would only crowd out the sampler."""
_FRONT = 8
"""Best points, at most, of which neighbours are tried at a time."""
_VARIATIONS = 8
"""Variations tried for a point that repeats, before it is accepted."""
_MOVE = 0.05
"""Standard deviation of a share that a variation moves."""
_HUGE = 1e30
"""Stands for an objective or violation that is unknown or infinite; Optuna takes no NaN."""


@dataclass(frozen=True)
class SampledResult:
    """The distinct points that a sampler visited, in order of their first trial."""

    points: Points
    """[M]"""
    values: Float
    """Objectives [M,K]."""
    feasible: NDArray[np.bool_]
    """[M]"""
    table: pd.DataFrame
    """See ``table.columns_of``."""
    trials: int
    """Trials told to Optuna, repeats included."""
    seconds: float
    interrupted: bool


def check_sampling(sampler: str, trials: int, seed: int) -> None:
    """Raises InputError for an unknown sampler, less than one trial, or a seed outside 0 to 2^32 - 1."""
    if sampler not in SAMPLERS:
        raise InputError("sampler", "unknown sampler", sampler, did_you_mean(str(sampler), SAMPLERS))
    for name, value, low, high in (("trials", trials, 1, 10**9), ("seed", seed, 0, 2**32 - 1)):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InputError(name, "must be a whole number in range", value, f"{low} to {high}")


def optuna_search(
    problem: Problem,
    *,
    sampler: str = "tpe",
    trials: int = 500,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> SampledResult:
    """Run ``trials`` trials; the papers' points come first, repeats are answered from memory.

    A sampler that learns settles on few points. Where it repeats one, the trial goes to a variation of one of the best
    instead. Half of the trials go to the parts of the space that the family wants searched first, where it has any, and
    their best points are queued like the papers'. The same seed gives the same points. Stops early once every point of
    the space was seen. Ctrl-C returns what was found, with ``interrupted``. Raises InputError (see ``check_sampling``).
    """
    check_sampling(sampler, trials, seed)
    started = time.perf_counter()
    memory = _Memory(problem, Encoding.of(problem), np.random.default_rng(seed))
    done, interrupted = 0, False
    try:
        winners: list[dict[str, int]] = []
        for part, share in _parts(problem, trials):
            found = optuna_search(part, sampler=sampler, trials=share, seed=seed)
            winners += memory.take(found)
            done += found.trials
            if found.interrupted:
                raise KeyboardInterrupt
            if on_progress is not None:
                on_progress(done, trials)
        study = _study(problem, sampler, seed)
        if sampler in _LEARNING:
            winners += _of_low_floor(problem, memory, min((trials - done) // _SHARE, _MOST_QUEUED))
        first = _enqueue(study, memory.encoding, [*problem.heuristics(), *winners]) if memory.encoding.free else 0
        first += done
        while done < trials and len(memory.values) < problem.space.size:
            batch = min(_BATCH[sampler], trials - done)
            if first <= done and sampler in _LEARNING and done >= trials - trials // _SHARE:
                first = done + _enqueue(study, memory.encoding, _near_the_best(problem, memory, batch))
            _run_batch(study, memory, batch, max(0, first - done), vary=sampler in _LEARNING)
            done += batch
            if on_progress is not None:
                on_progress(done, trials)
    except KeyboardInterrupt:
        interrupted = True
    return memory.result(done, time.perf_counter() - started, interrupted)


def _of_low_floor(problem: Problem, memory: _Memory, count: int) -> list[dict[str, int]]:
    """The ``count`` of _DRAWN random points whose time has the lowest floor, which costs little to compute.

    As many of each kind of design, where there is a choice of kinds: their floors are not equally close.
    """
    encoding = memory.encoding
    if "latency" not in problem.objectives or not encoding.free or count < 1:
        return []
    steps = encoding.fill(encoding.decode(memory.random.random((_DRAWN, len(encoding.free)))))
    steps = np.unique(steps, axis=0)
    points = encoding.points(steps)
    floors = problem.floor_seconds(points)
    choices = [points[p.name] for p in encoding.free if p.choice]
    kinds = np.unique(np.stack(choices, axis=1), axis=0, return_inverse=True)[1].reshape(-1) if choices else 0 * floors
    rank = np.empty(len(floors), dtype=np.int64)
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        rank[rows[np.argsort(floors[rows], kind="stable")]] = np.arange(len(rows))
    best = np.lexsort((floors, rank))[:count]
    return [{name: int(column[row]) for name, column in points.items()} for row in best]


def _near_the_best(problem: Problem, memory: _Memory, count: int) -> list[dict[str, int]]:
    """The ``count`` unseen neighbours of the best points, of one of them at a time, that have the lowest floors."""
    encoding, found = memory.encoding, memory.front.payload.get("row", ())
    if not len(found):
        return []
    near = np.concatenate([neighbours(encoding, memory.point(int(row))) for row in found[:_FRONT]])
    unseen = np.array([tuple(row) not in memory.rows for row in near.tolist()], dtype=bool)
    near = np.unique(near[unseen], axis=0)
    if not len(near):
        return []
    points = encoding.points(near)
    best = np.argsort(problem.floor_seconds(points), kind="stable")[:count]
    return [{name: int(column[row]) for name, column in points.items()} for row in best]


def _parts(problem: Problem, trials: int) -> list[tuple[Problem, int]]:
    """The parts to be searched first, and the trials of each: half of all, in equal shares."""
    parts = [part for part in problem.subproblems() if part.may_fit]
    share = trials // (2 * max(len(parts), 1))
    return [(part, share) for part in parts] if share else []


@dataclass
class _Memory:
    """Every distinct point evaluated so far."""

    problem: Problem
    encoding: Encoding
    random: np.random.Generator
    front: Front = field(init=False)
    """The best feasible points, with their rows."""
    rows: dict[tuple[int, ...], int] = field(default_factory=dict)
    """Steps -> number of the point, in order of evaluation."""
    keys: list[tuple[int, ...]] = field(default_factory=list)
    values: list[list[float]] = field(default_factory=list)
    violations: list[dict[str, float]] = field(default_factory=list)
    """Those above 0 only: Optuna takes a constraint that was not set as kept, and is faster without it."""
    parts: list[Columns] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.front = Front.empty(len(self.problem.objectives))

    def look_up(self, steps: NDArray[np.int64]) -> list[int]:
        """Rows of the points ``steps`` [N,F]; those not seen before are evaluated in one call."""
        keys = [tuple(row) for row in steps.tolist()]
        new = list(dict.fromkeys(key for key in keys if key not in self.rows))
        if new:
            shape = (len(new), len(self.encoding.free))
            self._evaluate(self.encoding.points(np.array(new, dtype=np.int64).reshape(shape)))
            self.keys += new
            self.rows.update({key: len(self.rows) + number for number, key in enumerate(new)})
        return [self.rows[key] for key in keys]

    def take(self, found: SampledResult) -> list[dict[str, int]]:
        """Add the points of another search; returns its best ones."""
        free = self.encoding.free
        if not len(found.values):
            return []
        steps = np.stack([np.searchsorted(p.values, found.points[p.name]) for p in free], axis=1)
        rows = self.look_up(steps)
        best = {int(row) for row in self.front.payload.get("row", ())}
        return [
            {name: int(column[i]) for name, column in found.points.items()} for i, r in enumerate(rows) if r in best
        ]

    def point(self, row: int) -> dict[str, int]:
        """The point of ``row``."""
        return {p.name: int(p.values[step]) for p, step in zip(self.encoding.free, self.keys[row], strict=True)}

    def _evaluate(self, points: Points) -> None:
        estimate = self.problem.evaluate(points)
        self.parts.append(columns_of(self.problem, points, estimate))
        values = np.nan_to_num(self.problem.values(estimate), nan=_HUGE, posinf=_HUGE)
        self.values.extend(values.tolist())
        names = list(estimate.violation)
        excess = np.stack([np.ravel(estimate.violation[name]) for name in names], axis=1)
        excess = np.nan_to_num(excess, nan=_HUGE, posinf=_HUGE)
        first = len(self.violations)
        good = np.flatnonzero(np.ravel(estimate.feasible))
        self.front.add(values[good], {"row": first + good})
        self.violations.extend({} for _ in excess)
        for row in np.flatnonzero(np.any(excess > 0, axis=1)).tolist():
            over = dict(zip(names, excess[row].tolist(), strict=True))
            self.violations[first + row] = {name: amount for name, amount in over.items() if amount > 0}

    def result(self, trials: int, seconds: float, interrupted: bool) -> SampledResult:
        table = frame_of(self.parts)
        problem = self.problem
        if table.empty:
            nothing = {name: np.empty(0, dtype=np.int64) for name in problem.space.names}
            none = np.empty((0, len(problem.objectives)))
            return SampledResult(nothing, none, np.empty(0, dtype=bool), table, trials, seconds, interrupted)
        values = np.stack([table[f"objective_{name}"].to_numpy() for name in problem.objectives], axis=1)
        points = {name: table[name].to_numpy() for name in problem.space.names}
        return SampledResult(points, values, table["feasible"].to_numpy(), table, trials, seconds, interrupted)


def _study(problem: Problem, sampler: str, seed: int) -> optuna.Study:
    """A new in-memory study; Optuna's log level is left as it was."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(sampler=_sampler(sampler, seed), directions=["minimize"] * len(problem.objectives))
    finally:
        optuna.logging.set_verbosity(level)


def _sampler(name: str, seed: int) -> optuna.samplers.BaseSampler:
    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category=optuna.exceptions.ExperimentalWarning)
        if name == "nsga2":
            return optuna.samplers.NSGAIISampler(population_size=_POPULATION, seed=seed)
        if name == "tpe":
            return optuna.samplers.TPESampler(seed=seed)
        if name == "random":
            return optuna.samplers.RandomSampler(seed=seed)
        return optuna.samplers.QMCSampler(seed=seed, scramble=True, warn_independent_sampling=False)


def _enqueue(study: optuna.Study, encoding: Encoding, points: Sequence[Mapping[str, int]]) -> int:
    """Queue ``points``; returns how many."""
    names = [p.name for p in encoding.free]
    for point in points:
        study.enqueue_trial(dict(zip(names, encoding.encode(point), strict=True)))
    return len(points)


def _run_batch(study: optuna.Study, memory: _Memory, count: int, queued: int, *, vary: bool) -> None:
    """Ask for ``count`` points, estimate them in one call, tell; the first ``queued`` come from the queue."""
    import optuna

    encoding = memory.encoding
    names = [p.name for p in encoding.free]
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names
    }
    asked: list[optuna.Trial] = []
    for number in range(count):
        trial = study.ask(space)
        if number < queued:
            _ = trial.relative_params  # makes a queued trial a member of NSGA-II's first generation
        asked.append(trial)
    shares = np.array([[trial.params[name] for name in names] for trial in asked]).reshape(count, len(names))
    steps = encoding.decode(shares)
    steps[queued:] = encoding.fill(steps[queued:])
    if vary:
        for row, other, point in _variations(memory, steps, queued):
            study.tell(asked[row], state=optuna.trial.TrialState.FAIL)
            study.enqueue_trial(dict(zip(names, other.tolist(), strict=True)))
            asked[row] = study.ask(space)
            if isinstance(study.sampler, optuna.samplers.NSGAIISampler):
                _ = asked[row].relative_params  # for TPE this would cost a suggestion that is not used
            steps[row] = point
    rows = memory.look_up(steps)
    for trial, row in zip(asked, rows, strict=True):
        for name, excess in memory.violations[row].items():
            trial.set_constraint(name, excess)
        study.tell(trial, memory.values[row])


def _variations(
    memory: _Memory, steps: NDArray[np.int64], first: int
) -> Iterator[tuple[int, Float, NDArray[np.int64]]]:
    """For rows of ``steps`` [N,F] from ``first`` on that repeat a point: row, shares [F] and steps [F] of a new one.

    Rows for which none is found are left out.
    """
    encoding, random = memory.encoding, memory.random
    taken: set[tuple[int, ...]] = set()
    repeats: list[int] = []
    for row, key in enumerate(map(tuple, steps.tolist())):
        if row >= first and (key in memory.rows or key in taken):
            repeats.append(row)
        taken.add(key)
    if not repeats or len(memory.front.values) == 0:
        return
    best = np.array([encoding.encode(memory.point(int(row))) for row in memory.front.payload["row"]])
    shares = _varied(random, best[random.integers(len(best), size=len(repeats) * _VARIATIONS)])
    points = encoding.fill(encoding.decode(shares))
    for number, row in enumerate(repeats):
        for choice in range(number * _VARIATIONS, (number + 1) * _VARIATIONS):
            key = tuple(points[choice].tolist())
            if key not in memory.rows and key not in taken:
                taken.add(key)
                yield row, shares[choice], points[choice]
                break


def _varied(random: np.random.Generator, shares: Float) -> Float:
    """``shares`` [N,F], each row with either one share drawn again or about half of them moved a little."""
    count, columns = shares.shape
    redrawn = shares.copy()
    redrawn[np.arange(count), random.integers(columns, size=count)] = random.random(count)
    moves = random.normal(0.0, _MOVE, shares.shape) * (random.random(shares.shape) < 0.5)
    return np.where(random.random((count, 1)) < 0.5, redrawn, np.clip(shares + moves, 0.0, 1.0))
