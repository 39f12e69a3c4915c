"""DSP blocks and memories of the convolution engine from its parameters: what synthesis of its RTL infers, exactly.

Each lane is a DSP block. Each memory is a ``buffer_ram`` (rtl_templates/lib), which cuts itself into slices of one
block RAM or of LUT RAM, so that the count is a rule of the RTL and not of a tool.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from dse.engine.hardware import EngineParameters
from dse.rtl_shape import BUFFERS

__all__ = ["LUT_RAM", "BufferRam", "EngineResources", "buffer_rams", "engine_resources"]

_LUT_DEPTH = 64
"""Words of the deepest memory that is LUT RAM: those of one LUT."""
_HALF_DEPTHS = (512, 1024, 2048, 4096, 8192, 16384)
_HALF_WIDTHS = {9: (36, 18, 9, 4, 2, 1), 8: (32, 16, 8, 4, 2, 1)}
"""Bits used of a byte -> bits of a RAMB18 of each depth, a read and a write port (AMD UG473, table 1-7; UG573, table
1-9). The ninth bit has no write enable of its own, so that a memory written in lanes leaves it idle."""
LUT_RAM = {"xc7": (4, {32: 6, 64: 3}), "xcup": (8, {32: 14, 64: 7})}
"""Yosys' name of a family -> LUTs of a primitive with a read and a write port, and its bits by depth: RAM32M, RAM64M
(AMD UG474, distributed RAM); RAM32M16, RAM64M8 (UG574)."""


@dataclass(frozen=True, slots=True)
class BufferRam:
    """``count`` equal memories of ``depth`` words of ``lanes`` x ``lane_bits`` bits, each lane with a write enable."""

    buffer: str
    """What it belongs to, of ``dse.rtl_shape.BUFFERS``."""
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
class EngineResources:
    """What the engine takes of a chip. No memory of it is UltraRAM."""

    dsp: int
    ramb36: int
    ramb18: int
    lut_ram: int
    """LUTs used as memory."""
    uram: int = 0

    @property
    def bram36(self) -> float:
        """Block RAM in RAMB36, two RAMB18 in one."""
        return self.ramb36 + self.ramb18 / 2


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


def engine_resources(hw: EngineParameters, family: str = "xcup", buffers: Container[str] = BUFFERS) -> EngineResources:
    """DSP blocks, and memories of ``buffers``, on ``family`` of LUT_RAM (they differ in LUT RAM only)."""
    rams = [ram for ram in buffer_rams(hw) if ram.buffer in buffers]
    luts, _ = LUT_RAM[family]
    return EngineResources(
        dsp=hw.lanes,
        ramb36=sum(ram.ramb36 for ram in rams),
        ramb18=sum(ram.ramb18 for ram in rams),
        lut_ram=luts * sum(ram.lut_rams(family) for ram in rams),
    )
