"""The registers of an accelerator, as ``rtl_templates/top/accelerator_registers.sv`` lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["AcceleratorError", "Bus", "Registers"]

_CONTROL, _INDEX, _DATA, _LENGTH, _ITERATIONS, _RATE_SHIFT, _SEED, _BASE, _STEP, _SELECT = (
    0x00, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18, 0x1C, 0x34, 0x3C,
)  # fmt: skip
_STATUS, _PLACE, _CYCLES, _STEPS, _ITERATION, _COUNTER, _SLOT, _RANDOM, _DEPTH = (
    0x40, 0x44, 0x48, 0x50, 0x54, 0x58, 0x5C, 0x60, 0x64,
)  # fmt: skip
_START, _CLEAR, _RESUME = 1, 2, 4
_BUSY, _DONE, _WAITING, _IGNORED = 1, 2, 4, 8
ERRORS = {
    1: "read error of master 0",
    2: "read error of master 1",
    3: "write error",
    4: "a unit refused its command: a size is beyond a buffer",
    5: "the schedule or the number of iterations is zero",
    6: "the schedule ends within a record or is longer than its memory",
    7: "the schedule names a unit that this accelerator lacks",
    8: "a base address or step is no multiple of a beat",
}
"""Error code -> what it says (``error_e`` of ``sequencer_pkg.sv``)."""


class Bus(Protocol):
    """What the driver needs of AXI4-Lite: PYNQ's ``MMIO`` has the first two."""

    def read(self, address: int) -> int:
        """A register at a byte address."""

    def write(self, address: int, value: int) -> None:
        """Write a register."""

    def wait(self, seconds: float) -> bool:
        """Wait for the interrupt at most so long; whether it is there."""


class AcceleratorError(RuntimeError):
    """The accelerator stopped; ``code`` is the error's number, ``place`` the word of the schedule where it stopped."""

    def __init__(self, code: int, place: int) -> None:
        super().__init__(f"{ERRORS.get(code, f'error {code}')} (at word {place} of the schedule)")
        self.code, self.place = code, place


class Registers:
    """What a host does with the registers. What is set while an iteration is under way is for the next start."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus

    def load(self, words: NDArray[np.uint32]) -> None:
        """Write a schedule. Raises ValueError where it is longer than the memory."""
        depth = self.bus.read(_DEPTH)
        if len(words) > depth:
            raise ValueError(f"a schedule of {len(words)} words for a memory of {depth}")
        self.bus.write(_INDEX, 0)
        for word in words:
            self.bus.write(_DATA, int(word))
        self.bus.write(_LENGTH, len(words))

    def place(self, bases: Sequence[int], steps: Sequence[int] = (0, 0)) -> None:
        """Byte addresses of tensors, samples and targets, and the steps of the last two between iterations."""
        for number, base in enumerate(bases):
            self.bus.write(_BASE + 8 * number, base & 0xFFFFFFFF)
            self.bus.write(_BASE + 8 * number + 4, base >> 32)
        for number, step in enumerate(steps):
            self.bus.write(_STEP + 4 * number, step)

    def start(self, iterations: int = 1) -> None:
        """Start so many iterations."""
        self.bus.write(_ITERATIONS, iterations)
        self.bus.write(_CONTROL, _START)

    def resume(self) -> None:
        """Go on after the host's step."""
        self.bus.write(_CONTROL, _RESUME)

    def clear(self) -> None:
        """Drop all that is under way, and the flags."""
        self.bus.write(_CONTROL, _CLEAR)

    def seed(self, value: int) -> None:
        """Have the next start begin the random numbers anew."""
        self.bus.write(_SEED, value)

    def rate_shift(self, value: int) -> None:
        """The learning rate, as a shift."""
        self.bus.write(_RATE_SHIFT, value)

    @property
    def status(self) -> int:
        """STATUS as it is."""
        return self.bus.read(_STATUS)

    @property
    def busy(self) -> bool:
        """Whether an iteration is under way."""
        return bool(self.status & _BUSY)

    @property
    def done(self) -> bool:
        """Whether all iterations of the last start are finished."""
        return bool(self.status & _DONE)

    @property
    def waiting(self) -> bool:
        """Whether the host's step is due."""
        return bool(self.status & _WAITING)

    @property
    def ignored(self) -> bool:
        """Whether a start came while busy."""
        return bool(self.status & _IGNORED)

    @property
    def ended(self) -> bool:
        """Whether the start is done, has failed, or waits for the host."""
        return self.status & ~(_BUSY | _IGNORED) != 0

    @property
    def error(self) -> AcceleratorError | None:
        """What stopped it."""
        code = self.status >> 8 & 15
        return AcceleratorError(code, self.record) if code else None

    @property
    def cycles(self) -> int:
        """Clock cycles since the start, without those of the host."""
        return self.bus.read(_CYCLES) | self.bus.read(_CYCLES + 4) << 32

    @property
    def steps(self) -> int:
        """Of these, cycles in which the engine's lanes worked."""
        return self.bus.read(_STEPS)

    @property
    def record(self) -> int:
        """Word of the schedule at which the record under way, or the last one, begins."""
        return self.bus.read(_PLACE)

    @property
    def iteration(self) -> int:
        """Iterations finished since the start."""
        return self.bus.read(_ITERATION)

    @property
    def random_state(self) -> int:
        """State of the random numbers."""
        return self.bus.read(_RANDOM)

    def counter(self, number: int) -> int:
        """Cycles of a counter since the start."""
        self.bus.write(_SELECT, number)
        return self.bus.read(_COUNTER)

    def slot(self, number: int) -> tuple[int, int]:
        """(bit length, exponent) of a slot."""
        self.bus.write(_SELECT, number)
        value = self.bus.read(_SLOT)
        return value >> 16 & 0x7F, (value & 0xFFFF ^ 0x8000) - 0x8000
