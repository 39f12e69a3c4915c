"""The layers of a network that the engine runs, as the convolutions that it knows."""

from __future__ import annotations

from dataclasses import dataclass

from dse.engine.nest import Convolution, PhaseNest, phase_nest
from dse.errors import InputError
from dse.golden import Window
from dse.network import MAC_OPERATIONS, Layer, Network

__all__ = ["ALIASES", "OPERATIONS", "EngineLayer", "engine_layers"]

ALIASES = ("flatten", "dropout")
"""Operations whose output is their input as stored, so that it has no region of its own."""
OPERATIONS = ("conv", "fc")
"""Operations that the engine has; the other ones with multiplications have no RTL."""


@dataclass(frozen=True)
class EngineLayer:
    """A layer, the convolution that it is to the engine, and the phases that training needs of it."""

    layer: Layer
    conv: Convolution
    source: str
    """Layer whose activation it reads, or ``"input"``."""

    @property
    def phases(self) -> tuple[str, ...]:
        """Of forward, input_grad and weight_grad."""
        return ("forward", *(("input_grad",) if self.layer.needs_input_grad else ()), "weight_grad")

    def nest(self, phase: str, channel_block: int) -> PhaseNest:
        """The loop nest of one phase."""
        return phase_nest(self.conv, phase, channel_block)


def engine_layers(network: Network, batch_size: int) -> tuple[EngineLayer, ...]:
    """The engine's layers in order. A fully connected layer is a kernel that covers the map that it reads.

    Raises InputError naming a layer whose operation multiplies and has no RTL, or whose form the engine lacks.
    """
    aliases: dict[str, str] = {}
    shapes = {"input": network.input_shape}
    found = []
    for layer in network.layers:
        read = next(iter(layer.inputs), "")  # a learned map reads nothing
        source = aliases.get(read, read)
        shapes[layer.name] = layer.out_shape
        if layer.op in ALIASES:
            aliases[layer.name] = source
        elif layer.op in MAC_OPERATIONS:
            found.append(EngineLayer(layer, _convolution(layer, shapes[source], batch_size), source))
    return tuple(found)


def _convolution(layer: Layer, stored: tuple[int, int, int], batch_size: int) -> Convolution:
    if layer.op not in OPERATIONS:
        raise InputError(f"layer {layer.name}", "the RTL has no such operation", layer.op, ", ".join(OPERATIONS))
    channels, *size = stored
    window = Window((size[0], size[1])) if layer.op == "fc" else Window.of(layer)
    try:
        return Convolution(batch_size, channels, layer.out_shape[0], (size[0], size[1]), window)
    except InputError as error:
        raise InputError(f"layer {layer.name}", str(error)) from error
