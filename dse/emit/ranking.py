"""Which point is the fastest as RTL: families and RTL do not agree on that, the schedule's prediction decides.

Points are looked at in the order of a lower bound of their schedules (``dse.emit.floor``), and none whose bound is no
better than the best schedule so far. What was excluded so is no guess: no such point is faster.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from dse.device import Device
from dse.emit.choice import Choice, finalists, winners
from dse.emit.design import Design, design_of, realised, workload_of
from dse.emit.floor import Floor
from dse.emit.near import near
from dse.emit.parameters import engine_parameters, point_engine
from dse.engine import EngineParameters
from dse.errors import InputError
from dse.network import Network
from dse.registry import family_named
from dse.results import Cell

__all__ = ["FINALISTS", "LIMIT_S", "Beaten", "Ranked", "Ranking", "rank"]

FINALISTS = 512
"""Points of a family that are looked at, the fastest by its estimate: all of a sweep's usual 500 trials, as most cost
no more than their bound and some of the last are the best (docs/rtl.md)."""
LIMIT_S = 60.0
"""Seconds after which the best so far is taken."""

_Realised = tuple[EngineParameters, frozenset[str]]
"""An engine with the depths of a point, and which of these are the point's."""

OnRank = Callable[[int, int], None]
"""Called with (schedules predicted, those and what may still need one)."""


@dataclass(frozen=True)
class Ranked:
    """A point and its design, which lacks the family's estimate."""

    choice: Choice
    design: Design
    predicted_s: float
    """Seconds of an iteration by the schedule; infinite where there is none."""

    @property
    def is_winner(self) -> bool:
        """Whether it is its family's best point."""
        return self.choice.name == "best"

    def content(self) -> dict[str, Any]:
        """In JSON types."""
        return {
            "family": self.choice.cell.family,
            "id": self.choice.name,
            "point": dict(self.choice.point),
            "family_s": self.choice.family_s,
            "schedule_s": self.predicted_s if math.isfinite(self.predicted_s) else None,
        }


@dataclass(frozen=True)
class Beaten:
    """A winner whose schedule was not predicted, as it takes ``least_s`` or more."""

    choice: Choice
    least_s: float

    def content(self) -> dict[str, Any]:
        """In JSON types."""
        choice = self.choice
        named = {"family": choice.cell.family, "id": choice.name, "point": dict(choice.point)}
        return {**named, "family_s": choice.family_s, "least_s": self.least_s}


@dataclass(frozen=True)
class Ranking:
    """Points by the time of their schedules.

    ``ranked``: those with a predicted schedule, best first. ``refused``: why families' winners cannot be RTL.
    """

    ranked: tuple[Ranked, ...]
    refused: tuple[InputError, ...] = ()
    excluded: int = 0
    """Points whose lower bound is no better than the best, winners left out."""
    beaten: tuple[Beaten, ...] = ()
    """Winners of which that is so."""
    open: int = 0
    """Points that might be better and were not looked at."""
    stopped: str = ""
    """Why there are such: ``time`` or ``interrupt``."""

    @property
    def best(self) -> Ranked:
        """The first one. Raises the reason of the first refusal where there is none."""
        if not self.ranked:
            raise self.refused[0]
        return self.ranked[0]

    @property
    def winner(self) -> Ranked | None:
        """The fastest of the families' winners; None where none can be RTL."""
        return next((item for item in self.ranked if item.is_winner), None)

    @property
    def gain(self) -> float:
        """Share of the winner's time that the best one saves; NaN where there is no winner with a schedule."""
        if self.winner is None or not math.isfinite(self.winner.predicted_s):
            return math.nan
        return 1 - self.best.predicted_s / self.winner.predicted_s

    def design(self, network: Network, device: Device) -> Design:
        """The design of the best one, complete."""
        return replace(design_of(self.best.choice, network, device), ranking=self.content())

    def shown(self, most: int = 5) -> list[tuple[int, Ranked]]:
        """(Place from 1, point) of the winners and the first ``most``; of those with the same lanes the first one."""
        lanes: set[EngineParameters] = set()
        found = []
        for place, item in enumerate(self.ranked, 1):
            same = replace(item.design.engine, feature_depth=2, operand_depth=2, sum_depth=2)
            if item.is_winner or (same not in lanes and len(lanes) < most):
                found.append((place, item))
            lanes.add(same)
        return found

    def content(self) -> dict[str, Any]:
        """In JSON types."""
        return {
            "predicted": len(self.ranked), "excluded": self.excluded, "open": self.open, "stopped": self.stopped,
            "points": [{"rank": place, **item.content()} for place, item in self.shown()],
            "beaten": [item.content() for item in self.beaten],
        }  # fmt: skip


