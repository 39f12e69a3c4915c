"""What the operations beside convolution cost: which maps each phase of each reads and writes, and how often.

No operation is free and an unknown one is an error. The table counts streams of elements; a family turns them into
cycles with the lanes or ports that it has. Multipliers and adders of these units run at the speed of their streams.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.errors import InputError, did_you_mean
from dse.network import MAC_OPERATIONS, Layer, Network
from dse.training_graph import gradient_sums
from dse.workload import PHASES, Workload

__all__ = ["COPY", "OPERATIONS", "Pass", "StreamTable", "stream_table"]


@dataclass(frozen=True, slots=True)
class Pass:
    """One walk over a layer's maps. Each name is a stream: ``in``, ``out`` (a map), ``mask`` (a bit per output),
    ``index`` (a window position per output), ``columns`` (the unrolled patches of im2col), ``channels`` (a number
    per channel), ``parameters``, ``states`` (all that the optimiser keeps of them).
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


Phases = Mapping[str, Sequence[Pass]]

_GATE: Phases = {
    "forward": (Pass(("in",), ("out", "mask")),),
    "input_grad": (Pass(("out", "mask"), ("in",)),),
}
_MOVE: Phases = {"forward": (Pass(("in",), ("out",)),), "input_grad": (Pass(("out",), ("in",)),)}

_UPDATE = (Pass(("parameters", "parameters", "states"), ("parameters", "states")),)
# EF-Train sections 3.5 and 3.6: statistics in a first pass, the normalised map stored beside the output in a second;
# backward both reductions in a first pass, the gradient in a second.
_NORMALISE: Phases = {
    "forward": (Pass(("in",)), Pass(("in",), ("out", "in"))),
    "input_grad": (Pass(("out", "in")), Pass(("out", "in"), ("in",))),
    "update": _UPDATE,
}
# Functions whose derivative is read off the output, or needs the input again.
_CURVE: Phases = {"forward": (Pass(("in",), ("out",)),), "input_grad": (Pass(("out", "in"), ("in",)),)}

COPY = _MOVE
"""A map is read and written once in either direction."""

OPERATIONS: Mapping[str, Phases] = {
    "relu": _GATE,
    "relu6": _GATE,
    "dropout": _GATE,
    "max_pool": {
        "forward": (Pass(("in",), ("out", "index")),),
        "input_grad": (Pass(("out", "index"), ("in",)),),
    },
    "avg_pool": _MOVE,
    "global_avg_pool": _MOVE,
    "flatten": _MOVE,
    "concat": _MOVE,
    "im2col": _MOVE,
    # The gradient passes an add unchanged; what costs is the sum of gradients at the fork before it.
    "add": {"forward": (Pass(("in",), ("out",)),)},
    **dict.fromkeys(("batch_norm", "instance_norm", "layer_norm", "group_norm"), _NORMALISE),
    **dict.fromkeys(("clip", "leaky_relu", "hard_sigmoid"), _GATE),
    **dict.fromkeys(("sigmoid", "tanh", "hard_swish", "swish", "gelu", "elu", "erf"), _CURVE),
    **dict.fromkeys(("scale", "slice", "pad", "upsample", "reshape", "transpose"), _MOVE),
    "prelu": {**_CURVE, "weight_grad": (Pass(("out", "in"), ("parameters",)),), "update": _UPDATE},
    "channel_scale": {**_MOVE, "weight_grad": (Pass(("out", "in"), ("parameters",)),), "update": _UPDATE},
    # The denominators are kept for the gradient.
    "lrn": {"forward": (Pass(("in",), ("out", "in")),), "input_grad": (Pass(("out", "out", "in", "in"), ("in",)),)},
    # Maximum, sum of exponentials, quotient; backward the weighted sum of the gradient, then the gradient.
    "softmax": {
        "forward": (Pass(("in",)), Pass(("in",)), Pass(("in",), ("out",))),
        "input_grad": (Pass(("out", "out")), Pass(("out", "out"), ("in",))),
    },
    # The gradient of what is subtracted changes its sign.
    "sub": {"forward": (Pass(("in",), ("out",)),), "input_grad": (Pass(("out",), ("out",)),)},
    # The gradient of either factor needs the other.
    "mul": {"forward": (Pass(("in",), ("out",)),), "input_grad": (Pass(("out", "in"), ("in",)),)},
    "channel_mul": {
        "forward": (Pass(("in", "channels"), ("out",)),),
        "input_grad": (Pass(("out", "in", "channels"), ("in", "channels")),),
    },
    "bias": {
        "forward": (Pass(("parameters",)),),
        "weight_grad": (Pass(("out",), ("parameters",)),),
        "update": _UPDATE,
    },
    # The gradient is summed over the batch; the map is read by those that use it.
    "parameter": {
        "forward": (Pass(("parameters",)),),
        "weight_grad": (Pass(("out",), ("parameters",)),),
        "update": _UPDATE,
    },
    # Rows of the table are looked up, and their gradients added to; the update walks the whole table.
    "embedding": {
        "forward": (Pass(("in", "out"), ("out",)),),
        "weight_grad": (Pass(("out", "in", "out"), ("out",)),),
        "update": _UPDATE,
    },
    # Maximum, sum of exponentials, quotient.
    "softmax_cross_entropy": {
        "forward": (Pass(("in",)), Pass(("in",)), Pass(("in",), ("out",))),
        "input_grad": (Pass(("out", "out"), ("in",)),),
    },
    "sum_square_error": {
        "forward": (Pass(("in", "out")),),
        "input_grad": (Pass(("out", "out"), ("in",)),),
    },
}
"""Operation -> phase -> passes, for every operation that does not run on the multiplier array."""


