"""Synthesis of the pool unit by Yosys: DSP blocks of its lanes, ring and queues in block RAM, no latch.

python -m tests.rtl.pool_synthesis [--family xc7|xcup]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from dse.engine.resources import BufferRam
from dse.vector import PoolParameters
from tests.rtl.engine_synthesis import LUT_RAM, count, synthesise_module
from tests.rtl.pool_bench import VECTOR

SETTINGS = {
    "8 channels": PoolParameters(),
    "8 channels int16": PoolParameters(operand_bits=16),
    "16 channels, 4096 deep": PoolParameters(channel_block=16, depth=4096, data_bits=128),
}


def synthesise(hw: PoolParameters, family: str, *, logic: bool = True) -> dict[str, int]:
    """Cells by type; without ``logic`` only up to DSP blocks and memories. RuntimeError with Yosys's messages."""
    return synthesise_module("pool_unit", hw.verilog(), VECTOR.glob("pool_*.sv"), family, logic=logic)


def faults(hw: PoolParameters, cells: Mapping[str, int]) -> list[str]:
    """Latches, memories that are no block RAM, lanes with more multipliers than their sum needs."""
    found = []
    latches = count(cells, "LD", "$dlatch", "$adlatch")
    if latches:
        found.append(f"{latches} latches")
    width = hw.cell * hw.operand_bits
    rams = [BufferRam("ring", 1, 2, width, hw.depth), *[BufferRam("queue", 1, 1, width, hw.row_depth)] * 2]
    said = sum(2 * ram.ramb36 + ram.ramb18 for ram in rams)
    halves = 2 * count(cells, "RAMB36") + count(cells, "RAMB18")
    if halves != said:
        found.append(f"{halves} halves of block RAM, {said} by the geometry")
    multipliers = hw.cell * hw.operand_bits // 8
    if count(cells, "DSP") != multipliers:
        found.append(f"{count(cells, 'DSP')} DSP blocks, not {multipliers}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=tuple(LUT_RAM), default="xc7")
    family, wrong = parser.parse_args().family, 0
    for name, hw in SETTINGS.items():
        print(f"{name:24}{family:6}", end="", flush=True)
        cells = synthesise(hw, family)
        lut, ff, dsp = count(cells, "LUT", "INV", "SRL"), count(cells, "FD"), count(cells, "DSP")
        print(f"{lut:7,} LUT{ff:7,} FF{dsp:4} DSP{count(cells, 'RAMB36'):4} RAMB36{count(cells, 'RAMB18'):4} RAMB18")
        for fault in faults(hw, cells):
            wrong += 1
            print(f"  FAILED: {fault}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
