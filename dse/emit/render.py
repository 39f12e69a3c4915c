"""The few files of an emitted folder that are rendered as text; everything else is copied."""

from __future__ import annotations

import re
import string
import textwrap
from collections.abc import Sequence
from importlib.resources import files

from dse._version import __version__
from dse.device import Device
from dse.emit.chip import yosys_family
from dse.emit.design import Design
from dse.engine.layers import OPERATIONS

__all__ = ["TOP", "rendered"]

TOP = "dse_accelerator"
"""Module name of the emitted top."""


_WIDTH = 118
"""Columns of a paragraph."""


class _Template(string.Template):
    """``@{name}``, since ``$`` has a meaning in most of these files."""

    delimiter = "@"


def rendered(design: Design, sources: Sequence[str], simulation: Sequence[str]) -> dict[str, str]:
    """File -> text. ``sources`` are the copied RTL files in the order of compilation, ``simulation`` the others."""
    rtl = [*sources, f"rtl/{TOP}.v"]
    values = _values(design, rtl, simulation)
    names = {
        f"rtl/{TOP}.v": f"{TOP}.v",
        "filelist.f": "filelist.f",
        f"{TOP}.core": "fusesoc.core",
        "scripts/yosys.ys": "yosys.ys",
        "README.md": "README.md",
    }
    if design.device.vendor == "xilinx":
        names |= {"scripts/vivado.tcl": "vivado.tcl", "constraints/clock.xdc": "clock.xdc"}
    else:
        names |= {"constraints/clock.sdc": "clock.xdc"}  # Synopsys design constraints either way
    return {target: _text(template, values) for target, template in sorted(names.items())}


def _text(template: str, values: dict[str, str]) -> str:
    source = files("dse.rtl_templates") / "rendered" / f"{template}.tmpl"
    return _Template(source.read_text(encoding="utf-8")).substitute(values)


def _values(design: Design, rtl: Sequence[str], simulation: Sequence[str]) -> dict[str, str]:
    parameters, device = design.parameters, design.device
    width = max(map(len, parameters))
    return {
        "version": __version__,
        "title": design.title,
        "top": TOP,
        "part": _vivado_part(device.part),
        "device": device.name,
        "clock_hz": f"{device.clock_hz:.0f}",
        "clock_mhz": f"{device.clock_hz / 1e6:g}",
        "period_ns": f"{1e9 / device.clock_hz:.3f}",
        "addr_top": str(parameters["AddrWidth"] - 1),
        "data_top": str(parameters["DataWidth"] - 1),
        "strobe_top": str(parameters["DataWidth"] // 8 - 1),
        "parameters": ",\n".join(f"    .{name:<{width}}({value})" for name, value in parameters.items()),
        "parameter_rows": "\n".join(f"| `{name}` | {value} |" for name, value in parameters.items()),
        "lanes": f"{design.engine.lanes:,}",
        "file_lines": "\n".join(rtl),
        "core_files": "\n".join(f"      - {name}" for name in rtl),
        "core_simulation": "\n".join(f"      - {name}" for name in simulation),
        "tcl_files": " \\\n".join(f"  [file join $root {name}]" for name in rtl),
        "yosys_files": " ".join(rtl),
        "yosys_synthesis": _yosys(device),
        "training": _training(design),
    }


def _training(design: Design) -> str:
    """What the accelerator does with the network, in a paragraph of the README."""
    schedule, network = design.schedule, design.workload.network
    if schedule is None:
        layers = ", ".join(layer.name for layer in network.layers if layer.op in OPERATIONS)
        text = f"It runs single phases of {layers}; it does not train the network: {design.unscheduled}."
        return textwrap.fill(text, _WIDTH, break_on_hyphens=False)
    text = (
        f"It trains `{network.name}` with a batch of {design.workload.batch_size}: write the {len(schedule.words()):,} "
        f"words of `schedule/` to its memory, parameters and samples to DRAM where `design.json` says, and start it. "
        f"`dse.host.Accelerator` does that; `dse verify . --train 50` shows it in simulation. An iteration has "
        f"{len(schedule.steps)} steps and is predicted to take {schedule.cycles:,} cycles with an ideal memory. "
        f"Another network needs another schedule, and no synthesis as long as it fits."
    )
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False)


def _yosys(device: Device) -> str:
    """Yosys' synthesis command for the part."""
    if device.vendor != "xilinx":
        return f"synth -top {TOP}"
    return f"synth_xilinx -family {yosys_family(device.part)} -noiopad -top {TOP}"


def _vivado_part(part: str) -> str:
    """Vivado's name of an ordering code: XCZU9EG-2FFVB1156E is xczu9eg-ffvb1156-2-e, XC7Z045-2FFG900C xc7z045ffg900-2.

    A name that is neither, or lacks the package, is taken as it is.
    """
    series7 = re.fullmatch(r"(XC7\w+)-(\d)([A-Z]+\d+)[CIE]", part)
    if series7:
        return "{}{}-{}".format(*(series7[i].lower() for i in (1, 3, 2)))
    ultrascale = re.fullmatch(r"(XC\w+)-(L?)(\d)([A-Z]+\d+)([CIE])", part)
    if ultrascale:
        chip, low, speed, package, grade = ultrascale.groups()
        return f"{chip.lower()}-{package.lower()}-{speed}{low}-{grade.lower()}"
    chip, *rest = part.split("-")
    return "-".join([chip.lower(), *(word if word[0].isdigit() else word.lower() for word in rest)])
