"""What each stage takes of a node at a throughput: DSP blocks, on-chip RAM and DRAM bandwidth.

DSP blocks grow in steps as a layer's unrolling does, DRAM bandwidth in proportion; RAM does not depend on throughput.
What a layer keeps in DRAM from forward to backward is what the table of operations (``dse.models.operators``) says that
its gradients read, beside the arriving gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.cluster.hardware import Cluster, Node
from dse.cluster.ram import layer_ram_bits, second_operand_words
from dse.cluster.reading import Reading
from dse.cluster.stages import Stage, StageGraph
from dse.cluster.unrolling import Bounds, OperatorBlocks, frontier, layer_bounds
from dse.errors import InputError
from dse.models.loop_nest import loop_nests
from dse.models.operators import OPERATIONS, Pass, stream_table
from dse.network import MAC_OPERATIONS, Layer
from dse.workload import Precision, Workload

__all__ = ["DemandTable", "StageDemand", "Storage"]

_GRADIENT_ONLY = frozenset({"add", "sub", "softmax_cross_entropy", "sum_square_error"})
"""Operations whose gradients read gradients only."""


@dataclass(frozen=True, slots=True)
class Storage:
    """One way to keep a stage's weights: RAM in bits, DRAM traffic in bits a frame."""

    weights: str
    """``chip``, or ``dram`` with the frames (or the share of one) that a load serves behind it: ``dram/4``."""
    ram_bits: float
    dram_read_bits: float
    dram_write_bits: float


@dataclass(frozen=True, slots=True)
class StageDemand:
    """DSP blocks of a stage on one kind of node, and the unrolling (poc, pic, ph) of each of its MAC layers."""

    dsp: float
    unroll: Mapping[str, tuple[int, int, int]]
    cycles: int
    """Cycles a frame of its slowest engine: the stage's own limit is the clock divided by them."""


@dataclass(frozen=True)
class DemandTable:
    """The demands of every stage of ``graph`` on every node of ``cluster``."""

    graph: StageGraph
    cluster: Cluster
    precision: Precision
    reading: Reading
    micro_batch: int

    @cached_property
    def operators(self) -> list[OperatorBlocks]:
        """Blocks of the operators on each node [N]."""
        return [OperatorBlocks.of(node.device, self.precision) for node in self._checked_nodes()]

    @cached_property
    def bounds(self) -> dict[str, Bounds]:
        """Loop bounds of the layers with multiply-accumulates."""
        nests = loop_nests(self.graph.network)
        found = {layer.name: layer_bounds(nests, n) for n, layer in enumerate(self.graph.network.layers)}
        return {name: bounds for name, bounds in found.items() if bounds is not None}

    @cached_property
    def kept_elements(self) -> dict[str, int]:
        """Elements a frame that each layer stores forward and reads backward; of a product both operands."""
        kept = {op: {phase: (Pass(streams),) for phase, streams in _kept(op).items()} for op in OPERATIONS}
        kept |= {op: {"weight_grad": (Pass(("in",)),)} for op in MAC_OPERATIONS}
        work = Workload(self.graph.network, 1, self.precision)
        table = stream_table(work, {op: {**_EMPTY, **p} for op, p in kept.items()}, sums=False)
        layers = self.graph.network.layers
        moved = dict.fromkeys((layer.name for layer in layers), 0)
        for number, count in zip(table.layer, table.moved, strict=True):
            moved[layers[int(number)].name] += int(count)
        for layer in layers:
            if layer.op == "matmul":
                moved[layer.name] += second_operand_words(layer)
        return moved

    @cached_property
    def storages(self) -> list[tuple[Storage, ...]]:
        """The ways to keep each stage's weights, cheapest RAM last [L]; at least one each."""
        return [self._storages(stage) for stage in self.graph.stages]

    def demand(self, stage: int, node: int, fps: float) -> StageDemand | None:
        """What stage number ``stage`` takes on node number ``node`` at ``fps`` frames per second; None: too fast."""
        clock_hz, operator = self.cluster.nodes[node].clock_hz, self.operators[node]
        dsp, slowest = 0.0, 1
        unroll: dict[str, tuple[int, int, int]] = {}
        for layer in self.graph.stages[stage].layers:
            bounds = self.bounds.get(layer.name)
            if bounds is None:
                blocks, cycles = self._stream(layer, operator, fps, clock_hz)
                dsp, slowest = dsp + blocks, max(slowest, cycles)
                continue
            choices = frontier(bounds, operator)
            chosen = choices.at(clock_hz / fps)
            if chosen < 0:
                return None
            dsp += float(choices.dsp[chosen])
            poc, pic, ph = (int(v) for v in choices.unroll[chosen])
            unroll[layer.name] = (poc, pic, ph)
            slowest = max(slowest, int(choices.cycles[chosen]))
        return StageDemand(dsp, unroll, slowest)

    def fastest_fps(self, stage: int, node: int) -> float:
        """Frames per second of the stage with all the lanes that it can use."""
        clock_hz, operator = self.cluster.nodes[node].clock_hz, self.operators[node]
        mac = [self.bounds[layer.name] for layer in self.graph.stages[stage].layers if layer.name in self.bounds]
        return min((clock_hz / float(frontier(b, operator).cycles[-1]) for b in mac), default=math.inf)

    def stream_blocks(self, stage: int, node: int, fps: float) -> float:
        """DSP blocks of the stage's layers without multiply-accumulates."""
        clock_hz, operator = self.cluster.nodes[node].clock_hz, self.operators[node]
        layers = [x for x in self.graph.stages[stage].layers if x.name not in self.bounds]
        return sum(self._stream(layer, operator, fps, clock_hz)[0] for layer in layers)

    def edge_bits(self) -> tuple[list[int], list[int]]:
        """Bits a frame of every edge: forward and backward [E]."""
        bits = self.precision.bits
        return [e.forward * bits for e in self.graph.edges], [e.backward * bits for e in self.graph.edges]

    def _checked_nodes(self) -> Sequence[Node]:
        for node in self.cluster.nodes:
            if self.precision.name not in node.device.dsp_cost:
                where = f"cluster {self.cluster.name}: node {node.name}: device {node.device.name}"
                known = ", ".join(node.device.dsp_cost)
                raise InputError(where, "no DSP cost for this precision", self.precision.name, known)
        return self.cluster.nodes

    def _stream(self, layer: Layer, operator: OperatorBlocks, fps: float, clock_hz: float) -> tuple[float, int]:
        """DSP blocks of a streaming layer, and its cycles a frame with as many lanes as the throughput needs."""
        elements = max(layer.in_elements, layer.out_elements)
        lanes = max(math.ceil(elements * fps / clock_hz), 1)
        blocks = 0.0
        for multipliers, adders in _stream_operators(layer, self.reading):
            blocks += lanes * (multipliers * operator.multiplier + adders * operator.adder)
        return blocks, -(-elements // lanes)

    def _storages(self, stage: Stage) -> tuple[Storage, ...]:
        bits = self.precision.bits
        kept = float(sum(self.kept_elements[layer.name] for layer in stage.layers) * bits)
        if not stage.layers:
            return (Storage("chip", 0.0, 0.0, 0.0),)
        head, rest = stage.layers[0], stage.layers[1:]
        beside = sum(layer_ram_bits(x, self.precision, self.reading) for x in rest)
        found = []
        for place in self.reading.storages(head.op) if head.parameters else ("chip",):
            for frames in self._frames(head) if place == "dram" else (0.0,):
                ram = beside + layer_ram_bits(head, self.precision, self.reading, frames)
                read, write = self._weight_bits(head, frames)
                # A fully connected layer's input is a handful of words: kept on chip with its weights in DRAM.
                own = 0.0 if frames and head.op == "fc" and head.in_shape[1:] == (1, 1) else kept
                name = f"dram/{frames:g}" if frames else "chip"
                found.append(Storage(name, ram, own + read, own + write))
        return tuple(s for s in found if not any(_dominates(other, s) for other in found if other is not s))

    def _frames(self, layer: Layer) -> tuple[float, ...]:
        """How many frames one load of a layer's weights may serve: the micro-batch, or less for fewer maps on chip."""
        if not self.reading.buffer_micro_batch or layer.op not in MAC_OPERATIONS:
            return (float(self.micro_batch),)
        pixels = layer.out_shape[1] * layer.out_shape[2]
        return tuple(dict.fromkeys((float(self.micro_batch), 1.0, *(s for s in _SHARES if pixels * s >= 1))))

    def _weight_bits(self, layer: Layer, frames: float) -> tuple[float, float]:
        """Bits a frame that weights in DRAM are read and written with; an embedding moves the rows it looks up."""
        if not frames:
            return 0.0, 0.0
        moved = layer.out_elements if layer.op == "embedding" else layer.parameters / frames
        bits = moved * self.precision.bits
        return bits * self.reading.dram_weight_reads, bits * self.reading.dram_weight_writes


_SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16)
"""Shares of a frame that a load of weights may serve: they are loaded again for the next."""

