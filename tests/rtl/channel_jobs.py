"""The channel unit compiled, and its operations on random maps beside the golden model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from dse.golden.integer_batch_norm import IntegerBatchNorm
from dse.golden.rounding import Scaled, requantise
from dse.layout import RowImage
from dse.network import Layer
from dse.vector import CHANNEL_FIELDS, ChannelOperation, channel_vector, channel_words
from tests.rtl.rtl_model import LIBRARY, VECTOR
from tests.rtl.unit_bench import Behaviour, Record, UnitBench

SOURCES = ["-y", str(VECTOR), "-y", str(LIBRARY), str(VECTOR / "channel_pkg.sv"), str(VECTOR / "channel_unit.sv")]
Ints = npt.NDArray[np.int64]
_LAYER = cast(Layer, None)  # the golden operation does not look at it


@dataclass(frozen=True)
class Setting:
    """Parameters of the unit."""

    bits: int = 8
    ub: int = 1
    block: int = 8
    data_bits: int = 64

    def verilog(self) -> dict[str, int]:
        """Parameter name in the RTL -> value."""
        return {
            "OperandWidth": self.bits, "UB": self.ub, "ChannelBlock": self.block, "DataWidth": self.data_bits,
        }  # fmt: skip

    def maps(self, shape: tuple[int, int, int, int]) -> RowImage:
        """The layout of maps of ``shape``."""
        return RowImage.maps(shape, (self.ub, self.block), self.bits // 8, self.data_bits // 8)

    def bench(self, cache: Path, runtime: Path) -> UnitBench:
        """The unit with these parameters."""
        return UnitBench("channel_unit", self.verilog(), len(CHANNEL_FIELDS), SOURCES, cache, runtime)


@dataclass
class Job:
    """An operation in a memory of its own: what is there, and what has to be there at the end."""

    command: ChannelOperation
    memory: npt.NDArray[np.uint8]
    want: npt.NDArray[np.uint8]
    scales: tuple[int, int, int]
    """Bit lengths: sums or input's error; first vector; second vector."""

    @property
    def words(self) -> npt.NDArray[np.uint32]:
        """The words of the command."""
        return channel_words(self.command)