def rank(
    cells: Sequence[Cell],
    network: Network,
    device: Device,
    *,
    finalists_per_family: int = FINALISTS,
    climbs: bool = True,
    limit_s: float = LIMIT_S,
    on_progress: OnRank | None = None,
) -> Ranking:
    """The points of ``cells``, all of one task and each with a winner, by the time of their schedules.

    The winner of every cell is looked at; where the first objective is the latency, then the ``finalists_per_family``
    best points of each, and, if ``climbs``, the neighbours of the best of all, until none is better. Else, and for
    networks that have no schedule, the winners' order stays. After ``limit_s`` seconds, though not before the winners,
    and at Ctrl-C the best so far counts.
    """
    search = _Search(cells, network, device, time.monotonic() + limit_s, on_progress)
    try:
        search.take_winners()
        if search.by_schedule:
            search.take(choice for cell in cells for choice in finalists(cell, finalists_per_family))
            if climbs:
                search.climb()
    except _OutOfTimeError:
        search.stopped = "time"
    except KeyboardInterrupt:
        if not search.ranked:
            raise
        search.stopped = "interrupt"
    return search.ranking()


class _OutOfTimeError(Exception):
    """The limit was reached."""


@dataclass
class _Search:
    cells: Sequence[Cell]
    network: Network
    device: Device
    deadline: float
    on_progress: OnRank | None
    ranked: list[Ranked] = field(default_factory=list)
    beaten: list[Beaten] = field(default_factory=list)
    refused: list[InputError] = field(default_factory=list)
    known: set[_Realised] = field(default_factory=set)
    """What the points so far ask of the RTL."""
    engines: set[EngineParameters] = field(default_factory=set)
    """Those that were predicted."""
    waiting: list[tuple[float, int, Choice]] = field(default_factory=list)
    """A heap by lower bound [cycles]; equals in the order in which they came."""
    unseen: int = 0
    """Points that are not in it yet."""
    excluded: int = 0
    stopped: str = ""

    def __post_init__(self) -> None:
        self.workload = workload_of(self.cells[0], self.network)
        self.floor = Floor(self.workload)
        self.number = count()

    @property
    def best(self) -> Ranked | None:
        """The fastest so far."""
        return min(self.ranked, key=lambda item: item.predicted_s, default=None)

    @property
    def best_cycles(self) -> float:
        """Of its schedule; infinite while there is none."""
        return self.best.predicted_s * self.device.clock_hz if self.best else math.inf

    @property
    def by_schedule(self) -> bool:
        """Whether the time of schedules decides."""
        return all(cell.objectives[0] == "latency" for cell in self.cells) and not math.isinf(self.best_cycles)

    def take_winners(self) -> None:
        """Predict the families' winners but for those that another one beats for certain."""
        for choice in winners(self.cells):
            self._wait_for(choice)
        latency = all(cell.objectives[0] == "latency" for cell in self.cells)
        order = sorted(self.waiting) if latency else sorted(self.waiting, key=lambda item: item[1])
        self.waiting.clear()
        for bound, _, choice in order:
            if latency and self.best_cycles <= bound < math.inf:
                self.beaten.append(Beaten(choice, bound / self.device.clock_hz))
            else:
                self.measure(choice)

    def measure(self, choice: Choice) -> None:
        """Predict the schedule of a point, unless one with the same RTL was; a winner's refusal is kept."""
        shape = family_named(choice.cell.family).rtl_shape(choice.point)
        try:
            if engine_parameters(shape, self.workload, self.device) in self.engines:
                return
            design = realised(choice, self.network, self.device)
        except InputError as error:
            self._refuse(choice, error)
            return
        self.engines.add(design.engine)
        self.ranked.append(Ranked(choice, design, design.predicted_s))

    def _refuse(self, choice: Choice, error: InputError) -> None:
        self.refused += [error] if choice.name == "best" else []

    def take(self, choices: Iterable[Choice]) -> None:
        """Predict of ``choices``, the lowest bound first, what may be better than the best."""
        queue = list(choices)
        for number, choice in enumerate(queue):
            self.unseen = len(queue) - number
            self._check_time()
            self._wait_for(choice)
        self.unseen = 0
        while self.waiting and self.waiting[0][0] < self.best_cycles:
            self._check_time()
            _, _, choice = heapq.heappop(self.waiting)
            self.measure(choice)
            if self.on_progress:
                promising = sum(bound < self.best_cycles for bound, _, _ in self.waiting)
                self.on_progress(len(self.ranked), len(self.ranked) + promising)
        self.excluded += len(self.waiting)
        self.waiting.clear()

    def climb(self) -> None:
        """Go on around the best, from better to better."""
        before = None
        while self.best is not before and self.best is not None:
            before = self.best
            self.take(near(before.choice, self.network, self.device))

    def _wait_for(self, choice: Choice) -> None:
        """Queue a point with its bound, unless it asks for the same RTL as one before."""
        shape = family_named(choice.cell.family).rtl_shape(choice.point)
        try:
            engine = point_engine(shape, self.workload, self.device)
        except InputError as error:
            self._refuse(choice, error)
            return
        key = (engine, frozenset(shape.depth))
        if key not in self.known:
            self.known.add(key)
            heapq.heappush(self.waiting, (self.floor.cycles(engine), next(self.number), choice))

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise _OutOfTimeError

    def ranking(self) -> Ranking:
        """What there is now."""
        ranked = self.ranked
        if all(cell.objectives[0] == "latency" for cell in self.cells):
            ranked = sorted(ranked, key=lambda item: item.predicted_s)
        left = len(self.waiting) + self.unseen
        return Ranking(tuple(ranked), tuple(self.refused), self.excluded, tuple(self.beaten), left, self.stopped)
