"""Synthesis of whole accelerators by Yosys, up to DSP blocks and memories: as many as ``dse emit`` says.

python -m tests.rtl.accelerator_synthesis [--family xc7|xcup] [SETTING ...]
"""

from __future__ import annotations

import argparse
import sys

import dse
from dse.emit.chip import accelerator_resources
from dse.emit.parameters import accelerator_parameters
from dse.engine import EngineParameters
from dse.engine.resources import LUT_RAM
from dse.schedule import least_hardware
from tests.rtl.engine_synthesis import ENGINE, count, yosys

SETTINGS = {
    "lenet10 int8": ("lenet10", EngineParameters(um=4, un=6, channel_block=2)),
    "resnet20 int8": ("resnet20_cifar10", EngineParameters(ub=3, um=2, un=4, channel_block=2, sum_depth=700)),
    "resnet20 int16": ("resnet20_cifar10", EngineParameters(um=3, un=3, channel_block=3, operand_bits=16)),
    "alexnet int16": ("alexnet", EngineParameters(um=2, un=2, ur=2, uc=3, channel_block=1, operand_bits=16)),
}
"""Name -> network, whose units are there, and engine."""
FOLDERS = ("lib", "engine", "vector", "sequencer", "top")


def faults(name: str, family: str) -> list[str]:
    """Where the counts of a setting differ; prints them."""
    network, engine = SETTINGS[name]
    hardware = least_hardware(dse.load_network(network), engine)
    parameters = accelerator_parameters(hardware, None)
    said = accelerator_resources(hardware, parameters["ScheduleDepth"], family)
    sources = [path for folder in FOLDERS for path in (ENGINE.parent / folder).glob("*.sv")]
    sources.sort(key=lambda path: (not path.stem.endswith("_pkg"), path.name))
    values = " ".join(f"-G {key}={value}" for key, value in parameters.items())
    script = (
        f"read_slang --threads 1 --top accelerator {values} {' '.join(path.name for path in sources)}; "
        f"synth_xilinx -family {family} -noiopad -top accelerator -run begin:fine; tee -q -o cells.json stat -json"
    )
    cells = yosys(sources, script, "cells.json")["design"]["num_cells_by_type"]
    found = []
    for what, expected in (("DSP", said.dsp), ("RAMB36", said.ramb36), ("RAMB18", said.ramb18), ("URAM", said.uram)):
        got = count(cells, what)
        print(f"{got:5} {what}", end="")
        if got != expected:
            found.append(f"{name} on {family}: {got} {what}, expected {expected}")
    print()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", default=list(SETTINGS), metavar="SETTING", help="default: all")
    parser.add_argument("--family", choices=tuple(LUT_RAM), default="xc7")
    arguments = parser.parse_args()
    if set(arguments.settings) - set(SETTINGS):
        parser.error(f"choices: {', '.join(SETTINGS)}")
    wrong = []
    for name in arguments.settings:
        print(f"{name:18}{arguments.family:6}", end="", flush=True)
        wrong += faults(name, arguments.family)
    for fault in wrong:
        print(f"FAILED: {fault}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
