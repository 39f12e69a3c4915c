"""Model parallelism as a change of the network: runs of channel-wise layers cut into slices of their channels.

NADA (2023, section V) slices the output of the first convolution of a bottleneck and processes the slices in separate
layers; they share no parameters, so that placing them is layer parallelism again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dse.cluster.filter_slices import FILTERS, cut_filters, filter_layers
from dse.cluster.slices import channel_wise, sliced
from dse.errors import InputError, did_you_mean
from dse.network import Layer, Network

__all__ = ["MAX_SLICES", "layer_groups", "slice_groups"]

MAX_SLICES = 16


def slice_groups(network: Network, slices: Mapping[str, int]) -> Network:
    """``network`` with the channel-wise runs of each group of ``slices`` (group -> number of slices) cut.

    A group is a layer or a prefix of layer names up to an underscore, as ``block0``; ``block0:filters`` cuts its dense
    convolutions by their output channels. Raises InputError for an unknown group, a number out of range, or a group
    without a run or convolution that can be cut.
    """
    for group, count in slices.items():
        where = f"--model-parallel {group}:{count}"
        name, _, filters = group.partition(f":{FILTERS}")
        members = layer_groups(network).get(name)
        if members is None or filters:
            raise InputError(where, "unknown group of layers", group, did_you_mean(name, layer_groups(network)))
        if not 1 <= count <= MAX_SLICES:
            raise InputError(where, "slices are out of range", count, f"1 to {MAX_SLICES}")
        network = (
            _cut_filters(network, group, members, count) if name != group else _cut_runs(network, group, members, count)
        )
    return network


def _cut_runs(network: Network, group: str, members: frozenset[str], count: int) -> Network:
    runs = [run for run in _runs(network, members) if count <= network[run[0]].in_shape[0]]
    if not runs:
        where = f"--model-parallel {group}:{count}"
        raise InputError(where, "has no channel-wise run (normalisation to depthwise) of so many channels", group)
    for run in runs if count > 1 else []:
        network = _cut(network, run, count)
    return network


def _cut_filters(network: Network, group: str, members: frozenset[str], count: int) -> Network:
    names = filter_layers(network, members, count)
    if not names:
        where = f"--model-parallel {group}:{count}"
        raise InputError(where, "has no convolution of so many filters", group)
    for name in names if count > 1 else []:
        network = cut_filters(network, name, count)
    return network


def layer_groups(network: Network) -> dict[str, frozenset[str]]:
    """Group name -> its layers: every layer by itself, and every prefix up to an underscore that several share."""
    groups: dict[str, set[str]] = {layer.name: {layer.name} for layer in network.layers}
    for layer in network.layers:
        parts = layer.name.split("_")
        for end in range(1, len(parts)):
            groups.setdefault("_".join(parts[:end]), set()).add(layer.name)
    return {name: frozenset(members) for name, members in groups.items()}


def _runs(network: Network, members: frozenset[str]) -> list[list[str]]:
    """Chains of channel-wise layers of the group that hold a depthwise convolution or a normalisation."""
    readers: dict[str, list[str]] = {}
    for layer in network.layers:
        for source in layer.inputs:
            readers.setdefault(source, []).append(layer.name)
    runs: list[list[str]] = []
    at: dict[str, list[str]] = {}
    for layer in network.layers:
        if layer.name not in members or not channel_wise(layer) or len(layer.inputs) != 1:
            continue
        before = layer.inputs[0]
        run = at.get(before)
        if run is not None and len(readers[before]) == 1:
            run.append(layer.name)
        else:
            run = [layer.name]
            runs.append(run)
        at[layer.name] = run
    return [r for r in runs if any(network[n].op == "conv" for n in r) and _joins(network, readers, r[-1])]


def _joins(network: Network, readers: Mapping[str, Sequence[str]], last: str) -> bool:
    """Whether the slices meet in layers that reduce over channels, which read several maps as one."""
    names = readers.get(last, [])
    return bool(names) and all(network[name].op in ("conv", "fc", "concat") for name in names)


def _cut(network: Network, run: Sequence[str], count: int) -> Network:
    layers: list[Layer] = []
    ends = tuple(f"{run[-1]}.{number}" for number in range(count))
    for layer in network.layers:
        if layer.name in run:
            layers += [sliced(layer, run, number, count) for number in range(count)]
        else:
            inputs = [ends if source == run[-1] else (source,) for source in layer.inputs]
            layers.append(replace(layer, inputs=tuple(name for group in inputs for name in group)))
    return replace(network, layers=tuple(layers), notes=(*network.notes, f"{run[0]} to {run[-1]}: {count} slices"))
