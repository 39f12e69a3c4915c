"""What each stage takes of a node at a throughput: DSP blocks, on-chip RAM and DRAM bandwidth.

DSP blocks grow in steps as a layer's unrolling does, DRAM bandwidth in proportion; RAM does not depend on throughput.
What a layer keeps in DRAM from forward to backward is what the table of operations (``dse.models.operators``) says that
its gradients read, beside the arriving gradient.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dse.cluster.hardware import Cluster, Node
from dse.cluster.lanes import Unrolling
from dse.cluster.ram import second_operand_words
from dse.cluster.reading import Reading
from dse.cluster.stages import StageGraph
from dse.cluster.storages import Storage, stage_storages
from dse.cluster.unrolling import Bounds, Frontier, OperatorBlocks, frontier, layer_bounds
from dse.errors import InputError
from dse.models.loop_nest import loop_nests
from dse.models.operators import OPERATIONS, Pass, stream_table
from dse.network import MAC_OPERATIONS, Layer
from dse.workload import Precision, Workload

__all__ = ["DemandTable", "StageDemand"]

_GRADIENT_ONLY = frozenset({"add", "sub", "softmax_cross_entropy", "sum_square_error"})
"""Operations whose gradients read gradients only."""


@dataclass(frozen=True, slots=True)
class StageDemand:
    """DSP blocks of a stage on one kind of node, and the unrolling of each of its MAC layers."""

    dsp: float
    unroll: Mapping[str, Unrolling]
    cycles: float
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
        """The ways to keep each stage's weights and maps [L]; at least one each."""
        bits, found = self.precision.bits, []
        for stage in self.graph.stages:
            kept = float(sum(self.kept_elements[layer.name] for layer in stage.layers) * bits)
            found.append(stage_storages(stage, self.precision, self.reading, self.micro_batch, kept))
        return found

    @cached_property
    def leanest(self) -> list[int]:
        """Number of the storage of each stage that takes the least RAM [L]."""
        return [min(range(len(o)), key=lambda way, o=o: o[way].ram_bits) for o in self.storages]  # type: ignore[misc]

    def demand(self, stage: int, node: int, fps: float, way: int) -> StageDemand | None:
        """What stage number ``stage``, its weights and maps kept in way number ``way``, takes on node number ``node``
        at ``fps`` frames per second; None: too fast."""
        streams = self._streams(stage, node, fps)
        return self._with_lanes(streams, stage, node, fps, way)

    def _with_lanes(
        self, streams: tuple[float, float], stage: int, node: int, fps: float, way: int
    ) -> StageDemand | None:
        """The demand with the cheapest lanes of the layer with multiply-accumulates, a stage's first, if it has one."""
        head = self._head(stage)
        if head is None:
            return StageDemand(streams[0], {}, streams[1])
        choices = self.choices(stage, node, way)
        chosen = choices.at(self.cluster.nodes[node].clock_hz / fps)
        if chosen < 0:
            return None
        lanes: Unrolling = tuple(int(v) for v in choices.unroll[chosen])  # type: ignore[assignment]
        blocks, cycles = float(choices.dsp[chosen]), float(choices.cycles[chosen])
        return StageDemand(streams[0] + blocks, {head: lanes}, max(streams[1], cycles))

    def _head(self, stage: int) -> str | None:
        """The stage's first layer, if it has multiply-accumulates: the layers behind it have none."""
        layers = self.graph.stages[stage].layers
        return layers[0].name if layers and layers[0].name in self.bounds else None

    def _streams(self, stage: int, node: int, fps: float) -> tuple[float, float]:
        """DSP blocks of the stage's layers without multiply-accumulates, and the cycles a frame of the slowest."""
        clock_hz, operator = self.cluster.nodes[node].clock_hz, self.operators[node]
        dsp, slowest = 0.0, 1.0
        for layer in self.graph.stages[stage].layers:
            if layer.name not in self.bounds:
                blocks, cycles = self._stream(layer, operator, fps, clock_hz)
                dsp, slowest = dsp + blocks, max(slowest, cycles)
        return dsp, slowest

    def choices(self, stage: int, node: int, way: int) -> Frontier:
        """The unrollings of a stage's layer with multiply-accumulates (its first) that a storage allows."""
        kept, head = self.storages[stage][way], self.graph.stages[stage].layers[0]
        hybrid = self.reading.hybrid_lanes
        return frontier(self.bounds[head.name], self.operators[node], kept.rows, kept.samples, hybrid=hybrid)

    def least_dsp(self, stage: int, node: int, fps: float) -> float | None:
        """The fewest DSP blocks with any storage; None: too fast."""
        found = [d.dsp for way in self._most_lanes[stage] if (d := self.demand(stage, node, fps, way)) is not None]
        return min(found, default=None)

    @cached_property
    def _most_lanes(self) -> list[tuple[int, ...]]:
        """Of every stage one storage for each largest pair of lanes along rows and frames [L]."""
        found = []
        for options in self.storages:
            pairs = {(o.rows, o.samples): way for way, o in enumerate(options)}
            top = [p for p in pairs if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in pairs)]
            found.append(tuple(pairs[p] for p in top))
        return found

    def ways(self, stage: int, node: int, fps: float) -> list[tuple[int, float]]:
        """The storages with which a stage keeps up on a node, each with its DSP blocks, the least RAM first; without
        those that another one is as good as in everything."""
        found: list[tuple[int, float]] = []
        amounts: list[tuple[float, ...]] = []
        options, streams = self.storages[stage], self._streams(stage, node, fps)
        for way in sorted(range(len(options)), key=lambda way: options[way].ram_bits):
            demand = self._with_lanes(streams, stage, node, fps, way)
            if demand is None:
                continue
            own = (demand.dsp, options[way].dram_read_bits, options[way].dram_write_bits)
            if not any(all(a <= b for a, b in zip(other, own, strict=True)) for other in amounts):
                found.append((way, demand.dsp))
                amounts.append(own)
        return found

    def stream_blocks(self, stage: int, node: int, fps: float) -> float:
        """DSP blocks of the stage's layers without multiply-accumulates."""
        return self._streams(stage, node, fps)[0]

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
        for multipliers, adders in self._stream_operators(layer):
            blocks += lanes * (multipliers * operator.multiplier + adders * operator.adder)
        return blocks, -(-elements // lanes)

    def _stream_operators(self, layer: Layer) -> list[tuple[int, int]]:
        """(multipliers, adders) of a lane: those listed, none for what only moves or gates, else one and two.

        Normalisation with trained scale and shift is online normalisation and a bias. An add of one map forks it: its
        readers' gradients are summed.
        """
        if layer.op == "add" and len(layer.inputs) == 1:
            return [(0, self._readers.get(layer.name, 1) - 1)]
        cost = self.reading.stream.get(layer.op)
        if cost is not None:
            own = [(cost.multipliers, cost.adders)]
            if layer.op == "batch_norm" and layer.parameters:
                bias = self.reading.stream["bias"]
                own.append((bias.multipliers, bias.adders))
            return own
        gate = all("out" not in one.reads or "in" not in one.reads for p in OPERATIONS[layer.op].values() for one in p)
        return [] if gate and not layer.parameters else [(1, 2)]

    @cached_property
    def _readers(self) -> Counter[str]:
        """Layers that read each map."""
        return Counter(source for layer in self.graph.network.layers for source in layer.inputs)


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
