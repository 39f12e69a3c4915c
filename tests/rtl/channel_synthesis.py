"""Synthesis of the channel unit by Yosys: all memories in LUT RAM, a DSP block a multiplication, no latch.

python -m tests.rtl.channel_synthesis [--family xc7|xcup]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from dse.engine.resources import BufferRam
from dse.vector.channel import COUNT_BITS
from dse.vector.channel_timing import shared_lanes
from tests.rtl.channel_jobs import Setting
from tests.rtl.engine_synthesis import LUT_RAM, count, lut_ram, synthesise_module
from tests.rtl.rtl_model import VECTOR

SETTINGS = {
    "8 channels": Setting(),
    "16 channels": Setting(8, 1, 16, 64),
    "8 samples": Setting(8, 8, 1, 64),
    "8 channels int16, 128-bit beats": Setting(16, 1, 8, 128),
}


def synthesise(setting: Setting, family: str, *, logic: bool = True) -> dict[str, int]:
    """Cells by type; without ``logic`` only up to DSP blocks and memories. RuntimeError with Yosys's messages."""
    return synthesise_module("channel_unit", setting.verilog(), VECTOR.glob("channel_*.sv"), family, logic=logic)


ONE_PORT = {6: 8, 3: 4, 14: 16, 7: 8}
"""Bits of a LUT RAM with a read and a write port -> with one address for both, as sums have it (AMD UG474, UG574)."""


def lut_rams(setting: Setting, family: str) -> int:
    """Primitives of LUT RAM: coefficients and sums of lanes that share a channel, scales, what a block keeps."""
    bits, block, lanes = setting.bits, setting.block, setting.data_bits // setting.bits
    sets = lanes // shared_lanes(lanes, setting.ub, block)
    sums = COUNT_BITS + bits + COUNT_BITS + 2 * bits - 1
    mean, inverse, gain = bits + 8, bits + 9, 2 * bits + 7
    memories = [
        *(BufferRam("coefficient", sets, 1, width, 2 * block) for width in (mean, inverse, gain, mean)),
        BufferRam("scale", lanes // 4, 1, bits + 8, 2 * block),
        *([BufferRam("totals", 1, 1, sums, block)] if block > 1 else []),
        *(BufferRam("kept", 1, 1, width, 2 * block) for width in (inverse, bits)),
    ]
    _, two_ports = LUT_RAM[family]
    width = two_ports[min(depth for depth in two_ports if depth >= block)]
    one_port = sets + int(block == 1)  # totals of one channel have one address too
    return one_port * -(-sums // ONE_PORT[width]) + sum(ram.lut_rams(family) for ram in memories)


def faults(setting: Setting, cells: Mapping[str, int], family: str) -> list[str]:
    """Latches, memories that are not in LUT RAM, multiplications of int8 that take more than a DSP block."""
    found = []
    latches = count(cells, "LD", "$dlatch", "$adlatch")
    if latches:
        found.append(f"{latches} latches")
    luts, _ = LUT_RAM[family]
    said = luts * lut_rams(setting, family)
    if lut_ram(cells, family) != said or count(cells, "RAMB"):
        found.append(
            f"{lut_ram(cells, family)} LUTs of LUT RAM, {said} by the geometry; {count(cells, 'RAMB')} block RAMs"
        )
    lanes = setting.data_bits // setting.bits
    if setting.bits == 8 and count(cells, "DSP") != 2 * lanes + lanes // 4:
        found.append(f"{count(cells, 'DSP')} DSP blocks, not two a lane and one a wide element of a beat")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=tuple(LUT_RAM), default="xc7")
    family, wrong = parser.parse_args().family, 0
    for name, setting in SETTINGS.items():
        print(f"{name:32}{family:6}", end="", flush=True)
        cells = synthesise(setting, family)
        lut, ff, dsp = count(cells, "LUT", "INV", "SRL"), count(cells, "FD"), count(cells, "DSP")
        print(f"{lut:7,} LUT{lut_ram(cells, family):7,} LUTs of LUT RAM{ff:7,} FF{dsp:4} DSP")
        for fault in faults(setting, cells, family):
            wrong += 1
            print(f"  FAILED: {fault}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