@dataclass(frozen=True)
class StreamTable:
    """A columns, each one phase of one layer that only streams; every array is int64 [A], elements of the data type."""

    layer: NDArray[np.int64]
    phase: NDArray[np.int64]
    longest: NDArray[np.int64]
    """Elements of the longest stream, summed over the passes: the work where every stream has lanes of its own."""
    port: NDArray[np.int64]
    """Elements on the busiest port, summed over the passes: two read ports, all writes share one."""
    moved: NDArray[np.int64]
    """Elements of all streams: the DRAM traffic."""
    passes: NDArray[np.int64]
    channels: NDArray[np.int64]
    """Channels of the larger map: how many blocks a blocked layout cuts it into."""
    pixels: NDArray[np.int64]
    """Pixels of a channel of the larger map."""
    per_sample: NDArray[np.int64]
    """1 where the counts are for one sample, 0 where for the whole batch (parameters)."""

    def __len__(self) -> int:
        return len(self.layer)


Rows = tuple[tuple[str, tuple[tuple[str, tuple[Pass, ...]], ...]], ...]


def stream_table(
    workload: Workload,
    overrides: Mapping[str, Phases] | None = None,
    fused: Mapping[str, Phases] | None = None,
    *,
    sums: bool = True,
) -> StreamTable:
    """The streams of every layer of the workload's network and, with ``sums``, of the sums of gradients at its forks.

    ``overrides`` replaces or adds rows of OPERATIONS (a family may leave an operation out, or add one for ``conv``),
    ``fused`` those of layers that alone read the layer before them, and so can work on what that one stores. Operations
    on the multiplier array are skipped unless overridden. Raises InputError for an operation without a cost.
    """
    precision = workload.precision
    state_words = workload.optimiser.states * precision.accumulator_bits / precision.bits
    return _stream_table(workload.network, precision.bits, state_words, _rows(overrides), _rows(fused), sums)


def _rows(phases_of: Mapping[str, Phases] | None) -> Rows:
    """A table of passes that can be hashed."""
    rows = [(op, tuple((p, tuple(s)) for p, s in phases.items())) for op, phases in (phases_of or {}).items()]
    return tuple(sorted(rows, key=lambda row: row[0]))


@lru_cache(maxsize=64)
def _stream_table(
    network: Network, bits: int, state_words: float, overrides: Rows, fused: Rows, sums: bool
) -> StreamTable:
    costs: dict[str, Phases] = {**OPERATIONS, **{op: dict(phases) for op, phases in overrides}}
    riding: dict[str, Phases] = {op: dict(phases) for op, phases in fused}
    readers = Counter(source for layer in network.layers for source in layer.inputs)
    stored = {layer.name for layer in network.layers if layer.op != "parameter" and readers[layer.name] == 1}
    rows = []
    for number, layer in enumerate(network.layers):
        if layer.op not in costs and layer.op not in MAC_OPERATIONS:
            where = f"network {network.name}: layer {layer.name}"
            raise InputError(where, "this operation has no cost", layer.op, did_you_mean(layer.op, costs))
        rides = layer.op in riding and stored.issuperset(layer.inputs)
        for phase, passes in (riding if rides else costs).get(layer.op, {}).items():
            skip = phase == "input_grad" and not layer.needs_input_grad
            if not skip and any(one.reads or one.writes for one in passes):
                rows.append((number, PHASES.index(phase), *_count(layer, passes, bits, state_words)))
    grads = PHASES.index("input_grad")
    forks = gradient_sums(network) if sums else ()
    rows += [(number, grads, *_sum(network.layers[number], size)) for number, size in forks]
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(fields(StreamTable))).T
    return StreamTable(*columns)


def _sum(layer: Layer, elements: int) -> tuple[int, ...]:
    """The columns of one sum of two gradients: both are read, one is written."""
    channels, height, width = layer.in_shape
    return elements, elements, 3 * elements, 1, channels, height * width, 1


def _count(layer: Layer, passes: Sequence[Pass], bits: int, state_words: float) -> tuple[int, ...]:
    longest = port = moved = 0
    for one in passes:
        reads = [_elements(layer, name, bits, state_words) for name in one.reads]
        writes = [_elements(layer, name, bits, state_words) for name in one.writes]
        longest += max(reads + writes)
        halves = max(max(reads, default=0), -(-sum(reads) // 2))
        port += max(halves, sum(writes))
        moved += sum(reads) + sum(writes)
    per_sample = int(any(name not in ("parameters", "states") for one in passes for name in (*one.reads, *one.writes)))
    channels = max(layer.in_shape[0], layer.out_shape[0])
    pixels = max(layer.in_shape[1] * layer.in_shape[2], layer.out_shape[1] * layer.out_shape[2])
    return longest, port, moved, len(passes), channels, pixels, per_sample


def _elements(layer: Layer, stream: str, bits: int, state_words: float) -> int:
    """Elements of one stream per sample (per batch for ``parameters`` and ``states``)."""
    (n, h, w), (m, r, c) = layer.in_shape, layer.out_shape
    if layer.op == "conv_transpose":
        n, r, c = m, h, w
    taps = layer.kernel[0] * layer.kernel[1]
    return {
        "in": layer.in_elements,
        "out": layer.out_elements,
        "mask": -(-layer.out_elements // bits),
        "index": -(-layer.out_elements * max(1, math.ceil(math.log2(taps))) // bits),
        "columns": n * taps * r * c,
        "channels": n,
        "parameters": max(layer.parameters, 1),
        "states": math.ceil(layer.parameters * state_words),
    }[stream]
