"""The accelerator's registers, as ``rtl_templates/top/accelerator.sv`` lists them."""

from __future__ import annotations

from collections.abc import Iterable

from dse.verify.simulator import Simulator

__all__ = ["Registers"]

_CONTROL, _COMMAND, _STATUS, _CYCLES, _STEPS, _COMMANDS, _WORDS = 0x00, 0x04, 0x08, 0x0C, 0x14, 0x18, 0x1C
_START, _CLEAR = 1, 2
_BUSY, _DONE = 1, 2
_ERRORS = {
    4: "engine error",
    8: "read error of master 0",
    16: "read error of master 1",
    32: "write error",
    64: "start while busy",
}
"""Bit of STATUS -> what it says."""


class Registers:
    """Commands and counters over register reads and writes."""

    def __init__(self, bus: Simulator) -> None:
        self._bus = bus

    def start(self, words: Iterable[int]) -> None:
        """Write a command and start it. Raises RuntimeError where the hardware's commands have another length."""
        count = 0
        for word in words:
            self._bus.write(_COMMAND, int(word))
            count += 1
        length = self._bus.read(_WORDS)
        if count != length:
            raise RuntimeError(f"commands of this accelerator have {length} words, not {count}")
        self._bus.write(_CONTROL, _START)

    def clear(self) -> None:
        """Drop all that is under way, and the flags."""
        self._bus.write(_CONTROL, _CLEAR)

    @property
    def status(self) -> int:
        """STATUS."""
        return self._bus.read(_STATUS)

    @property
    def ended(self) -> bool:
        """Whether the command is done or has failed."""
        return self.status & ~_BUSY != 0

    @property
    def failure(self) -> str:
        """The error flags in words, or that the command has not ended; empty where it is done."""
        status = self.status
        flags = [text for bit, text in _ERRORS.items() if status & bit]
        if flags:
            return ", ".join(flags)
        return "" if status & _DONE else "does not end"

    @property
    def cycles(self) -> int:
        """Clock cycles of the command, start to last write response."""
        return self._bus.read(_CYCLES) | self._bus.read(_CYCLES + 4) << 32

    @property
    def steps(self) -> int:
        """Cycles in which the lanes worked."""
        return self._bus.read(_STEPS)

    @property
    def commands(self) -> int:
        """Commands finished since reset."""
        return self._bus.read(_COMMANDS)
