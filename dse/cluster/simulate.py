"""A plan simulated: rows of frames through the engines, forward and back, over links and DRAM, with finite queues.

Every stage is an engine forward and one back, which run at the pace of the plan's lanes. Queues hold what an engine's
window takes and two units more; one into a join also holds what the longer way on the boards holds back, as sized
without a look at the network: unequal hops then stall the join. An engine that holds whole frames takes and gives as
many at once; a product of two activations begins a frame with all of its second operand, and gives that one's gradient
when the frame ends. A node's edges share its link, its stages its DRAM. A frame may begin while no more frames wait for
their gradients than the node's DRAM has room for.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import floor

from dse.cluster.dataflow import Actor, Queue, Server, Simulation
from dse.cluster.demand import DemandTable
from dse.cluster.placement import Placement
from dse.cluster.stages import Stage, whole_frames
from dse.cluster.timing import cached_frames, update_s
from dse.errors import InputError

__all__ = ["Simulated", "StageTrace", "simulate"]

MAX_UNITS = 16
"""Units that a frame is cut into at most. Queues are a few units deep, so that more units are shallower queues."""

_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class StageTrace:
    """What one stage did: when each frame ended, forward and back, and how long it stood still, in seconds."""

    name: str
    node: str
    forward_end_s: tuple[float, ...]
    backward_end_s: tuple[float, ...]
    starved_s: float
    blocked_s: float
    before_join: bool
    """A reader of this stage has other ways into it: room may lack because those are late."""


@dataclass(frozen=True)
class Simulated:
    """A batch from the first row in to the last parameter updated."""

    frames: int
    planned_fps: float
    steady_fps: float
    """Between the first and the last frame's end, which leaves fill and drain out; NaN for one frame."""
    fill_s: float
    """Until the first frame's last gradient."""
    frames_s: float
    """Until the last frame's last gradient."""
    update_s: float
    link_busy: tuple[float, ...]
    """Share of the frames' time in which each node sends [N]."""
    stages: tuple[StageTrace, ...]

    @property
    def batch_fps(self) -> float:
        """Frames per second with fill, drain and update."""
        return self.frames / (self.frames_s + self.update_s)


def simulate(
    table: DemandTable, placement: Placement, fps: float, frames: int = 32, cache_frames: int | None = None
) -> Simulated:
    """Simulate ``frames`` frames of a plan for ``fps`` and the update behind them.

    ``cache_frames`` between forward and backward at most, instead of what the nodes' DRAM has room for. Raises
    InputError where the frames do not get through, which is a queue that is too short for its join.
    """
    builder = _Builder(table, placement, fps, cache_frames)
    simulation = Simulation(builder.actors, frames)
    if not simulation.run():
        stuck = next(a.name for a in builder.actors if len(a.frame_end_s) < frames)
        raise InputError("simulation", "frames do not get through: queues are too short", stuck)
    ends = [max(a.frame_end_s[n] for a in builder.actors) for n in range(frames)]
    steady = (frames - 1) / (ends[-1] - ends[0]) if frames > 1 else float("nan")
    return Simulated(
        frames=frames,
        planned_fps=fps,
        steady_fps=steady,
        fill_s=ends[0],
        frames_s=ends[-1],
        update_s=update_s(table, placement),
        link_busy=tuple(link.busy_s / ends[-1] for link in builder.links),
        stages=tuple(builder.trace()),
    )


