"""All units of an accelerator with their parameter values, as a schedule needs to know them."""

from __future__ import annotations

from dataclasses import dataclass

from dse.engine import EngineParameters
from dse.errors import InputError
from dse.network import Layer, Network
from dse.vector import PoolParameters
from dse.vector.pool_hardware import DEEPEST

__all__ = ["POOLS", "Hardware", "least_hardware", "least_port_bits"]

POOLS = ("max_pool", "avg_pool", "global_avg_pool")
"""Operations of the pool unit."""
CHANNEL_OPERATIONS = ("bias", "batch_norm")
"""Operations of the channel unit, beside biases of convolutions."""
MOMENTUM = "momentum"
"""The optimiser with velocities."""
_AHEAD = 2
"""Steps of the window, beyond one window, that the ring of rows can hold: loading and computing overlap."""


@dataclass(frozen=True)
class Hardware:
    """The engine, and the vector units; None for one that is left out."""

    engine: EngineParameters
    pool: PoolParameters | None = None
    has_channel: bool = False
    has_momentum: bool = False

    def __post_init__(self) -> None:
        """Raise InputError for a channel unit on a port that its RTL refuses."""
        need = least_port_bits(self.engine)
        if self.has_channel and self.engine.data_bits < need:
            raise InputError(
                "channel unit", "a sum is wider than a beat", self.engine.data_bits, f"{need} or more bits"
            )

    def verilog(self) -> dict[str, int]:
        """Parameters of ``accelerator.sv`` that say which units there are and how deep their memories; 0: absent."""
        pool = self.pool
        return {
            "PoolDepth": pool.depth if pool else 0,
            "PoolRowDepth": pool.row_depth if pool else 0,
            "ChannelUnit": int(self.has_channel),
            "Momentum": int(self.has_momentum),
        }


def least_port_bits(engine: EngineParameters) -> int:
    """Bits of the narrowest port of a channel unit: a sum, as ``channel_unit.sv`` checks it."""
    return 8 * engine.wide_bytes


def least_hardware(network: Network, engine: EngineParameters, optimiser: str = "sgd") -> Hardware:
    """The units that ``network`` needs beside ``engine``, with the smallest memories that keep them busy.

    Without a channel unit where the port is too narrow for it.
    """
    pools = [layer for layer in network.layers if layer.op in POOLS]
    has_channel = any(layer.bias or layer.op in CHANNEL_OPERATIONS for layer in network.layers)
    fits = engine.data_bits >= least_port_bits(engine)
    has_momentum = optimiser == MOMENTUM
    return Hardware(engine, _pool(engine, pools) if pools else None, has_channel and fits, has_momentum)


def _pool(engine: EngineParameters, layers: list[Layer]) -> PoolParameters:
    depth = row_depth = 4
    for layer in layers:
        (_, height, width), (_, out_height, out_width) = layer.in_shape, layer.out_shape
        forward = min(layer.kernel[0] + _AHEAD * layer.stride[0], height) * width
        windows = -(-layer.kernel[0] // layer.stride[0])
        backward = min(windows + _AHEAD, out_height) * out_width
        depth, row_depth = max(depth, forward, backward, width), max(row_depth, out_width)
    depth, row_depth = (
        _power(min(cells, DEEPEST)) for cells in (depth, row_depth)
    )  # a layer beyond is refused by name
    return PoolParameters(engine.ub, engine.channel_block, engine.operand_bits, depth, row_depth, engine.data_bits)


def _power(value: int) -> int:
    return 1 << (value - 1).bit_length()
