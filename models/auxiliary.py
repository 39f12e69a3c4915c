"""Time and traffic of the operations beside convolution on DMA ports, and the DRAM that papers count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import Float
from dse.models.operators import OPERATIONS, Pass, Phases, StreamTable, stream_table
from dse.network import Network
from dse.workload import Workload

__all__ = ["AuxiliaryCosts", "port_costs", "published_dram_capacity"]

# A function of one element rides on the store of the layer before it and on the load of the error: only what its
# derivative needs moves beside. That is a mask of a gate (ReLU), the output, or the input, which is then stored too.
_FUSED_GATE: Phases = {"forward": (Pass((), ("mask",)),), "input_grad": (Pass(("mask",)),)}
_FUSED_BY_OUTPUT: Phases = {"input_grad": (Pass(("out",)),)}
_FUSED_BY_INPUT: Phases = {"forward": (Pass((), ("in",)),), "input_grad": (Pass(("in",)),)}
FUSED: Mapping[str, Phases] = {
    **dict.fromkeys(("relu", "relu6", "dropout", "clip", "leaky_relu", "hard_sigmoid"), _FUSED_GATE),
    **dict.fromkeys(("sigmoid", "tanh", "elu"), _FUSED_BY_OUTPUT),
    **dict.fromkeys(("swish", "gelu", "hard_swish", "erf"), _FUSED_BY_INPUT),
    "prelu": {**_FUSED_BY_INPUT, "weight_grad": (Pass((), ("parameters",)),), "update": OPERATIONS["prelu"]["update"]},
}
"""Overrides of functions that are fused into the load and store paths."""

# The weights on the multiplier array are exchanged behind their gradients; the optimiser's states go beside.
_STATES: Mapping[str, Phases] = {
    op: {"update": (Pass(("states",), ("states",)),)} for op in ("conv", "conv_transpose", "fc")
}

PUBLISHED: Mapping[str, Phases] = {
    op: {} for op in ("relu", "relu6", "dropout", "flatten", "softmax_cross_entropy", "sum_square_error")
}
"""Overrides that leave out what EF-Train counts no time for: fused ReLU, the loss on the host, no re-layout."""

_IN_PLACE = frozenset({"relu", "relu6", "dropout", "flatten", "bias"})


@dataclass(frozen=True, slots=True)
class AuxiliaryCosts:
    """A columns of streaming work on S points."""

    layer: NDArray[np.int64]
    phase: NDArray[np.int64]
    cycles: Float
    """[S,A] or [A] where all points are alike."""
    dram_bytes: Float
    """[A] per iteration."""


def port_costs(workload: Workload, device: Device, blocks_of: NDArray[np.int64], auxiliary: str) -> AuxiliaryCosts:
    """Streaming through DMA ports: two that read and one that writes, ``port_bits`` a cycle each.

    With ``auxiliary`` = ``all`` every operation takes time, and a pass over a sample's map is one burst (a pass over
    the batch, where maps are single pixels). With ``published`` those that EF-Train counts take time, and the stream
    restarts at each block of ``blocks_of`` [S,1] channels, as its tiles do.
    """
    bits, batch = workload.precision.bits, workload.batch_size
    published = auxiliary == "published"
    states = _STATES if workload.optimiser.states else {}
    table = stream_table(workload, {**PUBLISHED, **states} if published else states, None if published else FUSED)
    width = max(device.dma_port_bits // bits, 1)
    times = np.where(table.per_sample == 1, batch, 1)
    blocks = -(-table.channels // blocks_of) if published else np.int64(1)
    restarts = np.where((table.pixels == 1) & (not published), 1, times)
    cycles = times * -(-table.port // width) + device.dma_restart_cycles * restarts * table.passes * blocks
    return AuxiliaryCosts(table.layer, table.phase, cycles.astype(np.float64), moved_bytes(workload, table))


def moved_bytes(workload: Workload, table: StreamTable) -> Float:
    """DRAM bytes of every column of ``table`` per iteration, float [A]."""
    times = np.where(table.per_sample == 1, workload.batch_size, 1)
    return np.asarray(times * table.moved * workload.precision.bytes)


def published_dram_capacity(workload: Workload) -> float:
    """Bytes of DRAM where nothing makes room for anything: every map and its error for the batch, weights, gradients.

    Maps that an operation overwrites in place are counted once; batch normalisation keeps its normalised map too.
    With this count VGG-16 fits a ZCU102 up to batch 16 and, with batch normalisation, 8, as EF-Train reports.
    """
    network = workload.network
    words = workload.batch_size * _map_words(network) + 2 * network.parameters
    return float(words * workload.precision.bytes + workload.state_bytes)


def _map_words(network: Network) -> int:
    """Elements of all maps and errors of one sample."""
    channels, height, width = network.input_shape
    words = channels * height * width
    for layer in network.layers:
        if layer.op in _IN_PLACE:
            continue
        copies = 2 if layer.needs_input_grad or layer.parameters else 1
        words += layer.out_elements * (copies + (layer.op == "batch_norm"))
    return words
