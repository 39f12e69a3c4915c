"""The accelerator's parameters from a point, and whether it can run every layer of the network."""

from __future__ import annotations

import math

from dse.device import Device
from dse.emit.buffers import with_buffers
from dse.emit.chip import units_resources, yosys_family
from dse.engine import MOST_WORDS, EngineParameters, fit_tiling
from dse.engine.layers import engine_layers
from dse.errors import InputError
from dse.rtl_shape import AXES, BUFFERS, RtlShape
from dse.schedule import Hardware, Schedule, least_hardware
from dse.workload import Workload

__all__ = ["ADDR_WIDTH", "INTEGERS", "accelerator_parameters", "engine_parameters", "point_engine"]

INTEGERS = ("int8", "int16")
"""Number formats that the engine's lanes have."""

ADDR_WIDTH = 40
"""Bits of a DRAM address: what the ports of Zynq UltraScale+ to the processing system have (UG1085, table 35-1)."""


LEAST_SCHEDULE = {"ScheduleDepth": 1024, "Slots": 64, "Counters": 128}
"""Words, slots and counters of a sequencer for networks that are small, or that it cannot train."""


def engine_parameters(
    shape: RtlShape,
    workload: Workload,
    device: Device,
    schedule_depth: int = LEAST_SCHEDULE["ScheduleDepth"],
) -> EngineParameters:
    """The engine of a point; depths of its buffers as ``with_buffers`` has them.

    The board must have room for the other units of the accelerator too, with a sequencer of ``schedule_depth`` words.

    Raises InputError naming the point's parameters and the rule that they break: of the RTL, or of the board.
    """
    layers = engine_layers(workload.network, workload.batch_size)
    hw = point_engine(shape, workload, device)
    try:
        units = least_hardware(workload.network, hw)
        beside = units_resources(units, schedule_depth, yosys_family(device.part))
        hw = with_buffers(hw, shape, layers, device, beside)
        for layer in layers:
            for phase in layer.phases:
                fit_tiling(hw, layer.nest(phase, hw.channel_block))
    except InputError as error:
        raise InputError(_named(shape), f"the RTL cannot realise this point: {error}") from error
    return hw


def point_engine(shape: RtlShape, workload: Workload, device: Device) -> EngineParameters:
    """The engine of a point with the point's own depths, whatever the layers need. Raises InputError likewise."""
    precision = workload.precision
    if precision.name not in INTEGERS:
        raise InputError("precision", "the RTL has integer lanes only", precision.name, ", ".join(INTEGERS))
    lanes = {axis: shape.unroll.get(axis, ("", 1))[1] for axis in AXES}
    try:
        return EngineParameters(
            **{f"u{axis}": lanes[axis] for axis in AXES},
            channel_block=1 if shape.planar else math.gcd(lanes["m"], lanes["n"]),
            operand_bits=precision.bits,
            data_bits=_data_bits(device),
            **{
                f"{buffer}_depth": min(shape.depth[buffer][1], MOST_WORDS)
                for buffer in BUFFERS
                if buffer in shape.depth
            },
        )
    except InputError as error:
        raise InputError(_named(shape), f"the RTL cannot realise this point: {error}") from error


def accelerator_parameters(hardware: Hardware, schedule: Schedule | None) -> dict[str, int]:
    """Parameter of ``accelerator.sv`` -> value; the sequencer's are powers of two that ``schedule`` fits."""
    needs = dict(LEAST_SCHEDULE)
    if schedule is not None:
        found = {"ScheduleDepth": len(schedule.words()), "Slots": schedule.tensors.slots, "Counters": schedule.counters}
        needs = {name: max(least, 1 << (found[name] - 1).bit_length()) for name, least in needs.items()}
    return {**hardware.engine.verilog(), **hardware.verilog(), "AddrWidth": ADDR_WIDTH, **needs}


def _named(shape: RtlShape) -> str:
    """The point's parameters, and what the template calls them."""
    axes = [f"{name}={value} (u{axis})" for axis, (name, value) in shape.unroll.items()]
    depths = [f"{name}={value} ({buffer}_depth)" for buffer, (name, value) in shape.depth.items()]
    return f"point {', '.join([*axes, *depths])}"


def _data_bits(device: Device) -> int:
    """Bits of a port: the largest power of two within the board's; AXI4 has 8 to 1024 (ARM IHI 0022, A1.3.1)."""
    width: int = 1 << max(device.dma_port_bits, 32).bit_length() - 1
    return min(width, 1024)
