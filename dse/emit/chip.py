"""What the RTL of a design takes of its board's chip, and whether the chip has it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dse.device import Device
from dse.engine import EngineParameters
from dse.engine.resources import BufferRam, Resources, engine_resources, product_dsp, ram_resources
from dse.errors import InputError
from dse.schedule import Hardware

__all__ = ["accelerator_resources", "check_fits", "chip_resources", "fits", "units_resources", "yosys_family"]

_RECIPROCAL_BITS = 18
"""Of the pool unit's averages, signed (pool_pkg.sv)."""
_QUEUES = 2
"""Of the pool unit: results and indexes."""


def yosys_family(part: str) -> str:
    """``synth_xilinx``'s name of the family of an AMD part: series 7, or UltraScale+."""
    return "xc7" if part.upper().startswith("XC7") else "xcup"


def accelerator_resources(hardware: Hardware, schedule_depth: int, family: str) -> Resources:
    """All of an accelerator: the engine and what is beside it."""
    return engine_resources(hardware.engine, family) + units_resources(hardware, schedule_depth, family)


def units_resources(hardware: Hardware, schedule_depth: int, family: str) -> Resources:
    """What is beside the engine: the pool and the channel unit, and a sequencer of ``schedule_depth`` words.

    The other units have neither DSP blocks nor block RAM. LUT RAM is that of the pool unit's memories alone; the
    register files of channels, slots and counters are LUT RAM too and not counted.
    """
    engine, pool = hardware.engine, hardware.pool
    rams, dsp = [BufferRam("schedule", 1, 1, 32, schedule_depth)], 0
    if pool:
        cell_bits = pool.cell * pool.operand_bits
        rams.append(BufferRam("pool ring", 1, 2, cell_bits, pool.depth))
        rams.append(BufferRam("pool queues", _QUEUES, 1, cell_bits, pool.row_depth))
        sum_bits = pool.operand_bits + (pool.depth - 1).bit_length()
        dsp += pool.cell * product_dsp(sum_bits, _RECIPROCAL_BITS, family)
    if hardware.has_channel:
        dsp += _channel_dsp(engine, family)
    return ram_resources(rams, family) + Resources(dsp, 0, 0, 0)


def _channel_dsp(engine: EngineParameters, family: str) -> int:
    """Two products a lane, and one for each wide element of a beat (channel_lanes.sv, channel_wide.sv)."""
    bits = engine.operand_bits
    lanes = engine.data_bits // bits
    narrow = product_dsp(bits + 10, bits + 9, family) + product_dsp(2 * bits + 7, bits, family)
    return lanes * narrow + lanes // 4 * product_dsp(bits + 10, bits + 8, family)


def chip_resources(used: Resources, device: Device, operand_bits: int) -> dict[str, float]:
    """Resource -> what ``used`` takes: dsp, bram36, uram288 as the board counts them, and the blocks they are.

    AMD parts: ramb36 and ramb18, exactly what Yosys infers. Intel parts, for which there is no synthesis to compare
    with: m20k, of which each RAMB18 is one and each RAMB36 two (512 x 40, 1024 x 20 and so on), and DSP blocks of as
    many multipliers as the board's file says.
    """
    if device.vendor == "intel":
        cost = device.dsp_cost[f"int{operand_bits}"].multiplier_dsp
        blocks = {"m20k": 2 * used.ramb36 + used.ramb18}
        return {"dsp": math.ceil(used.dsp * cost), "bram36": used.bram36, "uram288": 0, **blocks}
    blocks = {"ramb36": used.ramb36, "ramb18": used.ramb18}
    return {"dsp": used.dsp, "bram36": used.bram36, "uram288": used.uram, **blocks}


def check_fits(
    used: Resources,
    device: Device,
    operand_bits: int,
    resources: Sequence[str] = ("dsp", "bram36"),
    note: str = "",
) -> None:
    """Raises InputError naming the first of ``resources`` of which ``used`` has more than a design may take."""
    taken = chip_resources(used, device, operand_bits)
    for name in resources:
        usable = device.capacity[name] * device.usable[name]
        if taken[name] > usable:
            rule = f"the RTL takes more {name} than a design may{note}"
            raise InputError(device.name, rule, taken[name], f"{usable:g}")


def fits(used: Resources, device: Device, operand_bits: int) -> bool:
    """Whether the chip has the DSP blocks and block RAMs of ``used``."""
    try:
        check_fits(used, device, operand_bits)
    except InputError:
        return False
    return True
