"""How the DRAM model of a simulation behaves; ``rtl_templates/sim/axi_dram.h`` is the model."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["CHANNELS", "DECERR", "SLVERR", "Dram", "DramConfig"]

CHANNELS = ("ar", "r", "aw", "w", "b")
SLVERR, DECERR = 2, 3
"""Error responses (AMBA AXI, ARM IHI 0022, section A3.4.4)."""


class DramConfig(ctypes.Structure):
    """The C++ structure of the same name."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("base", "bytes", "seed", "fault_first", "fault_end")),
        *((name, ctypes.c_uint32) for name in ("fault_response", "fault_on", "read_latency", "write_latency")),
        *((name, ctypes.c_uint32) for name in ("bytes_per_kcycle", "max_pending")),
        ("stall", ctypes.c_uint32 * len(CHANNELS)),
    )


@dataclass(frozen=True)
class Dram:
    """One memory. The defaults are an ideal one: a cycle of latency, every channel at its full rate."""

    base: int = 0
    """Address of the first byte."""
    size: int = 1 << 16
    """Bytes; whoever goes beyond gets DECERR."""
    seed: int = 1
    """Of the stalls."""
    latency: int = 1
    """Cycles from an address to its first beat, and from the last beat to the response."""
    bytes_per_kcycle: int = 0
    """Bytes in 1000 cycles, reads and writes together; 0 for no limit."""
    max_pending: int = 0
    """Bursts accepted in a direction and not yet answered; 0 for any number."""
    stall: float = 0.0
    """Chance of a stall per channel and cycle, 0 to 1."""
    stalled: Sequence[str] = CHANNELS
    """Channels that stall."""
    fault: tuple[int, int] = (0, 0)
    """Byte range that answers with ``fault_response``; empty where the end is not above the start."""
    fault_response: int = SLVERR

    @property
    def chance(self) -> int:
        """``stall`` in 1/65536."""
        return int(self.stall * 65536)

    def config(self) -> DramConfig:
        """The C++ form."""
        config = DramConfig(self.base, self.size, self.seed, *self.fault, self.fault_response, 3)
        config.read_latency = config.write_latency = self.latency
        config.bytes_per_kcycle, config.max_pending = self.bytes_per_kcycle, self.max_pending
        for number, name in enumerate(CHANNELS):
            config.stall[number] = self.chance if name in self.stalled else 0
        return config
