"""Seconds of one batch through the pipeline: frames one after another, then drain, update and the next fill.

Until the parameters are updated no frame of the next batch may start (NADA 2023, section III), so that a batch takes
its frames, the latency forward and back, and the update.
"""

from __future__ import annotations

from dataclasses import dataclass

from dse.cluster.demand import DemandTable
from dse.cluster.placement import Placement
from dse.cluster.stages import Edge
from dse.network import Layer

__all__ = ["MAX_CACHED", "BatchTime", "batch_time", "cached_frames", "induced_delay_frames", "update_s"]


MAX_CACHED = 1_000_000
"""Frames, where nothing limits them."""


@dataclass(frozen=True, slots=True)
class BatchTime:
    """Seconds of a batch of ``batch_size`` frames."""

    batch_size: int
    frames_s: float
    """Frames at the planned throughput."""
    latency_s: float
    """Fill and drain: the first layer's first row forward to its last gradient back."""
    update_s: float
    all_reduce_s: float = 0.0
    """Sum of gradients over groups of boards, where there are several."""

    @property
    def total_s(self) -> float:
        """All of it."""
        return self.frames_s + self.latency_s + self.update_s + self.all_reduce_s

    @property
    def fps(self) -> float:
        """Frames per second with everything included, of one group of boards."""
        return self.batch_size / self.total_s


def induced_delay_frames(layer: Layer) -> float:
    """How long a layer holds back its output, in frames: the rows of a window and a row being made, else a pixel; a
    product of two activations all of its second one.

    NADA's Table I prints 0.23 and 0.91 for layers to which this gives 0.22 and 0.63.
    """
    (_, rows, columns), taps = layer.out_shape, layer.kernel[0]
    if layer.op == "matmul":
        return 1.0
    if taps == 1:
        return 1.0 / (rows * columns)
    return min(taps / layer.in_shape[1], 1.0) + (1.0 / rows if rows > 1 else 0.0)


def batch_time(table: DemandTable, placement: Placement, fps: float, batch_size: int) -> BatchTime:
    """The batch's time at ``fps`` frames per second by the longest way through the graph, there and back.

    A stage that holds frames holds back those that come in and those in work.
    """
    kept = [options[way] for options, way in zip(table.storages, placement.storage, strict=True)]
    delay = [
        max(sum(induced_delay_frames(layer) for layer in stage.layers), 2 * storage.frames) / fps
        for stage, storage in zip(table.graph.stages, kept, strict=True)
    ]
    arrive = [0.0] * len(delay)
    for stage in range(len(delay)):
        into = [edge for edge in table.graph.edges if edge.target == stage]
        arrive[stage] = delay[stage] + max((arrive[e.source] + _hop(table, placement, e) for e in into), default=0.0)
    return BatchTime(batch_size, batch_size / fps, 2 * max(arrive), update_s(table, placement))


def _hop(table: DemandTable, placement: Placement, edge: Edge) -> float:
    source, target = placement.node[edge.source], placement.node[edge.target]
    return table.cluster.switch_latency_s if source != target else 0.0


def update_s(table: DemandTable, placement: Placement) -> float:
    """The slowest node's update: one weight a cycle in every layer on chip (one stream, NADA's Table II) at a time;
    weights in DRAM are read with their gradients and written, at the DRAM's bandwidth."""
    slowest = 0.0
    for number, node in enumerate(table.cluster.nodes):
        on_chip, bits = 0, 0.0
        for stage, placed in enumerate(placement.node):
            if placed != number:
                continue
            kept = table.storages[stage][placement.storage[stage]]
            for position, layer in enumerate(table.graph.stages[stage].layers):
                if kept.weights != "chip" and position == 0:
                    bits += 3.0 * table.precision.bits * layer.parameters
                else:
                    on_chip = max(on_chip, layer.parameters)
        slowest = max(slowest, on_chip / node.clock_hz, bits / node.dram_bits_per_s)
    return slowest


def cached_frames(table: DemandTable, placement: Placement) -> list[int]:
    """Frames that may be between forward and backward, by what each node's DRAM has room for [N].

    Weights in DRAM with their gradients come first; the rest holds what the stages keep of every frame.
    """
    room = [8.0 * node.device.dram_bytes for node in table.cluster.nodes]
    frame = [0.0] * len(room)
    for stage, (node, way) in enumerate(zip(placement.node, placement.storage, strict=True)):
        layers, kept = table.graph.stages[stage].layers, table.storages[stage][way]
        if kept.weights != "chip":
            room[node] -= 2.0 * table.precision.bits * layers[0].parameters
        # Of a weight in DRAM the gradient is written once per load: that is traffic, and no room.
        frame[node] += sum(table.kept_elements[layer.name] for layer in layers) * table.precision.bits
    return [int(min(bits / one, MAX_CACHED)) if one else MAX_CACHED for bits, one in zip(room, frame, strict=True)]
