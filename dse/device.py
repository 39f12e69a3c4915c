"""A board: its FPGA's resources, its memory system and what is published about its power."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Device", "OperatorCost", "PowerMeasurement"]


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """DSP blocks of one multiplier and one adder of a data type (fractions where a block holds several)."""

    multiplier_dsp: float
    adder_dsp: float


@dataclass(frozen=True, slots=True)
class PowerMeasurement:
    """A published total power, in watts, of a design on this board with its DSP and BRAM36 use and its clock."""

    design: str
    dsp: float
    bram36: float
    clock_hz: float
    watts: float
    source: str


@dataclass(frozen=True)
class Device:
    """A board. Counts are what the chip has; ``usable`` is the share of each that a design may take.

    Intel parts are held in the same terms: an M20K (512 x 40) counts as half a RAMB36, an ALM as two LUTs and
    four flip-flops.
    ``sources`` maps each key of the file to the document its number was taken from.
    """

    name: str
    part: str
    vendor: str
    lut: int
    ff: int
    dsp: int
    bram36: float
    uram288: int
    clock_hz: float
    dram_bytes: int
    dram_bytes_per_s: float
    dma_ports: int
    """Ports to DRAM that work at the same time."""
    dma_port_bits: int
    dma_restart_cycles: int
    """Clock cycles that a break in the address sequence stops a port."""
    dsp_cost: Mapping[str, OperatorCost]
    """Precision name (int8, int16, bf16, fp32) -> cost."""
    usable: Mapping[str, float]
    """Resource name (lut, ff, dsp, bram36, uram288) -> share of the chip a design may take, 0 to 1."""
    power: tuple[PowerMeasurement, ...]
    """Empty where nothing is published: power is then NaN."""
    sources: Mapping[str, str]
    path: str = ""
    digest: str = field(default="", compare=False)
    """SHA-256 of the file it was read from."""

    @property
    def capacity(self) -> dict[str, float]:
        """Resource name -> what the chip has."""
        return {
            "lut": float(self.lut),
            "ff": float(self.ff),
            "dsp": float(self.dsp),
            "bram36": float(self.bram36),
            "uram288": float(self.uram288),
        }

    @property
    def dram_bytes_per_cycle(self) -> float:
        """Bytes that DRAM and ports move in a clock cycle: the lower of the two."""
        ports = self.dma_ports * self.dma_port_bits / 8
        return min(self.dram_bytes_per_s / self.clock_hz, ports)
