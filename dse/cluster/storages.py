"""The ways to keep a stage's weights and maps: RAM in bits, DRAM traffic in bits a frame, and the lanes they allow.

Weights are on chip, or in DRAM with so many frames (or a share of one) served by a load. Maps stream through line
buffers, or whole frames of them are held. More lines let an engine make several rows at a time, whole frames let it
make rows of several frames at a time, as the hybrid family's lanes along r and b do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dse.cluster.ram import layer_ram_bits
from dse.cluster.reading import Reading
from dse.cluster.stages import Stage
from dse.network import MAC_OPERATIONS, Layer
from dse.workload import Precision

__all__ = ["Storage", "stage_storages"]

MOST_ROWS = 8
"""Most lanes along rows that are looked at; the price in lines grows with them."""

_SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16)
"""Shares of a frame that a load of weights may serve: they are loaded again for the next."""


@dataclass(frozen=True, slots=True)
class Storage:
    """One way to keep a stage's weights and maps."""

    weights: str
    """``chip``, or ``dram`` with the frames (or the share of one) that a load serves behind it: ``dram/4``."""
    ram_bits: float
    dram_read_bits: float
    dram_write_bits: float
    rows: int = 1
    """Most lanes along rows: rows that the lines on chip are enough for."""
    frames: float = 0.0
    """Frames of maps that are held whole; 0 where they stream."""

    @property
    def samples(self) -> int:
        """Most lanes along frames."""
        return max(int(self.frames), 1)


def stage_storages(
    stage: Stage, precision: Precision, reading: Reading, micro_batch: int, kept_bits: float
) -> tuple[Storage, ...]:
    """Every way that is not worse than another one in everything, at least one.

    ``kept_bits`` are what the stage writes forward and reads backward a frame.
    """
    if not stage.layers:
        return (Storage("chip", 0.0, 0.0, 0.0),)
    head, rest = stage.layers[0], stage.layers[1:]
    beside = sum(layer_ram_bits(x, precision, reading) for x in rest)
    found = []
    for place in reading.storages(head.op) if head.parameters else ("chip",):
        for load, rows, frames in _maps(head, place, reading, micro_batch):
            ram = beside + layer_ram_bits(head, precision, reading, on_chip=not load, rows=rows, frames=frames)
            read, write = _weight_bits(head, load, precision, reading)
            # A fully connected layer's input is a handful of words: kept on chip with its weights in DRAM.
            own = 0.0 if load and head.op == "fc" and head.in_shape[1:] == (1, 1) else kept_bits
            name = f"dram/{load:g}" if load else "chip"
            found.append(Storage(name, ram, own + read, own + write, rows, frames))
    return tuple(s for s in found if not any(_dominates(other, s) for other in found if other is not s))


def _maps(layer: Layer, place: str, reading: Reading, micro_batch: int) -> Iterator[tuple[float, int, float]]:
    """(frames that a load of weights serves or 0, rows of lanes, frames held or 0), the plain one first."""
    if layer.op not in MAC_OPERATIONS or layer.op == "matmul":
        yield (float(micro_batch) if place == "dram" else 0.0), 1, 0.0
        return
    height = layer.out_shape[1]
    most = min(MOST_ROWS, height) if reading.hybrid_lanes else 1
    whole = [float(n) for n in range(1, micro_batch + 1) if micro_batch % n == 0] if reading.hybrid_lanes else []
    if place == "dram":
        for load in _loads(layer, reading, micro_batch):
            held = load if reading.buffer_micro_batch else 1.0
            yield load, max(min(most, int(held * height)), 1), held
    elif layer.op in ("conv", "fc"):
        for rows in range(1, most + 1):
            yield 0.0, rows, 0.0
        yield from ((0.0, most, frames) for frames in whole)
    else:
        yield from ((0.0, most, frames) for frames in whole or [1.0])


def _loads(layer: Layer, reading: Reading, micro_batch: int) -> tuple[float, ...]:
    """How many frames one load of a layer's weights may serve: the micro-batch, or less for fewer maps on chip."""
    if not reading.buffer_micro_batch:
        return (float(micro_batch),)
    pixels = layer.out_shape[1] * layer.out_shape[2]
    return tuple(dict.fromkeys((float(micro_batch), 1.0, *(s for s in _SHARES if pixels * s >= 1))))


def _weight_bits(layer: Layer, load: float, precision: Precision, reading: Reading) -> tuple[float, float]:
    """Bits a frame that weights in DRAM are read and written with; an embedding moves the rows it looks up."""
    if not load:
        return 0.0, 0.0
    moved = layer.out_elements if layer.op == "embedding" else layer.parameters / load
    bits = moved * precision.bits
    return bits * reading.dram_weight_reads, bits * reading.dram_weight_writes


def _dominates(one: Storage, other: Storage) -> bool:
    """Whether ``one`` takes no more of anything, allows as many lanes, and is better in something."""
    a, b = (np.array([s.ram_bits, s.dram_read_bits, s.dram_write_bits, -s.rows, -s.samples]) for s in (one, other))
    return bool((a <= b).all() and (a < b).any())
