"""One phase of one layer on the simulated accelerator, its DRAM compared bit for bit with the golden model's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dse import golden
from dse.engine import (
    Bases,
    Convolution,
    EngineLayout,
    EngineParameters,
    command,
    command_words,
    fit_tiling,
    phase_nest,
)
from dse.golden.rounding import limit, requantise
from dse.host import Registers
from dse.schedule import SPACES, Step
from dse.schedule.engine_cycles import engine_cycles
from dse.schedule.record import step_words
from dse.schedule.schedule import DMA_CYCLES, sequencer_cycles
from dse.verify.dram import Dram
from dse.verify.simulator import Simulator

__all__ = ["BASE", "Case", "Outcome", "Prepared", "begin", "prepare", "run", "run_case"]

BASE = 0x1000_0000
"""Address of the simulated memory's first byte."""
_PAGE = 4096
_CHUNK = 100_000
"""Cycles between two looks at whether the user wants to stop."""

Ints = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Case:
    """What is run: a convolution in one phase, operands drawn from ``seed``, the memory's behaviour."""

    conv: Convolution
    phase: str
    seed: int
    dram: Dram


@dataclass(frozen=True)
class Outcome:
    """What came out. ``difference`` is empty where DRAM is what the golden model says."""

    cycles: int
    """From the start of the command to the last write response."""
    steps: int
    """Of these, cycles in which the lanes worked."""
    predicted_cycles: int
    """``dse.schedule`` for a schedule of this one command, with a memory of this latency that never stalls."""
    read_bytes: int
    written_bytes: int
    difference: str

    @property
    def exact(self) -> bool:
        """Whether every byte of DRAM agrees."""
        return not self.difference


@dataclass(frozen=True)
class _Tensors:
    """Operands and expected result of a case, as layouts and images."""

    layouts: tuple[EngineLayout, EngineLayout, EngineLayout]
    operands: tuple[Ints, Ints]
    result: Ints
    shift: int
    raw: bool


@dataclass(frozen=True)
class Prepared:
    """A case ready to run: DRAM before and after, and a schedule of the one command."""

    before: Ints
    expected: Ints
    words: npt.NDArray[np.uint32]
    places: tuple[range, range, range]
    """Offsets of the bytes of the two operands and of the result."""
    predicted_cycles: int
    budget: int
    """Cycles after which a run has not ended."""


def run_case(library: Path, hw: EngineParameters, case: Case) -> Outcome:
    """Simulate ``case`` on the model in the file ``library``.

    A command that does not end, or ends with an error flag or a breach of the bus protocol, is a difference too.
    """
    prepared = prepare(hw, case)
    simulator = Simulator(library, replace(case.dram, base=BASE, size=len(prepared.before)), hw.data_bits)
    try:
        return run(simulator, prepared)
    finally:
        simulator.close()


def prepare(hw: EngineParameters, case: Case) -> Prepared:
    """Operands drawn and placed, the golden model's result, the command."""
    tensors = _tensors(hw, case)
    places, size = _places(tensors)
    before = np.random.default_rng(case.seed).integers(0, 256, size, np.uint8)
    for place, layout, operand in zip(places, tensors.layouts, tensors.operands, strict=False):
        _put(before, place, layout.pack(operand))
    expected = before.copy()
    _put(expected, places[2], tensors.layouts[2].pack(tensors.result))
    nest = phase_nest(case.conv, case.phase, hw.channel_block)
    tiling = fit_tiling(hw, nest)
    cycles = engine_cycles(hw, nest, tiling, case.dram.latency + DMA_CYCLES, tensors.raw)
    bases = Bases(*(place.start for place in places))
    words = command_words(command(hw, nest, tiling, bases, shift=tensors.shift, raw=tensors.raw))
    step = Step("", case.phase, "engine", case.phase, words, cycles)
    record, predicted = step_words(step, 0), sum(sequencer_cycles([step]))
    beats = sum(map(len, places)) // hw.beat_bytes
    stalls = (1 - min(case.dram.stall, 0.99)) ** 2
    budget = int((100 * (predicted + beats) + 200_000) * (1 + case.dram.latency / 10) / stalls)
    return Prepared(before, expected, record, places, predicted, budget)


