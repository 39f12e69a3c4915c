"""DSP blocks and memories of RTL, the convolution engine's in particular: what synthesis infers, exactly.

Each lane is a DSP block. Each memory is a ``buffer_ram`` (rtl_templates/lib), which cuts itself into slices of one
block RAM or of LUT RAM, so that the count is a rule of the RTL and not of a tool.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from dse.engine.hardware import EngineParameters
from dse.rtl_shape import BUFFERS

__all__ = [
    "LUT_RAM",
    "NOTHING",
    "BufferRam",
    "Resources",
    "buffer_rams",
    "engine_resources",
    "product_dsp",
    "ram_resources",
]

_LUT_DEPTH = 64
"""Words of the deepest memory that is LUT RAM: those of one LUT."""
_HALF_DEPTHS = (512, 1024, 2048, 4096, 8192, 16384)
_HALF_WIDTHS = {9: (36, 18, 9, 4, 2, 1), 8: (32, 16, 8, 4, 2, 1)}
"""Bits used of a byte -> bits of a RAMB18 of each depth, a read and a write port (AMD UG473, table 1-7; UG573, table
1-9). The ninth bit has no write enable of its own, so that a memory written in lanes leaves it idle."""
LUT_RAM = {"xc7": (4, {32: 6, 64: 3}), "xcup": (8, {32: 14, 64: 7})}
"""Yosys' name of a family -> LUTs of a primitive with a read and a write port, and its bits by depth: RAM32M, RAM64M
(AMD UG474, distributed RAM); RAM32M16, RAM64M8 (UG574)."""

_MULTIPLIERS = {"xc7": (25, 18), "xcup": (27, 18)}
"""Bits of the signed factors of a DSP48E1 (UG479) and a DSP48E2 (UG579)."""


@dataclass(frozen=True, slots=True)
class BufferRam:
    """``count`` equal memories of ``depth`` words of ``lanes`` x ``lane_bits`` bits, each lane with a write enable."""

    buffer: str
    """What it belongs to; of the engine's, one of ``dse.rtl_shape.BUFFERS``."""
    count: int
    lanes: int
    lane_bits: int
    depth: int

    @property
    def is_lut_ram(self) -> bool:
        """Whether it is shallow enough for LUTs."""
        return self.depth <= _LUT_DEPTH

    @property
    def grid(self) -> tuple[int, int]:
        """(Rows, columns) of RAMB18 of the shape that takes the fewest, of these of the one with the fewest rows."""
        width = self.lanes * self.lane_bits
        halves = _HALF_WIDTHS[8 if self.lanes > 1 else 9]
        grids = [(-(-self.depth // d), -(-width // w)) for d, w in zip(_HALF_DEPTHS, halves, strict=True)]
        return min(grids, key=lambda grid: (grid[0] * grid[1], grid[0]))

    @property
    def ramb36(self) -> int:
        """RAMB36 of all: two RAMB18 side by side are one."""
        rows, columns = self.grid
        return 0 if self.is_lut_ram else self.count * rows * (columns // 2)

    @property
    def ramb18(self) -> int:
        """RAMB18 of all: the last of an odd number of columns."""
        rows, columns = self.grid
        return 0 if self.is_lut_ram else self.count * rows * (columns % 2)

    def lut_rams(self, family: str) -> int:
        """Primitives of LUT RAM of all, on ``family`` of LUT_RAM; a lane shares none with another."""
        if not self.is_lut_ram:
            return 0
        _, bits = LUT_RAM[family]
        deep = min(depth for depth in bits if depth >= self.depth)
        return self.count * self.lanes * -(-self.lane_bits // bits[deep])


@dataclass(frozen=True, slots=True)
class Resources:
    """What RTL takes of a chip. No memory is UltraRAM."""

    dsp: int
    ramb36: int
    ramb18: int
    lut_ram: int
    """LUTs used as memory."""
    uram: int = 0

    def __add__(self, other: Resources) -> Resources:
        """Both."""
        return Resources(
            self.dsp + other.dsp,
            self.ramb36 + other.ramb36,
            self.ramb18 + other.ramb18,
            self.lut_ram + other.lut_ram,
            self.uram + other.uram,
        )

    @property
    def bram36(self) -> float:
        """Block RAM in RAMB36, two RAMB18 in one."""
        return self.ramb36 + self.ramb18 / 2


NOTHING = Resources(0, 0, 0, 0)


def buffer_rams(hw: EngineParameters) -> tuple[BufferRam, ...]:
    """The memories of the feature, operand and sums buffers (docs/rtl.md, Buffers)."""
    cell = hw.channel_block * hw.ub * hw.operand_bits
    words = max(hw.um * hw.un, hw.ub * hw.um * hw.ur * hw.uc)
    sums = hw.ub * hw.um * hw.ur * hw.uc * hw.accumulator_bits
    return (
        BufferRam("feature", hw.ur * hw.uc, hw.un // hw.channel_block, cell, 2 * hw.feature_depth),
        BufferRam("operand", 1, words, hw.operand_bits, 2 * hw.operand_depth),
        BufferRam("sum", 2, 1, sums, hw.sum_depth),
    )


def ram_resources(rams: Iterable[BufferRam], family: str = "xcup") -> Resources:
    """The memories ``rams`` on ``family`` of LUT_RAM (they differ in LUT RAM only)."""
    found = list(rams)
    return Resources(
        dsp=0,
        ramb36=sum(ram.ramb36 for ram in found),
        ramb18=sum(ram.ramb18 for ram in found),
        lut_ram=LUT_RAM[family][0] * sum(ram.lut_rams(family) for ram in found),
    )


def engine_resources(hw: EngineParameters, family: str = "xcup", buffers: Container[str] = BUFFERS) -> Resources:
    """DSP blocks, and the memories of ``buffers``."""
    rams = ram_resources((ram for ram in buffer_rams(hw) if ram.buffer in buffers), family)
    return replace(rams, dsp=hw.lanes)


def product_dsp(a_bits: int, b_bits: int, family: str = "xcup") -> int:
    """DSP blocks of a product of two signed numbers, cut as Yosys' mul2dsp.v does it: parts of 17 bits and a sign."""
    widest, second = _MULTIPLIERS[family]
    return _cut(max(a_bits, b_bits), min(a_bits, b_bits), widest, second)


def _cut(a_bits: int, b_bits: int, widest: int, second: int) -> int:
    part = second - 1
    if a_bits > widest:
        parts = -(-(a_bits - widest) // part)
        return parts * _cut(second, b_bits, widest, second) + _cut(a_bits - parts * part, b_bits, widest, second)
    return 1 + max(-(-(b_bits - second) // part), 0)
