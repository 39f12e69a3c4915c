"""The pool unit in its bench, and layers run on it against the golden model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dse.golden.convolution import Window
from dse.golden.pooling import max_pool, max_pool_grad, reciprocal, sum_pool, sum_pool_grad
from dse.golden.rounding import limit, requantise
from dse.layout.rows import RowImage
from dse.vector import POOL_FIELDS, Pooling, PoolParameters, pool_words
from tests.rtl.rtl_model import LIBRARY
from tests.rtl.unit_bench import Behaviour, Record, UnitBench

VECTOR = LIBRARY.parent / "vector"
MODES = ("max", "max_index", "average", "max_grad", "average_grad")
Pair = tuple[int, int]


def pool_options() -> list[str]:
    """Sources of the unit for Verilator."""
    return ["-y", str(VECTOR), "-y", str(LIBRARY), str(VECTOR / "pool_pkg.sv"), str(VECTOR / "pool_unit.sv")]


def pool_bench(hw: PoolParameters, cache: Path, runtime: Path) -> UnitBench:
    """The unit with a memory behind it."""
    return UnitBench("pool_unit", hw.verilog(), len(POOL_FIELDS), pool_options(), cache, runtime)


@dataclass(frozen=True)
class PoolLayer:
    """Shape [B, C, H, W] of the input, and the window that slides over it; `rising`: last pixels are the largest."""

    shape: tuple[int, int, int, int]
    window: Window
    rising: bool = False


def pool_layer(
    batch: int, channels: int, size: Pair, kernel: Pair, stride: Pair, padding: tuple[int, ...] = (0, 0, 0, 0)
) -> PoolLayer:
    top, left, bottom, right = padding
    return PoolLayer((batch, channels, *size), Window(kernel, stride, (top, left, bottom, right)))


POOL_LAYERS = {
    "2x2": pool_layer(2, 9, (6, 8), (2, 2), (2, 2)),
    "2x2 odd": pool_layer(1, 3, (7, 5), (2, 2), (2, 2)),
    "3x3 stride 2": pool_layer(3, 5, (7, 9), (3, 3), (2, 2)),
    "3x3 stride 2 padded": pool_layer(2, 8, (8, 6), (3, 3), (2, 2), (1, 1, 1, 1)),
    "3x3 stride 1": pool_layer(1, 4, (5, 4), (3, 3), (1, 1), (1, 1, 1, 1)),
    "3x2 stride 1,3 ragged": pool_layer(2, 3, (4, 8), (3, 2), (1, 3), (2, 1, 0, 0)),
    "1x1 stride 2": pool_layer(1, 6, (5, 6), (1, 1), (2, 2)),
    "2x2 stride 3": pool_layer(1, 7, (9, 8), (2, 2), (3, 3)),
    "2x3 stride 4,5 padded": pool_layer(2, 2, (11, 13), (2, 3), (4, 5), (1, 2, 1, 2)),
    "5x4 stride 2,1": pool_layer(1, 3, (9, 7), (5, 4), (2, 1), (3, 1, 2, 3)),
    "1x4": pool_layer(2, 3, (3, 12), (1, 4), (1, 2), (0, 3, 0, 1)),
    "global": pool_layer(3, 10, (5, 6), (5, 6), (5, 6)),
    "one pixel": pool_layer(2, 3, (1, 1), (1, 1), (1, 1)),
    "7x7 larger than the map": pool_layer(1, 3, (4, 5), (7, 7), (1, 1), (3, 3, 3, 3)),
}


@dataclass
class PoolJob:
    """One command in a memory of its own, and what the memory has to be afterwards."""

    command: Pooling
    memory: npt.NDArray[np.uint8]
    want: npt.NDArray[np.uint8]
    words: npt.NDArray[np.uint32]
    scale: int
    """Bit length of the largest magnitude among wide results, else 0."""


def filled(shape: tuple[int, int, int, int], block: Pair) -> tuple[int, int, int, int]:
    """The shape with whole blocks of samples and channels."""
    return -(-shape[0] // block[0]) * block[0], -(-shape[1] // block[1]) * block[1], *shape[2:]


def operands(layer: PoolLayer, mode: str, hw: PoolParameters, rng: np.random.Generator) -> list[npt.NDArray[np.int64]]:
    """x, or errors (and indexes), zero where blocks are filled; equal and extreme values are frequent."""
    kind = np.int8 if hw.operand_bits == 8 else np.int16
    shape = Pooling("max", layer.window, layer.shape).out_shape if "grad" in mode else layer.shape
    most = limit(hw.operand_bits)
    ramp = np.arange(layer.shape[2] * layer.shape[3]).reshape(layer.shape[2:]) % (2 * most) - most
    usual = rng.integers(-most, most, shape, endpoint=True)
    values = np.where(rng.random(shape) < 0.6, usual, rng.choice([-most, -1, 0, 1, most], shape)).astype(kind)
    values = values if not layer.rising or "grad" in mode else np.broadcast_to(ramp, shape).astype(kind)
    result = [np.zeros(filled(shape, (hw.ub, hw.channel_block)), kind)]
    result[0][: shape[0], : shape[1]] = values
    if mode == "max_grad":
        x = rng.integers(-most, most, (*result[0].shape[:2], *layer.shape[2:]), endpoint=True).astype(kind)
        x = np.broadcast_to(ramp, x.shape).astype(kind) if layer.rising else x
        result.append(max_pool(x, layer.window)[1])
    return result


def golden(layer: PoolLayer, mode: str, operand: list[npt.NDArray[np.int64]], bits: int) -> list[npt.NDArray[np.int64]]:
    """Result (and indexes)."""
    window, size = layer.window, layer.shape[2:]
    scale = reciprocal(math.prod(window.kernel))
    if mode in ("max", "max_index"):
        largest, index = max_pool(operand[0], window)
        return [largest, index] if mode == "max_index" else [largest]
    if mode == "average":
        return [requantise(sum_pool(operand[0], window) * scale, 16, bits)]
    if mode == "max_grad":
        return [max_pool_grad(operand[0], operand[1], window, size)]
    return [sum_pool_grad(operand[0], window, size) * scale]


def make_pool_job(layer: PoolLayer, mode: str, hw: PoolParameters, seed: int = 0, base: int = 0) -> PoolJob:
    """Random operands in memory images from byte `base` on, and everything that the memory has to be at the end."""
    rng = np.random.default_rng(seed)
    operand = operands(layer, mode, hw, rng)
    result = golden(layer, mode, operand, hw.operand_bits)
    shape = filled(layer.shape, (hw.ub, hw.channel_block))
    kind = "average" if "average" in mode else "max"
    command = Pooling(kind, layer.window, shape, 0, 0, 0, 0 if mode == "max_index" else None, "grad" in mode)
    images = [(command.operand_image(hw), part) for part in operand]
    images += [(command.result_image(hw), part) for part in result]
    places, end = [], base
    for image, _ in images:
        places.append(end)
        end += image.size_bytes + hw.beat_bytes
    memory = rng.integers(0, 256, end, dtype=np.uint8)
    want = memory.copy()
    for number, ((image, tensor), place) in enumerate(zip(images, places, strict=True)):
        packed = np.frombuffer(_pack(image, tensor), np.uint8)
        want[place : place + len(packed)] = packed
        if number < len(operand):
            memory[place : place + len(packed)] = packed
    names = ["a", "b"][: len(operand)] + ["y", "index"][: len(result)]
    command = replace(command, shape=layer.shape, **dict(zip(names, places, strict=True)))
    scale = int(np.abs(result[0].astype(np.int64)).max()).bit_length() if command.wide else 0
    return PoolJob(command, memory, want, pool_words(hw, command), scale)


def _pack(image: RowImage, tensor: npt.NDArray[np.int64]) -> bytes:
    return image.pack(tensor)


def check(bench: UnitBench, job: PoolJob, how: Behaviour) -> Record:
    """Run a job; every byte of the memory must be as expected. Returns when it was taken and ended."""
    outcome, records = bench.run([job.words], job.memory, how)
    where = f"{job.command} {bench.parameters}"
    assert (outcome.faults, outcome.done) == ((0, 0, 0, 0), 1), f"{where} after {outcome.cycles} cycles"
    wrong = np.flatnonzero(job.memory != job.want)
    assert not len(wrong), f"{where}: {len(wrong)} wrong bytes, the first {wrong[:8]}"
    assert records[0].scale == job.scale, where
    return records[0]
