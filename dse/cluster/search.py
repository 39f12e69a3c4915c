"""The fastest placement: bisection on the throughput, each probe started from the last placement found."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dse.cluster.annealing import annealed
from dse.cluster.bounds import LEAST_FPS, Bound, aggregate_bound, static_shortage
from dse.cluster.demand import DemandTable
from dse.cluster.placement import Placement, Probe, probe
from dse.cluster.usage import reached_fps

__all__ = ["Found", "SearchSettings", "fastest_placement"]

FIRST_SHARE = 0.9
"""The first probe, as a share of the aggregate bound."""

START_SHARES = (FIRST_SHARE, 0.4, 0.15, 0.05)
"""Shares of the bound at which a first placement is looked for, until one is found."""

MOVES = 12_000
"""Moves of annealing before the first probe: two or three seconds."""

MOVES_PER_S = 600
"""Moves for each second of the search, where that is short."""

FIRST_PATIENCE_S = 4.0
"""Seconds that a probe may take until bisection has met an undecided one."""


@dataclass(frozen=True)
class SearchSettings:
    """How long to look, in seconds, with how many threads, and which gap to the proven bound is small enough."""

    seconds: float = 120.0
    workers: int = 2
    gap: float = 0.01
    seed: int = 0
    report: Callable[[str], None] | None = None
    """Told what is being tried."""


@dataclass
class Found:
    """The best placement, and what is known about better ones."""

    aggregate: Bound
    bound_fps: float
    """No placement is faster: proven by the aggregate or by probes that were infeasible."""
    fps: float = 0.0
    placement: Placement | None = None
    probes: list[Probe] = field(default_factory=list)
    interrupted: bool = False

    @property
    def gap(self) -> float:
        """bound / found - 1; infinite where nothing was found."""
        return self.bound_fps / self.fps - 1 if self.fps else float("inf")


def fastest_placement(
    table: DemandTable, settings: SearchSettings, start: Placement | None = None, bound: Bound | None = None
) -> Found:
    """Bisect on the throughput until the gap or the time is used up. Ctrl-C returns what was found so far.

    ``bound`` is a proven one where the caller knows one below the aggregate. A probe that the solver could not decide
    lowers the next one but never the bound; undecided ones are tried again while there is time.
    """
    aggregate = aggregate_bound(table)
    limit = min(aggregate.fps, bound.fps) if bound else aggregate.fps
    found = Found(aggregate, limit)
    if static_shortage(table):
        found.bound_fps = 0.0
        return found
    end = time.monotonic() + settings.seconds
    if settings.report:
        settings.report("a first placement")
    try:
        near, fps = _first_placement(table, limit, settings)
        if start is not None:
            near, fps = max((near, fps), (start, reached_fps(table, start)), key=lambda pair: pair[1])
        if fps > 0:
            found.fps, found.placement = fps, near
        _bisect(table, settings, found, limit, near, end)
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def _first_placement(table: DemandTable, limit: float, settings: SearchSettings) -> tuple[Placement, float]:
    """Annealed towards lower throughputs until there is a placement, then towards higher ones while that works."""
    moves, seed = min(MOVES, int(MOVES_PER_S * settings.seconds) + 1), settings.seed
    tries: list[tuple[Placement, float]] = []
    for share in START_SHARES:
        tries.append(annealed(table, share * limit, moves, seed))
        if tries[-1][1] > 0:
            break
    near, fps = tries[-1] if tries[-1][1] > 0 else tries[0]
    target = fps
    while 0 < (target := 1.5 * target) < FIRST_SHARE * limit:
        higher = annealed(table, target, moves, seed)
        if higher[1] <= fps:
            break
        near, fps = higher
    return near, fps


def _bisect(
    table: DemandTable, settings: SearchSettings, found: Found, limit: float, near: Placement, end: float
) -> None:
    ceiling = limit
    """Below it a probe is worth trying: lowered by undecided probes too, and raised again when bisection has met it."""
    patience = min(settings.seconds / 8, FIRST_PATIENCE_S)
    fps = max(FIRST_SHARE * limit, found.fps * (1 + settings.gap))
    while found.gap > settings.gap and (left := end - time.monotonic()) > 0:
        fps = min(fps, found.bound_fps * (1 - settings.gap / 4))
        if settings.report:
            best = f"best {found.fps:,.1f}, " if found.fps else ""
            settings.report(f"{best}bound {found.bound_fps:,.1f}, trying {fps:,.1f} fps")
        seed = settings.seed + len(found.probes)
        tried = probe(
            table,
            fps,
            min(patience if found.fps else 3 * patience, left),
            settings.workers,
            found.placement or near,
            seed,
        )
        found.probes.append(tried)
        first = not found.fps
        if tried.placement is not None:
            reached = reached_fps(table, tried.placement)
            found.fps, found.placement = max((found.fps, found.placement), (reached, tried.placement), key=_first)
        if first and found.fps:  # what was undecided without a start may be decided with one
            ceiling = found.bound_fps
        if tried.status == "infeasible":
            found.bound_fps = min(found.bound_fps, fps)
            if fps <= LEAST_FPS:
                return
        if tried.status != "feasible" and not (first and found.fps):
            ceiling = min(ceiling, fps)
        ceiling = min(ceiling, found.bound_fps)
        if ceiling <= found.fps * (1 + settings.gap):  # bisection has met an undecided probe: again, with more time
            ceiling, patience = found.bound_fps, patience * 2
        fps = _next(found, ceiling)


def _first(pair: tuple[float, Placement | None]) -> float:
    return pair[0]


def _next(found: Found, ceiling: float) -> float:
    """Halfway to the ceiling; far below it while nothing was found."""
    return (found.fps + ceiling) / 2 if found.fps else ceiling * 0.4
