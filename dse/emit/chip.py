"""What the RTL of a design takes of its board's chip, and whether the chip has it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from dse.device import Device
from dse.engine import EngineParameters
from dse.engine.resources import engine_resources
from dse.errors import InputError

__all__ = ["check_fits", "chip_resources", "fits", "yosys_family"]


def yosys_family(part: str) -> str:
    """``synth_xilinx``'s name of the family of an AMD part: series 7, or UltraScale+."""
    return "xc7" if part.upper().startswith("XC7") else "xcup"


def chip_resources(hw: EngineParameters, device: Device) -> dict[str, float]:
    """Resource -> what the engine takes: dsp, bram36, uram288 as the board counts them, and the blocks they are.

    AMD parts: ramb36, ramb18, lut_ram (LUTs), exactly what Yosys infers. Intel parts, for which there is no synthesis
    to compare with: m20k, of which each of the engine's RAMB18 is one and each RAMB36 two (512 x 40, 1024 x 20 and so
    on), and DSP blocks of as many multipliers as the board's file says.
    """
    used = engine_resources(hw, yosys_family(device.part))
    if device.vendor == "intel":
        cost = device.dsp_cost[f"int{hw.operand_bits}"].multiplier_dsp
        blocks = {"m20k": 2 * used.ramb36 + used.ramb18}
        return {"dsp": math.ceil(used.dsp * cost), "bram36": used.bram36, "uram288": 0, **blocks}
    blocks = {name: count for name, count in asdict(used).items() if name in ("ramb36", "ramb18", "lut_ram")}
    return {"dsp": used.dsp, "bram36": used.bram36, "uram288": used.uram, **blocks}


def check_fits(
    hw: EngineParameters, device: Device, resources: Sequence[str] = ("dsp", "bram36"), note: str = ""
) -> None:
    """Raises InputError naming the first of ``resources`` of which the engine takes more than a design may."""
    used = chip_resources(hw, device)
    for name in resources:
        usable = device.capacity[name] * device.usable[name]
        if used[name] > usable:
            rule = f"the RTL takes more {name} than a design may{note}"
            raise InputError(device.name, rule, used[name], f"{usable:g}")


def fits(hw: EngineParameters, device: Device) -> bool:
    """Whether the chip has the engine's DSP blocks and memories."""
    try:
        check_fits(hw, device)
    except InputError:
        return False
    return True