class _Builder:
    """Actors and queues of a placement."""

    def __init__(self, table: DemandTable, placement: Placement, fps: float, cache_frames: int | None) -> None:
        self.table, self.placement, self.fps = table, placement, fps
        nodes, latency = table.cluster.nodes, table.cluster.switch_latency_s
        self.links = [Server(node.link_bits_per_s, latency) for node in nodes]
        self.reads = [Server(node.dram_read_bits_per_s) for node in nodes]
        self.writes = [
            Server(node.dram_write_bits_per_s) if node.dram_bits_per_s > node.dram_read_bits_per_s else read
            for node, read in zip(nodes, self.reads, strict=True)
        ]
        self.forward = [self._forward(number) for number in range(len(table.graph.stages))]
        self.backward: list[Actor | None] = [None] * len(self.forward)
        caches = cached_frames(table, placement) if cache_frames is None else [cache_frames] * len(nodes)
        self._backward(caches)
        kept = [options[way] for options, way in zip(table.storages, placement.storage, strict=True)]
        delay = [_delay(stage, storage.frames) for stage, storage in zip(table.graph.stages, kept, strict=True)]
        there, back = self._distances(delay)
        edges = zip(table.graph.edges, *table.edge_bits(), there, back, whole_frames(table.graph), strict=True)
        for edge, bits, back_bits, ahead, behind, whole in edges:
            a, b = placement.node[edge.source], placement.node[edge.target]
            self._connect(self.forward[edge.source], self.forward[edge.target], bits, (a, b), ahead, whole)
            source, target = self.backward[edge.target], self.backward[edge.source]
            if edge.backward and source is not None and target is not None:
                self._connect(source, target, back_bits, (b, a), behind, whole)
        self.actors = [*self.forward, *(actor for actor in self.backward if actor is not None)]

    def _forward(self, number: int) -> Actor:
        stage, node = self.table.graph.stages[number], self.placement.node[number]
        units, window, rows = _units(stage, self._held(number))
        actor = Actor(
            f"{stage.name} forward",
            units,
            self._unit_s(number, units),
            need=lambda j: min((j + 1) / units + window, 1.0),
            emit=lambda j: _whole((j + 1) / units, rows),
            hold=self._hold(number),
        )
        kept = self.table.storages[number][self.placement.storage[number]]
        if kept.dram_write_bits:
            actor.write = (self.writes[node], kept.dram_write_bits / units)
        return actor

    def _held(self, number: int) -> float:
        """Frames that a stage holds whole."""
        return self.table.storages[number][self.placement.storage[number]].frames

    def _hold(self, number: int) -> int:
        """Frames that a stage takes and gives at once; a share of one is a larger unit."""
        return int(self._held(number))

    def _backward(self, caches: list[int]) -> None:
        """An engine back for each stage that gradients reach; it begins with the loss, and reads what was kept."""
        reached = {edge.source for edge in self.table.graph.edges if edge.backward}
        for number in {*reached, *self.table.graph.outputs}:
            stage, node = self.table.graph.stages[number], self.placement.node[number]
            units, window, rows = _units(stage, self._held(number))
            ahead = self.forward[number]
            actor = Actor(
                f"{stage.name} backward",
                units,
                self._unit_s(number, units),
                need=lambda j, u=units, w=window, r=rows: min(-floor(-(j + 1) / u * r + _EPSILON) / r + w, 1.0),  # type: ignore[misc]
                emit=lambda j, u=units: (j + 1) / u,  # type: ignore[misc]
                may_begin=lambda frame, f=ahead: len(f.frame_end_s) > frame,  # type: ignore[misc]
                hold=self._hold(number),
            )
            ahead.wakes.append(actor)
            kept = self.table.storages[number][self.placement.storage[number]]
            if kept.dram_read_bits:
                actor.read = (self.reads[node], kept.dram_read_bits / units)
            ahead.may_begin = lambda frame, b=actor, c=caches[node]: frame - len(b.frame_end_s) < c  # type: ignore[misc]
            actor.wakes.append(ahead)
            self.backward[number] = actor

    def _unit_s(self, number: int, units: int) -> float:
        """Seconds of a unit: the plan's cycles over the clock of the node."""
        node = self.placement.node[number]
        demand = self.table.demand(number, node, self.fps, self.placement.storage[number])
        assert demand is not None
        return demand.cycles / self.table.cluster.nodes[node].clock_hz / units

    def _distances(self, delay: list[float]) -> tuple[list[float], list[float]]:
        """How much longer, in frames, the longest other way into each edge's end is, forward and back."""
        edges, count = self.table.graph.edges, len(delay)
        wait = [float(whole) for whole in whole_frames(self.table.graph)]
        there, back = [0.0] * count, [0.0] * count
        ways = list(zip(edges, wait, strict=True))
        for stage in range(count):
            there[stage] = delay[stage] + max((there[e.source] + w for e, w in ways if e.target == stage), default=0.0)
        for stage in reversed(range(count)):
            back[stage] = delay[stage] + max((back[e.target] + w for e, w in ways if e.source == stage), default=0.0)
        return (
            [there[e.target] - delay[e.target] - there[e.source] for e in edges],
            [back[e.source] - delay[e.source] - back[e.target] for e in edges],
        )

    def _connect(
        self, source: Actor, target: Actor, bits: float, ends: tuple[int, int], slack: float, whole: bool
    ) -> None:
        """A queue that holds the target's first unit, two units, another way's hold-back and what is on the wire."""
        a, b = ends
        given = [0.0, *(source.emit(j) for j in range(source.units))]
        unit = max(1 / target.units, source.hold, *(b - a for a, b in itertools.pairwise(given)))
        first = max(target.need(0), target.hold, float(whole))
        flying = self.fps * self.table.cluster.switch_latency_s if a != b else 0.0
        queue = Queue(source, target, first + 2 * unit + slack + flying, bits, self.links[a] if a != b else None, whole)
        source.outputs.append(queue)
        target.inputs.append(queue)

    def trace(self) -> list[StageTrace]:
        """What every stage did."""
        found = []
        for number, (ahead, back) in enumerate(zip(self.forward, self.backward, strict=True)):
            both = [ahead, back] if back is not None else [ahead]
            found.append(
                StageTrace(
                    name=self.table.graph.stages[number].name,
                    node=self.table.cluster.nodes[self.placement.node[number]].name,
                    forward_end_s=tuple(ahead.frame_end_s),
                    backward_end_s=tuple(back.frame_end_s) if back is not None else (),
                    starved_s=sum(actor.waited_s["input"] for actor in both),
                    blocked_s=sum(actor.waited_s["room"] + actor.waited_s["frame"] for actor in both),
                    before_join=any(len(queue.target.inputs) > 1 for queue in ahead.outputs),
                )
            )
        return found


def _units(stage: Stage, held: float) -> tuple[int, float, int]:
    """Units a frame, the window beyond a unit as a share of the frame, and rows of output; a unit is no less than the
    share of a frame that is held."""
    if not stage.layers:
        return MAX_UNITS, 0.0, MAX_UNITS
    window = 0.0
    for layer in stage.layers:
        height = layer.in_shape[1]
        if 1 < layer.kernel[0] < height:
            window += (layer.kernel[0] - layer.stride[0]) / height
    rows = stage.layers[-1].out_shape[1]
    most = min(MAX_UNITS, round(1 / held)) if 0 < held < 1 else MAX_UNITS
    return min(max(stage.layers[0].in_shape[1], rows), most), max(window, 0.0), rows


def _delay(stage: Stage, held: float) -> float:
    """Frames that a stage holds back: a unit that comes in, its window, a unit in work, a row that is not whole; where
    it holds frames, those that come in and those in work."""
    units, window, rows = _units(stage, held)
    return max(2 / units + window + 1 / rows, 2 * held)


def _whole(share: float, rows: int) -> float:
    """The whole rows within a share of a frame, as a share."""
    return floor(share * rows + _EPSILON) / rows