class _Memory:
    """Images one behind the other from byte ``base`` on, with bytes of no meaning before, between and in fillings."""

    def __init__(self, rng: np.random.Generator, base: int, beat: int) -> None:
        self.rng, self.beat = rng, beat
        self.parts = [rng.integers(0, 256, base, np.uint8)]
        self.wants: list[tuple[int, npt.NDArray[np.uint8]]] = []
        self._gap()

    def _gap(self) -> None:
        self.parts.append(self.rng.integers(0, 256, self.beat * int(self.rng.integers(1, 4)), np.uint8))

    def _place(self, image: npt.NDArray[np.uint8]) -> int:
        base = sum(len(part) for part in self.parts)
        self.parts.append(image)
        self._gap()
        return base

    def read(self, image: RowImage, tensor: Ints) -> int:
        """Where an operand begins."""
        used = np.frombuffer(image.pack(np.full_like(tensor, -1)), np.uint8)
        stored = np.frombuffer(image.pack(tensor), np.uint8)
        return self._place(np.where(used > 0, stored, self.rng.integers(0, 256, len(used), np.uint8)))

    def write(self, image: RowImage, tensor: Ints) -> int:
        """Where a result begins that has to become ``tensor``."""
        base = self._place(self.rng.integers(0, 256, image.size_bytes, np.uint8))
        self.wants.append((base, np.frombuffer(image.pack(tensor), np.uint8)))
        return base

    def images(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
        """Before and after."""
        memory = np.concatenate(self.parts)
        want = memory.copy()
        for base, image in self.wants:
            want[base : base + len(image)] = image
        return memory, want


def values(rng: np.random.Generator, bits: int, shape: tuple[int, ...]) -> Ints:
    """Elements over the range, or around a few numbers a channel, or all at an end of it."""
    end = (1 << (bits - 1)) - 1
    spread = rng.choice([0, 1, 7, end], (1, shape[1], 1, 1))
    middle = rng.integers(-end, end, (1, shape[1], 1, 1), endpoint=True)
    drawn = middle + rng.integers(-(end + 1), end, shape, endpoint=True) * spread // end
    ends = rng.random((1, shape[1], 1, 1)) < 0.2
    return np.where(ends, rng.choice([-end, end], shape), np.clip(drawn, -end, end))


def bit_length(tensor: Ints) -> int:
    """Of the largest magnitude."""
    return int(np.abs(tensor).max()).bit_length()


def make_job(
    setting: Setting, kind: str, shape: tuple[int, int, int, int], *, seed: int = 0, base: int = 0, wide: bool = False,
    relu: bool = False, shift: int = 0, error: bool = True,
) -> Job:  # fmt: skip
    """Random operands and the results of the golden model."""
    rng, image, bits = np.random.default_rng(seed), setting.maps(shape), setting.bits
    memory = _Memory(rng, base, image.beat_bytes)
    vector = {wide: channel_vector(image, wide) for wide in (False, True)}
    maps = ChannelOperation("bias", image, reads=(0,)).wide_image
    x = values(rng, bits, shape)
    parameters = {name: rng.integers(-(1 << bits - 1) + 1, 1 << bits - 1, shape[1]) for name in ("weight", "bias")}
    scales = (0, 0, 0)

    def row(tensor: Ints) -> Ints:
        return tensor.reshape(1, -1, 1, 1)

    def parameter(name: str) -> int:
        return memory.read(vector[False], row(parameters[name]))

    if kind == "sum":
        total = x.sum(axis=(0, 2, 3))
        command = ChannelOperation(
            kind, image, memory.read(image, x), writes=(memory.write(vector[True], row(total)),)
        )  # fmt: skip
        scales = (bit_length(total), bit_length(total), 0)
    elif kind == "bias":
        bound = 1 << min(bits + shift, 4 * bits - 1)
        a = rng.integers(-bound, bound, shape) if wide else x
        sums = a + (parameters["bias"] << shift)[:, None, None]
        y = requantise(sums, shift, bits)
        command = ChannelOperation(
            kind, image, memory.read(maps if wide else image, a), reads=(parameter("bias"),),
            o=memory.write(image, np.maximum(y, 0) if relu else y), wide=wide, relu=relu, shift=shift,
        )  # fmt: skip
    else:
        norm = IntegerBatchNorm(bits)
        (y, kept) = norm.forward(_LAYER, parameters, [x], True)
        statistics = [row(kept[1]), row(kept[2])]
        if kind == "norm_forward":
            command = ChannelOperation(
                kind, image, memory.read(image, x), reads=(parameter("weight"), parameter("bias")),
                o=memory.write(image, np.maximum(y, 0) if relu else y), relu=relu,
                writes=(memory.write(vector[True], statistics[0]), memory.write(vector[True], statistics[1])),
            )  # fmt: skip
            scales = (0, bit_length(kept[1]), bit_length(kept[2]))
        else:
            e = values(rng, bits, shape)
            (scaled,), gradients = norm.backward(_LAYER, parameters, kept, Scaled(e))
            reads = (*(memory.read(vector[True], tensor) for tensor in statistics), parameter("weight"))
            results = [gradients["weight"], gradients["bias"]]
            command = ChannelOperation(
                kind, image, memory.read(image, e), memory.read(image, x), reads=reads,
                writes=(memory.write(vector[True], row(results[0])), memory.write(vector[True], row(results[1]))),
                o=memory.write(maps, scaled.values) if error else None,
            )  # fmt: skip
            scales = (bit_length(scaled.values) if error else 0, *(bit_length(result) for result in results))
    return Job(command, *memory.images(), scales)


def check(bench: UnitBench, job: Job, how: Behaviour) -> Record:
    """Run a job: all of memory and the scales must be as expected. Returns the record of the run."""
    where = f"{job.command} {bench.parameters}"
    outcome, records = bench.run([job.words], job.memory, how)
    assert (outcome.faults, outcome.done) == ((0, 0, 0, 0), 1), f"{where} after {outcome.cycles} cycles"
    compare(job.memory, job.want, where)
    assert (records[0].scale, records[0].scale_weight, records[0].scale_bias) == job.scales, where
    return records[0]


def compare(got: npt.NDArray[np.uint8], want: npt.NDArray[np.uint8], where: str) -> None:
    """Raise AssertionError with the first bytes that differ."""
    differ = np.flatnonzero(got != want)
    if len(differ):
        raise AssertionError(f"{where}: {len(differ)} wrong bytes, the first at {differ[:8]}")
