"""Model parallelism by filters: a convolution cut into convolutions of some of its output channels each.

Every slice reads the whole map and makes its share of the output's channels; its share of the parameters goes with it,
so that slices on different boards divide a layer's DSP blocks, RAM and DRAM traffic. Channel-wise layers behind it are
cut with it; the maps meet in a layer that reduces over channels, or in a concat. The slices' gradients of the input are
added up where the map forks: an ``add`` of one map stands there, whose second adder sums (forward it changes nothing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.cluster.slices import channel_wise, share, sliced
from dse.network import Layer, Network

__all__ = ["FILTERS", "cut_filters", "filter_layers"]

FILTERS = "filters"
"""What stands behind a group's name where its convolutions are to be cut: ``block0:filters``."""

_REDUCING = ("conv", "fc", "concat")


def filter_layers(network: Network, members: frozenset[str], count: int) -> list[str]:
    """The layers of a group that can be cut into ``count`` slices: dense convolutions with so many output channels."""
    return [
        layer.name
        for layer in network.layers
        if layer.name in members and layer.op == "conv" and layer.groups == 1 and layer.out_shape[0] >= count
    ]


def cut_filters(network: Network, name: str, count: int) -> Network:
    """``network`` with the convolution ``name`` and the channel-wise layers behind it cut into ``count`` slices."""
    run = _run(network, name)
    readers = [layer for layer in network.layers if run[-1] in layer.inputs]
    joins = bool(readers) and all(layer.op in _REDUCING for layer in readers)
    ends = tuple(f"{run[-1]}.{number}" for number in range(count))
    layers: list[Layer] = []
    for layer in network.layers:
        if layer.name == name:
            layers += [_fork(layer), *(_filters(layer, number, count) for number in range(count))]
        elif layer.name in run:
            layers += [sliced(layer, run, number, count) for number in range(count)]
        else:
            inputs = [ends if joins and source == run[-1] else (source,) for source in layer.inputs]
            layers.append(replace(layer, inputs=tuple(one for group in inputs for one in group)))
        if layer.name == run[-1] and not joins:
            layers.append(_joined(layer, ends))
    note = f"{name} to {run[-1]}: {count} slices of its filters"
    return replace(network, layers=tuple(layers), notes=(*network.notes, note))


def _run(network: Network, name: str) -> list[str]:
    """The convolution and the channel-wise layers that alone read each other behind it."""
    run = [name]
    while True:
        readers = [layer for layer in network.layers if run[-1] in layer.inputs]
        if len(readers) != 1 or not channel_wise(readers[0]) or len(readers[0].inputs) != 1:
            return run
        run.append(readers[0].name)


def _fork(layer: Layer) -> Layer:
    """The map that all slices read, and the sum of their gradients."""
    return Layer(
        f"{layer.name}.fork",
        "add",
        layer.inputs,
        layer.in_shape,
        layer.in_shape,
        needs_input_grad=layer.needs_input_grad,
    )


def _filters(layer: Layer, number: int, count: int) -> Layer:
    """Slice ``number`` of a convolution's filters, its parameters shared out with the output channels."""
    channels = layer.out_shape[0]
    mine = share(channels, number, count)
    return replace(
        layer,
        name=f"{layer.name}.{number}",
        inputs=(f"{layer.name}.fork",),
        out_shape=(mine, *layer.out_shape[1:]),
        parameters=layer.parameters * mine // channels,
    )


def _joined(layer: Layer, ends: Sequence[str]) -> Layer:
    """The slices' maps as one again, under the name of the layer that made it."""
    return Layer(layer.name, "concat", tuple(ends), layer.out_shape, layer.out_shape)
