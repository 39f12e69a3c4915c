"""A discrete-event simulation of actors that pass rows to each other through finite queues and shared servers.

An actor works on one unit (some rows of a frame) at a time. It begins when every input queue holds what the unit needs
and every output queue has room; its rows arrive at once, or through a server (a link) that serves one request after
another. Amounts are frames since the beginning of the batch.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["AHEAD", "WAITS", "Actor", "Queue", "Server", "Simulation"]

WAITS = ("input", "room", "frame")
"""What an actor that stands still waits for: rows, room behind it, or leave to begin a frame."""

AHEAD = 4
"""Units that an engine's DRAM traffic may lag or lead: the depth of the queue between the two."""

_EPSILON = 1e-9


@dataclass
class Server:
    """Serves requests in the order they come, ``bits_per_s`` fast; ``latency_s`` later they have arrived."""

    bits_per_s: float
    latency_s: float = 0.0
    free_s: float = 0.0
    busy_s: float = 0.0

    def serve(self, now_s: float, bits: float) -> float:
        """When ``bits`` that are requested now have arrived."""
        spent = bits / self.bits_per_s if bits else 0.0
        self.free_s = max(self.free_s, now_s) + spent
        self.busy_s += spent
        return self.free_s + self.latency_s


@dataclass(eq=False)
class Queue:
    """Rows between two actors: how much was sent, has arrived and was taken, in frames."""

    source: Actor
    target: Actor
    capacity: float
    bits_per_frame: float = 0.0
    link: Server | None = None
    whole: bool = False
    """Whether whole frames go through it only: the target begins a frame when all of it is there."""
    sent: float = 0.0
    arrived: float = 0.0
    taken: float = 0.0


@dataclass(eq=False)
class Actor:
    """``units`` a frame, each ``unit_s`` long; ``need`` and ``emit`` give how much of a frame unit number j takes in
    all, and has given in all when it ends. With ``hold`` so many frames are taken, and given, at once."""

    name: str
    units: int
    unit_s: float
    need: Callable[[int], float]
    emit: Callable[[int], float]
    inputs: list[Queue] = field(default_factory=list)
    outputs: list[Queue] = field(default_factory=list)
    hold: int = 0
    write: tuple[Server, float] | None = None
    """DRAM that takes so many bits of every unit; a unit waits for the write of ``AHEAD`` units before."""
    read: tuple[Server, float] | None = None
    """DRAM that gives so many bits for every unit, asked for ``AHEAD`` units ahead."""
    may_begin: Callable[[int], bool] = lambda frame: True
    wakes: list[Actor] = field(default_factory=list)
    """Actors whose ``may_begin`` looks at this one."""
    done: int = 0
    running: bool = False
    written_s: deque[float] = field(default_factory=lambda: deque([0.0] * AHEAD))
    read_s: deque[float] = field(default_factory=lambda: deque([0.0] * AHEAD))
    """When the units' last writes and next reads are through."""
    frame_end_s: list[float] = field(default_factory=list)
    waited_s: dict[str, float] = field(default_factory=lambda: dict.fromkeys(WAITS, 0.0))
    """Seconds that it stood still for each reason, after its first unit."""
    reason: str = ""
    since_s: float = 0.0


class Simulation:
    """Runs ``actors`` until each has done ``frames`` frames."""

    def __init__(self, actors: list[Actor], frames: int) -> None:
        self.actors, self.frames, self.now_s = actors, frames, 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def run(self) -> bool:
        """Whether all frames got through; False where actors wait for each other for ever."""
        for actor in self.actors:
            self._try(actor)
        while self._events:
            self.now_s, _, happen = heapq.heappop(self._events)
            happen()
        return all(len(actor.frame_end_s) == self.frames for actor in self.actors)

    def _at(self, time_s: float, happen: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (time_s, self._count, happen))

    def _obstacle(self, actor: Actor) -> str:
        if not actor.may_begin(actor.done // actor.units):
            return "frame"
        if any(queue.arrived < self._taken(actor, queue) - _EPSILON for queue in actor.inputs):
            return "input"
        full = any(self._given(actor, q) - q.taken > q.capacity + _EPSILON for q in actor.outputs)
        return "room" if full else ""

    def _taken(self, actor: Actor, queue: Queue) -> float:
        """Frames that the unit which comes next takes of a queue in all."""
        frame, unit = divmod(actor.done, actor.units)
        if actor.hold:
            return float(min((frame // actor.hold + 1) * actor.hold, self.frames))
        return frame + (1.0 if queue.whole else actor.need(unit))

    def _given(self, actor: Actor, queue: Queue) -> float:
        """Frames that a queue has been given in all after the unit which comes next."""
        frame, unit = divmod(actor.done, actor.units)
        last = unit + 1 == actor.units
        if actor.hold:
            ends = last and ((frame + 1) % actor.hold == 0 or frame + 1 == self.frames)
            return float(frame + 1 if ends else frame // actor.hold * actor.hold)
        return frame + (float(last) if queue.whole else actor.emit(unit))

    def _try(self, actor: Actor) -> None:
        """Begin the next unit of ``actor`` if nothing stands in the way."""
        if actor.running or actor.done >= self.frames * actor.units:
            return
        if actor.reason and actor.done:
            actor.waited_s[actor.reason] += self.now_s - actor.since_s
        actor.reason, actor.since_s = self._obstacle(actor), self.now_s
        if actor.reason:
            return
        actor.running = True
        end = self.now_s + actor.unit_s
        if actor.read is not None:
            server, bits = actor.read
            end = max(end, actor.read_s.popleft())
            actor.read_s.append(server.serve(self.now_s, bits))
        if actor.write is not None:
            server, bits = actor.write
            end = max(end, actor.written_s.popleft())
            actor.written_s.append(server.serve(self.now_s, bits))
        for queue in actor.inputs:
            queue.taken = max(queue.taken, self._taken(actor, queue))
            self._at(self.now_s, lambda source=queue.source: self._try(source))  # type: ignore[misc]
        self._at(end, lambda: self._finish(actor))

    def _finish(self, actor: Actor) -> None:
        given = [self._given(actor, queue) for queue in actor.outputs]
        unit = actor.done % actor.units
        actor.done, actor.running, actor.since_s = actor.done + 1, False, self.now_s
        for queue, amount in zip(actor.outputs, given, strict=True):
            self._send(queue, amount)
        if unit + 1 == actor.units:
            actor.frame_end_s.append(self.now_s)
            for other in actor.wakes:
                self._try(other)
        self._try(actor)

    def _send(self, queue: Queue, amount: float) -> None:
        """Rows up to ``amount`` frames go on their way."""
        more, queue.sent = amount - queue.sent, max(queue.sent, amount)
        if more <= 0:
            return
        if queue.link is None:
            queue.arrived = amount
            self._try(queue.target)
        else:
            self._at(queue.link.serve(self.now_s, more * queue.bits_per_frame), lambda: self._arrive(queue, amount))

    def _arrive(self, queue: Queue, amount: float) -> None:
        queue.arrived = max(queue.arrived, amount)
        self._try(queue.target)
