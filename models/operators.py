"""What the operations beside convolution cost: which maps each phase of each reads and writes, and how often.

No operation is free and an unknown one is an error. The table counts streams of elements; a family turns them into
cycles with the lanes or ports that it has. Multipliers and adders of these units run at the speed of their streams.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.errors import InputError, did_you_mean
from dse.network import MAC_OPERATIONS, Layer, Network
from dse.workload import PHASES

__all__ = ["COPY", "OPERATIONS", "Pass", "StreamTable", "stream_table"]


@dataclass(frozen=True, slots=True)
class Pass:
    """One walk over a layer's maps. Each name is a stream: ``in``, ``out`` (a map), ``mask`` (a bit per output),
    ``index`` (a window position per output), ``columns`` (the unrolled patches of im2col), ``channels`` (a number
    per channel), ``parameters``.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


Phases = Mapping[str, Sequence[Pass]]

_GATE: Phases = {
    "forward": (Pass(("in",), ("out", "mask")),),
    "input_grad": (Pass(("out", "mask"), ("in",)),),
}
_MOVE: Phases = {"forward": (Pass(("in",), ("out",)),), "input_grad": (Pass(("out",), ("in",)),)}

_UPDATE = (Pass(("parameters", "parameters"), ("parameters",)),)
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
    # The gradient passes an add unchanged; what costs is the sum of the two branches' gradients at the fork before it.
    "add": {"forward": (Pass(("in",), ("out",)),), "input_grad": (Pass(("out", "out"), ("out",)),)},
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
    "sub": {"forward": (Pass(("in",), ("out",)),), "input_grad": (Pass(("out", "out"), ("out",)),)},
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


def stream_table(network: Network, bits: int, overrides: Mapping[str, Phases] | None = None) -> StreamTable:
    """The streams of every layer of ``network`` for a data type of ``bits``.

    ``overrides`` replaces or adds rows of OPERATIONS (a family may fuse an operation, or add one for ``conv``);
    operations on the multiplier array are skipped unless overridden. Raises InputError for an operation without a cost.
    """
    rows = [(op, tuple((p, tuple(s)) for p, s in phases.items())) for op, phases in (overrides or {}).items()]
    return _stream_table(network, bits, tuple(sorted(rows, key=lambda row: row[0])))


@lru_cache(maxsize=64)
def _stream_table(
    network: Network, bits: int, overrides: tuple[tuple[str, tuple[tuple[str, tuple[Pass, ...]], ...]], ...]
) -> StreamTable:
    costs: dict[str, Phases] = {**OPERATIONS, **{op: dict(phases) for op, phases in overrides}}
    rows = []
    for number, layer in enumerate(network.layers):
        if layer.op not in costs and layer.op not in MAC_OPERATIONS:
            where = f"network {network.name}: layer {layer.name}"
            raise InputError(where, "this operation has no cost", layer.op, did_you_mean(layer.op, costs))
        for phase, passes in costs.get(layer.op, {}).items():
            skip = phase == "input_grad" and not layer.needs_input_grad
            if not skip and passes:
                rows.append((number, PHASES.index(phase), *_count(layer, passes, bits)))
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(fields(StreamTable))).T
    return StreamTable(*columns)


def _count(layer: Layer, passes: Sequence[Pass], bits: int) -> tuple[int, ...]:
    longest = port = moved = 0
    for one in passes:
        reads = [_elements(layer, name, bits) for name in one.reads]
        writes = [_elements(layer, name, bits) for name in one.writes]
        longest += max(reads + writes)
        halves = max(max(reads, default=0), -(-sum(reads) // 2))
        port += max(halves, sum(writes))
        moved += sum(reads) + sum(writes)
    per_sample = int(any(name != "parameters" for one in passes for name in (*one.reads, *one.writes)))
    channels = max(layer.in_shape[0], layer.out_shape[0])
    pixels = max(layer.in_shape[1] * layer.in_shape[2], layer.out_shape[1] * layer.out_shape[2])
    return longest, port, moved, len(passes), channels, pixels, per_sample


def _elements(layer: Layer, stream: str, bits: int) -> int:
    """Elements of one stream per sample (per batch for ``parameters``)."""
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
    }[stream]
