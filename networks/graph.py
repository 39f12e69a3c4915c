"""From layers as written to a ``Network``: order, cycles, dangling outputs, shapes and who needs an input gradient."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from dse.errors import InputError, did_you_mean
from dse.network import Layer, Network, Shape
from dse.networks.layer_spec import LayerSpec
from dse.networks.shapes import MAX_ELEMENTS, OPERATIONS, infer_layer

__all__ = ["INPUT", "build_network"]

INPUT = "input"
"""The name by which layers read the network's input."""


def build_network(
    name: str,
    source: str,
    input_shape: Shape,
    specs: Sequence[LayerSpec],
    where: str,
    path: str = "",
    digest: str = "",
    notes: tuple[str, ...] = (),
) -> Network:
    """The network of ``specs``, which may be in any order, fed with samples of shape (channels, height, width).

    Layers come out in topological order, in the order given where that is one. ``where`` (a file) opens every
    message. Raises InputError for an empty network, a name used twice, an unknown input, a cycle, an output that nobody
    reads, a loss that is read or is not the only one, and whatever ``infer_layer`` refuses.
    """
    _check_names(specs, where)
    c, h, w = input_shape
    if c * h * w > MAX_ELEMENTS:
        raise InputError(f"{where}: input", "elements beyond the limit", c * h * w, f"up to {MAX_ELEMENTS}")
    ordered = _sort(specs, where)
    _check_outputs(specs, where)
    shapes: dict[str, Shape] = {INPUT: input_shape}
    trained = {INPUT: False}
    layers: list[Layer] = []
    for spec in ordered:
        layer = infer_layer(spec, [shapes[source] for source in spec.inputs], f"{where}: layer {spec.name}")
        layers.append(_with_gradients(layer, [trained[source] for source in spec.inputs]))
        shapes[spec.name] = layer.out_shape
        trained[spec.name] = layer.parameters > 0 or any(trained[source] for source in spec.inputs)
    return Network(name, source, input_shape, tuple(layers), path, digest, notes)


def _with_gradients(layer: Layer, trained: Sequence[bool]) -> Layer:
    """``layer`` with the gradients that somebody reads, where ``trained`` says which inputs depend on parameters."""
    if layer.op == "matmul":
        return replace(layer, needs_input_grad=trained[0], needs_weight_grad=trained[1])
    return replace(layer, needs_input_grad=any(trained) and layer.op != "embedding")


def _check_names(specs: Sequence[LayerSpec], where: str) -> None:
    if not specs:
        raise InputError(where, "a network needs at least one layer")
    for name, count in Counter(spec.name for spec in specs).items():
        if count > 1 or name == INPUT:
            rule = f"is the name of {count} layers" if count > 1 else "is the name of the network's input"
            raise InputError(f"{where}: layer {name}: name", rule, name, "a name of its own for each layer")
    known = {INPUT, *(spec.name for spec in specs)}
    for spec in specs:
        for source in spec.inputs:
            if source not in known:
                raise InputError(
                    f"{where}: layer {spec.name}: from", "unknown layer", source, did_you_mean(source, known)
                )


def _sort(specs: Sequence[LayerSpec], where: str) -> list[LayerSpec]:
    """Topological order that takes, of the layers that can go next, the one given first."""
    position = {spec.name: number for number, spec in enumerate(specs)}
    sorter = TopologicalSorter({spec.name: [s for s in spec.inputs if s != INPUT] for spec in specs})
    try:
        sorter.prepare()
    except CycleError as error:
        raise InputError(f"{where}: layers", "form a cycle", " -> ".join(error.args[1])) from error
    ready: list[int] = []
    ordered: list[LayerSpec] = []
    while sorter.is_active():
        for name in sorter.get_ready():
            heapq.heappush(ready, position[name])
        ordered.append(specs[heapq.heappop(ready)])
        sorter.done(ordered[-1].name)
    return ordered


def _check_outputs(specs: Sequence[LayerSpec], where: str) -> None:
    """Every layer is read, except the loss or, in a network without one, the last layer given."""
    losses = [spec.name for spec in specs if spec.op in OPERATIONS and OPERATIONS[spec.op].is_loss]
    if len(losses) > 1:
        raise InputError(f"{where}: layers", "a network has one loss", ", ".join(losses))
    end = losses[0] if losses else specs[-1].name
    read = {source for spec in specs for source in spec.inputs}
    if end in losses and end in read:
        reader = next(spec.name for spec in specs if end in spec.inputs)
        raise InputError(f"{where}: layer {reader}: from", "reads the loss, which ends the network", end)
    for spec in specs:
        if spec.name not in read and spec.name != end:
            raise InputError(
                f"{where}: layer {spec.name}", "no layer reads its output", allowed=f"only {end!r} may end"
            )
