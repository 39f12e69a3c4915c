"""The fastest placement: bounds, a first one by runs, and bisection on the throughput with probes from the best."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dse.cluster.bounds import LEAST_FPS, Bound, aggregate_bound, static_shortage
from dse.cluster.budget import Budget
from dse.cluster.demand import DemandTable
from dse.cluster.holding import least_held
from dse.cluster.hop_bound import hop_bound
from dse.cluster.kept_weights import kept_weights
from dse.cluster.neighbourhoods import excesses
from dse.cluster.placement import Placement
from dse.cluster.probe import Probe, probe
from dse.cluster.relaxation import relaxed_bound
from dse.cluster.runs import best_runs
from dse.cluster.usage import reached_fps, usage

__all__ = ["Found", "SearchSettings", "fastest_placement"]

OVERFULL = (1.2, 1.5, 2.0, 4.0)
"""Where no runs fit: by how much the nodes' RAM may be exceeded at first, for a start that is nearly a placement."""

FIRST_WORK = 8.0
"""Units of work on a probe until bisection has met an undecided one."""

FIRST_TRY = 3
"""Times the work on probes that begin with no placement."""

LOWER = 0.85
"""A probe that nothing came of is followed by one at so much less."""

PATIENCE = 4
"""Undecided probes while nothing was found, before asking whether there is a placement at any throughput.

Every other one begins again with the first placement and other neighbourhoods: several short searches find tight
placements sooner than a long one that is in a dead end.
"""


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
    """No placement is faster, and what sets that: all nodes together, a stage alone, or stages split freely."""
    bound_fps: float
    """No placement is faster: proven by the aggregate or by probes that were infeasible."""
    fps: float = 0.0
    placement: Placement | None = None
    probes: list[Probe] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0
    ended: str = "proven"
    """What ended the search: ``proven`` (the gap was reached), ``work``, ``clock`` (another run may find another plan),
    or ``interrupted``."""

    @property
    def gap(self) -> float:
        """bound / found - 1; infinite where nothing was found."""
        return self.bound_fps / self.fps - 1 if self.fps else float("inf")

    def offer(self, table: DemandTable, placement: Placement) -> None:
        """Keep ``placement`` if it is the fastest so far. It must have equal hops and few enough connections."""
        if usage(table, placement, max(self.fps * (1 + 1e-9), LEAST_FPS)).fits:
            reached = reached_fps(table, placement, self.fps)
            if reached > self.fps:
                self.fps, self.placement = reached, placement


def fastest_placement(table: DemandTable, settings: SearchSettings, start: Placement | None = None) -> Found:
    """Bisect on the throughput until the gap or the time is used up. Ctrl-C returns what was found so far.

    A probe that was not decided lowers the next one but never the bound; undecided ones are tried again while there is
    time. ``start`` is a placement known from elsewhere.
    """
    began = time.monotonic()
    aggregate = aggregate_bound(table)
    found = Found(aggregate, aggregate.fps)
    if static_shortage(table) or aggregate.fps < LEAST_FPS:
        found.bound_fps = 0.0
        return found
    budget = Budget(settings.seconds, settings.workers)
    try:
        if settings.report:
            settings.report("bounds and a first placement")
        found.aggregate = hop_bound(table, relaxed_bound(table, aggregate))
        found.bound_fps = found.aggregate.fps
        if not found.bound_fps:
            return found
        near = _first_placement(table, found)
        if start is not None:
            found.offer(table, start)
        _bisect(table, settings, found, near, budget)
        found.ended = "proven" if _done(found, settings) else "clock" if budget.clock_ended else "work"
    except KeyboardInterrupt:
        found.interrupted, found.ended = True, "interrupted"
    if found.placement is not None:
        found.placement = least_held(table, found.placement, found.fps)
    found.seconds = time.monotonic() - began
    return found


def _first_placement(table: DemandTable, found: Found) -> Placement | None:
    """Runs that fit, or else that would with more RAM; None where there are none."""
    runs = best_runs(table, found.bound_fps)
    if runs is not None:
        found.offer(table, runs[0])
        return runs[0]
    for more in OVERFULL:
        nodes = tuple(replace(node, ram_bits=node.ram_bits * more) for node in table.cluster.nodes)
        runs = best_runs(replace(table, cluster=replace(table.cluster, nodes=nodes)), found.bound_fps)
        if runs is not None:
            return Placement(runs[0].node, kept_weights(table, runs[0].node))
    return None


def _done(found: Found, settings: SearchSettings) -> bool:
    return (found.placement is not None and found.gap <= settings.gap) or found.bound_fps <= LEAST_FPS


def _bisect(table: DemandTable, settings: SearchSettings, found: Found, near: Placement | None, budget: Budget) -> None:
    ceiling = found.bound_fps
    """Below it a probe is worth trying: lowered by undecided probes too, and raised again when bisection has met it."""
    work, undecided, origin = FIRST_WORK, 0, near
    fps = max(found.bound_fps / (1 + settings.gap), LEAST_FPS)
    while not _done(found, settings) and budget.left > 0:
        if settings.report:
            best = f"best {found.fps:,.1f}, " if found.fps else ""
            settings.report(f"{best}bound {found.bound_fps:,.1f}, trying {fps:,.1f} fps")
        start = origin if undecided % 2 == 0 else _nearest(table, fps, near, found.placement)
        tried = probe(
            table, fps, min(work if found.fps else FIRST_TRY * work, budget.left), settings.workers, start, budget,
            settings.seed + len(found.probes), lambda placement: found.offer(table, placement),
        )  # fmt: skip
        found.probes.append(tried)
        if tried.placement is not None:
            found.offer(table, tried.placement)
            near = tried.placement
        undecided += tried.status == "unknown"
        if tried.status == "infeasible":
            found.bound_fps = min(found.bound_fps, fps) if fps > LEAST_FPS else 0.0
        if not found.fps and tried.status == "unknown" and undecided % PATIENCE:
            fps *= LOWER
            continue
        if tried.status != "feasible":
            ceiling = min(ceiling, fps)
        ceiling = min(ceiling, found.bound_fps)
        if ceiling <= found.fps * (1 + settings.gap) or fps <= LEAST_FPS:
            ceiling, work = found.bound_fps, work * 2  # met an undecided probe: from the top again, with more work
            fps = max(found.bound_fps / (1 + settings.gap), LEAST_FPS)
        else:
            fps = (found.fps + ceiling) / 2 if found.fps else LEAST_FPS


def _nearest(table: DemandTable, fps: float, *starts: Placement | None) -> Placement | None:
    """The one that exceeds least at ``fps``."""
    known = [start for start in starts if start is not None]
    return min(known, key=lambda start: float(excesses(table, start, fps).sum()), default=None)
