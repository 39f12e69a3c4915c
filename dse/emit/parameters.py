"""The accelerator's parameters from a point, and whether it can run every layer of the network."""

from __future__ import annotations

import math
from dataclasses import replace

from dse.device import Device
from dse.emit.layers import EngineLayer
from dse.engine import EngineParameters, Tiling, buffer_words, fit_tiling
from dse.errors import InputError
from dse.rtl_shape import AXES, BUFFERS, RtlShape
from dse.workload import Precision

__all__ = ["ADDR_WIDTH", "INTEGERS", "accelerator_parameters", "engine_parameters"]

INTEGERS = ("int8", "int16")
"""Number formats that the engine's lanes have."""

ADDR_WIDTH = 40
"""Bits of a DRAM address: what the ports of Zynq UltraScale+ to the processing system have (UG1085, table 35-1)."""

LEAST_DEPTH = 512
"""Words of half a buffer whose depth is no parameter of the family: a RAMB36 holds twice as many of 36 bits."""


def engine_parameters(
    shape: RtlShape, precision: Precision, device: Device, layers: tuple[EngineLayer, ...]
) -> EngineParameters:
    """The engine of a point. Raises InputError naming the point's parameter and the rule that it breaks.

    Buffers whose depth is no parameter of the point get the least power of two that every layer's smallest tile fits.
    """
    if precision.name not in INTEGERS:
        raise InputError("precision", "the RTL has integer lanes only", precision.name, ", ".join(INTEGERS))
    lanes = {axis: shape.unroll.get(axis, ("", 1))[1] for axis in AXES}
    try:
        hw = EngineParameters(
            **{f"u{axis}": lanes[axis] for axis in AXES},
            channel_block=1 if shape.planar else math.gcd(lanes["m"], lanes["n"]),
            operand_bits=precision.bits,
            data_bits=_data_bits(device),
            **{f"{buffer}_depth": shape.depth[buffer][1] for buffer in BUFFERS if buffer in shape.depth},
        )
        hw = _with_free_depths(hw, shape, layers)
        for layer in layers:
            for phase in layer.phases:
                fit_tiling(hw, layer.nest(phase, hw.channel_block))
    except InputError as error:
        raise InputError(_named(shape), f"the RTL cannot realise this point: {error}") from error
    return hw


def accelerator_parameters(hw: EngineParameters) -> dict[str, int]:
    """Parameter of ``accelerator.sv`` -> value."""
    return {**hw.verilog(), "AddrWidth": ADDR_WIDTH}


def _with_free_depths(hw: EngineParameters, shape: RtlShape, layers: tuple[EngineLayer, ...]) -> EngineParameters:
    nests = [layer.nest(phase, hw.channel_block) for layer in layers for phase in layer.phases]
    need = [buffer_words(hw, nest, Tiling()) for nest in nests]
    depths = {}
    for number, buffer in enumerate(BUFFERS):
        if buffer not in shape.depth:
            words = max([LEAST_DEPTH, *(row[number] for row in need)])
            depths[f"{buffer}_depth"] = 1 << (words - 1).bit_length()
    return replace(hw, **depths)


def _named(shape: RtlShape) -> str:
    """The point's parameters, and what the template calls them."""
    axes = [f"{name}={value} (u{axis})" for axis, (name, value) in shape.unroll.items()]
    depths = [f"{name}={value} ({buffer}_depth)" for buffer, (name, value) in shape.depth.items()]
    return f"point {', '.join([*axes, *depths])}"


def _data_bits(device: Device) -> int:
    """Bits of a port: the largest power of two within the board's; AXI4 has 8 to 1024 (ARM IHI 0022, A1.3.1)."""
    width: int = 1 << max(device.dma_port_bits, 32).bit_length() - 1
    return min(width, 1024)
