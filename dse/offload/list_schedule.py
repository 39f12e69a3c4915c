"""Event-driven list scheduling: what becomes ready runs on its unit, longest remaining path first, within the cap."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from dse.offload.placement import Placed, place
from dse.offload.platform import Platform
from dse.offload.schedule import Run, Schedule, Transfer, power_steps, units_of
from dse.offload.task_graph import TaskGraph

__all__ = ["list_schedule"]

_SLACK_W = 1e-9


def list_schedule(graph: TaskGraph, platform: Platform, offloaded: Collection[str]) -> Schedule | None:
    """The step with the tasks ``offloaded`` on FPGAs and all others on their GPUs; None where the cap bars a task.

    A unit runs one task at a time and does not stop it. A tensor is sent to the units that need it as soon as it is
    there and both ends' links are free, once for each unit, beside computation. A task starts if the machine's peak
    power stays within ``platform.cap_w``, on a GPU at the highest clock level at which it does.
    """
    placed = place(graph, platform, offloaded)
    if math.isfinite(platform.cap_w) and not _fit(placed, platform):
        return None
    simulation = _Simulation(graph, platform, placed)
    simulation.run()
    idle_w = units_of(platform)
    end_s = max((run.end_s for run in simulation.runs), default=0.0)
    energy_j = end_s * (platform.host_w + sum(idle_w.values()))
    energy_j += sum((run.end_s - run.start_s) * (run.watts - idle_w[run.unit]) for run in simulation.runs)
    return Schedule(
        runs=tuple(simulation.runs),
        transfers=tuple(simulation.transfers),
        seconds=end_s,
        energy_j=energy_j,
        peak_w=max(watts for _, watts in power_steps(simulation.runs, platform, peak=True)),
        offloaded=frozenset(offloaded) | graph.fpga_only,
    )


def _fit(placed: list[Placed], platform: Platform) -> bool:
    """Whether every task can run while all other units are idle: then nothing can be stuck behind the cap."""
    idle_w = units_of(platform)
    room_w = platform.cap_w - platform.host_w - sum(idle_w.values()) + _SLACK_W
    return all(min(mode.peak_watts for mode in p.modes) - idle_w[p.unit] <= room_w for p in placed)


class _Request(NamedTuple):
    """A tensor that waits for both ends' links; the consumer with the longest remaining path goes first."""

    rank: float
    number: int
    tensor: str
    source: str
    target: str
    count_bytes: float


@dataclass
class _Simulation:
    graph: TaskGraph
    platform: Platform
    placed: list[Placed]
    runs: list[Run] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    running_w: dict[int, float] = field(default_factory=dict)
    """Running task -> peak watts above idle."""

    def __post_init__(self) -> None:
        self.position = {task.name: number for number, task in enumerate(self.graph.tasks)}
        self.missing = [len(set(task.inputs)) for task in self.graph.tasks]
        self.targets: dict[str, dict[str, list[int]]] = {}
        for number, task in enumerate(self.graph.tasks):
            unit = self.placed[number].unit
            for source in dict.fromkeys(task.inputs):
                self.targets.setdefault(source, {}).setdefault(unit, []).append(number)
        idle_w = units_of(self.platform)
        self.idle_w = idle_w
        self.power_w = self.platform.host_w + sum(idle_w.values())
        self.ready: dict[str, list[tuple[float, int]]] = {unit: [] for unit in idle_w}
        self.free = dict.fromkeys(idle_w, True)
        self.link_free = dict.fromkeys(idle_w, True)
        self.waiting: list[_Request] = []
        self.events: list[tuple[float, int, str, int | _Request]] = []
        self.count = 0
        self.links_changed = False

    def run(self) -> None:
        """From the resident tensors to the last task."""
        for tensor, (home, count_bytes) in self.graph.resident.items():
            self._appear(tensor, f"gpu{home}", count_bytes)
        for number, task in enumerate(self.graph.tasks):
            if not task.inputs:
                self._queue(number)
        self._start(0.0)
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                _, _, unit, what = heapq.heappop(self.events)
                self._finish(unit, what)
            self._start(now)

    def _finish(self, unit: str, what: int | _Request) -> None:
        if isinstance(what, _Request):
            self.link_free[what.source] = self.link_free[what.target] = self.links_changed = True
            self._arrive(what.tensor, what.target)
            return
        run = self.placed[what]
        self.free[unit] = True
        self.power_w -= self.running_w[what]
        self._appear(run.task.name, unit, run.task.out_bytes)

    def _appear(self, tensor: str, unit: str, count_bytes: float) -> None:
        """A tensor is in ``unit``'s memory: its consumers there have it, the others' units are to be sent it."""
        for target, consumers in self.targets.get(tensor, {}).items():
            if target == unit or count_bytes <= 0:
                self._arrive(tensor, target)
            else:
                rank = max(self.placed[number].rank_s for number in consumers)
                self.count += 1
                self.links_changed = True
                heapq.heappush(self.waiting, _Request(-rank, self.count, tensor, unit, target, count_bytes))

    def _arrive(self, tensor: str, unit: str) -> None:
        for number in self.targets[tensor][unit]:
            self.missing[number] -= 1
            if self.missing[number] == 0:
                self._queue(number)

    def _queue(self, number: int) -> None:
        """A task that takes no time goes first: it delays nobody."""
        placed = self.placed[number]
        urgency = placed.rank_s if placed.modes[0].seconds > 0 else math.inf
        heapq.heappush(self.ready[placed.unit], (-urgency, number))

    def _start(self, now: float) -> None:
        """Whatever can begin: transfers with both links free, then tasks on free units, most urgent first."""
        if self.links_changed:
            self._start_transfers(now)
        heads = sorted((queue[0], unit) for unit, queue in self.ready.items() if queue and self.free[unit])
        for _, unit in heads:
            self._start_tasks(unit, now)

    def _start_transfers(self, now: float) -> None:
        self.links_changed = False
        later = []
        while self.waiting:
            request = heapq.heappop(self.waiting)
            if self.link_free[request.source] and self.link_free[request.target]:
                self.link_free[request.source] = self.link_free[request.target] = False
                end_s = now + self.platform.transfer_s(request.count_bytes)
                self.transfers.append(
                    Transfer(request.tensor, request.source, request.target, now, end_s, request.count_bytes)
                )
                self._push(end_s, request.target, request)
            else:
                later.append(request)
        self.waiting = later  # popped in order, so still a heap

    def _start_tasks(self, unit: str, now: float) -> None:
        """The most urgent task of ``unit`` that the cap lets start, at its fastest mode within the cap."""
        barred = []
        queue = self.ready[unit]
        while queue:
            rank, number = heapq.heappop(queue)
            placed = self.placed[number]
            room_w = self.platform.cap_w - self.power_w + self.idle_w[unit] + _SLACK_W
            mode = next((mode for mode in placed.modes if mode.peak_watts <= room_w), None)
            if mode is None:
                barred.append((rank, number))
                continue
            self.free[unit] = False
            self.running_w[number] = mode.peak_watts - self.idle_w[unit]
            self.power_w += self.running_w[number]
            end_s = now + mode.seconds
            self.runs.append(Run(placed.task.name, unit, now, end_s, mode.watts, mode.peak_watts, mode.level))
            self._push(end_s, unit, number)
            break
        for entry in barred:
            heapq.heappush(queue, entry)

    def _push(self, time_s: float, unit: str, what: int | _Request) -> None:
        self.count += 1
        heapq.heappush(self.events, (time_s, self.count, unit, what))