_EMPTY: Mapping[str, tuple[Pass, ...]] = {"forward": (), "input_grad": (), "weight_grad": (), "update": ()}


def _kept(op: str) -> dict[str, tuple[str, ...]]:
    """The streams, each once, that the gradients of ``op`` read beside the arriving gradient."""
    if op in _GRADIENT_ONLY:
        return {}
    own = "out" if op == "softmax" else ""
    names: dict[str, str] = {}
    for phase in ("input_grad", "weight_grad"):
        for one in OPERATIONS[op].get(phase, ()):
            for stream in one.reads:
                if stream == own or stream not in ("out", "parameters", "columns"):
                    names.setdefault(stream, phase)
    return {phase: tuple(s for s, p in names.items() if p == phase) for phase in sorted(set(names.values()))}


def _stream_operators(layer: Layer, reading: Reading) -> list[tuple[int, int]]:
    """(multipliers, adders) of a lane: those listed, none for what only moves or gates, else one and two.

    Normalisation with trained scale and shift is online normalisation and a bias.
    """
    cost = reading.stream.get(layer.op)
    if cost is not None:
        own = [(cost.multipliers, cost.adders)]
        if layer.op == "batch_norm" and layer.parameters:
            bias = reading.stream["bias"]
            own.append((bias.multipliers, bias.adders))
        return own
    gate = all("out" not in one.reads or "in" not in one.reads for p in OPERATIONS[layer.op].values() for one in p)
    return [] if gate and not layer.parameters else [(1, 2)]


def _dominates(one: Storage, other: Storage) -> bool:
    """Whether ``one`` takes no more of anything and less of something."""
    a = np.array([one.ram_bits, one.dram_read_bits, one.dram_write_bits])
    b = np.array([other.ram_bits, other.dram_read_bits, other.dram_write_bits])
    return bool((a <= b).all() and (a < b).any())