def begin(simulator: Simulator, prepared: Prepared) -> Registers:
    """Fill the memory and start the command; the registers, to follow it."""
    simulator.memory[:] = prepared.before
    registers = Registers(simulator)
    registers.load(prepared.words)
    registers.place([BASE] * len(SPACES))
    registers.start()
    return registers


def run(simulator: Simulator, prepared: Prepared) -> Outcome:
    """Fill the memory, run the command, compare."""
    registers = begin(simulator, prepared)
    left = prepared.budget
    while not registers.ended and left > 0:
        simulator.run(min(_CHUNK, left))
        left -= _CHUNK
    failure = str(registers.error or "") or ("" if registers.done else "does not end")
    difference = failure or simulator.violation or _difference(simulator.memory, prepared)
    cycles, steps = registers.cycles, registers.steps
    return Outcome(cycles, steps, prepared.predicted_cycles, *simulator.moved_bytes, difference)


def _tensors(hw: EngineParameters, case: Case) -> _Tensors:
    """Operands over their whole symmetric range, and what has to come out."""
    conv, bits = case.conv, hw.operand_bits
    rng = np.random.default_rng(case.seed + 1)
    most = limit(bits)
    kind = np.dtype(f"int{bits}")

    def drawn(shape: tuple[int, ...]) -> Ints:
        return rng.integers(-most, most, shape, kind, endpoint=True)

    window, shape_in, shape_out = conv.window, (conv.batch, conv.n, *conv.size), (conv.batch, conv.m, *conv.out_size)
    x, e = drawn(shape_in), drawn(shape_out)
    w = drawn((conv.m, conv.group_n, *window.kernel))
    inputs, outputs, weights = (
        EngineLayout.features(hw, conv, of_output=False),
        EngineLayout.features(hw, conv, of_output=True),
        EngineLayout.weights(hw, conv),
    )
    if case.phase == "weight_grad":
        sums = golden.weight_grad(x, e, window)
        raw = EngineLayout.weights(hw, conv, raw=True)
        return _Tensors((inputs, outputs, raw), (x, e), sums, 0, True)
    if case.phase == "forward":
        layouts, operands, wide = (inputs, weights, outputs), (x, w), golden.forward(x, w, window)
    else:
        layouts, operands = (outputs, weights, inputs), (e, w)
        wide = golden.input_grad(e, w, window, conv.size)
    wide = _wrapped(wide, hw.accumulator_bits)
    # Most results keep all their bits, a few are clipped.
    shift = max(int(np.abs(wide).max()).bit_length() - bits, 0)
    return _Tensors(layouts, operands, requantise(wide, shift, bits), shift, False)


def _wrapped(sums: Ints, bits: int) -> Ints:
    """What an accumulator of ``bits`` holds."""
    half = 1 << (bits - 1)
    return (sums + half) % (1 << bits) - half


def _places(tensors: _Tensors) -> tuple[tuple[range, range, range], int]:
    """Offsets of the two operands and the result, pages of other data between them, and the memory's size."""
    places, end = [], _PAGE
    for layout in tensors.layouts:
        places.append(range(end, end + layout.size_bytes))
        end = (-(-(end + layout.size_bytes) // _PAGE) + 1) * _PAGE
    return (places[0], places[1], places[2]), end


def _put(memory: Ints, place: range, image: bytes) -> None:
    memory[place.start : place.stop] = np.frombuffer(image, np.uint8)


def _difference(memory: Ints, prepared: Prepared) -> str:
    """The first byte that differs, and where it lies; empty where none does."""
    wrong = np.flatnonzero(memory != prepared.expected)
    if wrong.size == 0:
        return ""
    first, result = int(wrong[0]), prepared.places[2]
    where = f"address {BASE + first:#x}, {wrong.size} bytes differ"
    if first not in result:
        return f"{where}, the first outside of the result"
    got, wanted = int(memory[first]), int(prepared.expected[first])
    return f"{where}, byte {first - result.start} of the result is {got}, expected {wanted}"
