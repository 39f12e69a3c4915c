"""The state of an ONNX import: what each tensor of the graph is, and the attributes of a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.errors import InputError
from dse.networks.imported import Builder
from dse.networks.onnx_layout import Map, fresh

__all__ = ["MAX_VALUES", "Known", "Node", "State"]

MAX_VALUES = 4096
"""Elements up to which a constant's values are kept."""


@dataclass(frozen=True, slots=True)
class Known:
    """A tensor that does not depend on the input: a weight (dimensions only), or a small constant with ``values``.

    ``elements`` counts those of the initialiser that it is a part or a repetition of, 0 where there is none.
    """

    shape: tuple[int, ...]
    values: NDArray[Any] | None = None
    elements: int = 0


class Node:
    """One node: its inputs, attributes and the words that name it in a message."""

    def __init__(self, proto: Any, number: int, opset: int, where: str) -> None:
        self.op: str = proto.op_type
        self.opset = opset
        self.name: str = proto.name or f"{proto.op_type}_{number}"
        self.inputs: list[str] = list(proto.input)
        self.outputs: list[str] = list(proto.output)
        self.where = f"{where}: node {self.name[:100]} ({self.op[:60]}, opset {opset})"
        self._attributes = {attribute.name: attribute for attribute in proto.attribute}

    def error(self, rule: str, got: object = None, allowed: object = None) -> InputError:
        """An InputError that names this node."""
        return InputError(self.where, rule, got, allowed)

    def integer(self, name: str, default: int) -> int:
        """A whole number."""
        return int(self._attributes[name].i) if name in self._attributes else default

    def real(self, name: str, default: float) -> float:
        """A number."""
        return float(self._attributes[name].f) if name in self._attributes else default

    def integers(self, name: str) -> tuple[int, ...] | None:
        """A list of whole numbers; None where absent."""
        return tuple(int(i) for i in self._attributes[name].ints) if name in self._attributes else None

    def text(self, name: str, default: str) -> str:
        """A string."""
        return self._attributes[name].s.decode("utf-8", "replace") if name in self._attributes else default

    def attribute(self, name: str) -> Any:
        """The protobuf of an attribute; None where absent."""
        return self._attributes.get(name)

    def attribute_names(self) -> list[str]:
        """Names of the attributes present."""
        return list(self._attributes)


class State:
    """Tensors by name, and the layers emitted so far."""

    def __init__(self, builder: Builder, readers: Counter[str]) -> None:
        self.builder = builder
        self.readers = readers
        self.tensors: dict[str, Known | Map] = {}
        self.made_by: dict[str, Node] = {}
        self._stored: dict[tuple[object, ...], tuple[Map, str]] = {}

    def get(self, node: Node, position: int) -> Known | Map | None:
        """What input ``position`` of ``node`` is; None where it is left out."""
        if position >= len(node.inputs) or not node.inputs[position]:
            return None
        name = node.inputs[position]
        if name not in self.tensors:
            raise node.error("reads a tensor that nothing before it computes", name)
        return self.tensors[name]

    def map(self, node: Node, position: int = 0) -> Map:
        """Input ``position``, which must depend on the network's input."""
        value = self.get(node, position)
        if not isinstance(value, Map):
            raise node.error("is supported on a computed tensor only", f"input {position} constant or left out")
        return value

    def known(self, node: Node, position: int) -> Known | None:
        """Input ``position``, which must not depend on the network's input; None where it is left out."""
        value = self.get(node, position)
        if isinstance(value, Map):
            raise node.error(
                f"input {position} is computed from the network's input", node.inputs[position], "a constant"
            )
        return value

    def numbers(self, node: Node, position: int) -> list[int] | None:
        """Input ``position`` as whole numbers; None where it is left out."""
        known = self.known(node, position)
        if known is None:
            return None
        if known.values is None:
            raise node.error(f"input {position} has no known values", node.inputs[position], "a small constant")
        return [int(i) for i in np.ravel(known.values)]

    def emit(self, node: Node, op: str, maps: list[Map], suffix: str = "", **attributes: Any) -> str:
        """Emit a layer for ``node``; returns its name."""
        sources = [one.layer for one in maps]
        return self.builder.emit(node.name + suffix, op, sources, node.where, **attributes)

    def layer_map(self, layer: str, rank: int, channel: int, batch: int) -> Map:
        """The tensor of ``rank`` axes that ``layer`` computes, from its (channels, height, width)."""
        channels, height, width = self.builder.shapes[layer]
        spatial = [height, width][4 - rank :] if rank < 5 else [height, width]
        shape = [batch, *spatial]
        shape.insert(channel, channels)
        return fresh(layer, shape, channel)

    def relabel(self, node: Node, source: Map, shape: Sequence[int]) -> Map:
        """``source`` seen as ``shape``: a name, or a layer where axes are cut across the order of elements."""
        if any(size < 1 for size in shape):
            raise node.error("gives an empty tensor", tuple(shape), "sizes of at least 1")
        seen = source.reshaped(shape)
        if seen is not None:
            return seen
        if not source.batch_front or shape[0] != source.shape[0]:
            raise node.error("moves elements between the batch and other axes", (source.shape, tuple(shape)))
        channel = 1 if len(shape) > 1 else 0
        target = fresh("", shape, channel)
        layer = self.emit(node, "reshape", [source], shape=target.stored_shape((channel,)))
        return fresh(layer, shape, channel)

    def with_channels(self, node: Node, source: Map, channels: Sequence[int], ordered: bool = False) -> Map:
        """``source`` stored with the axes ``channels`` as its channels, moved in memory where it is stored otherwise.

        With ``ordered`` its pixels are in the order of the other axes, and its height and width are those.
        """
        shape = source.stored_shape(channels)
        stored = source.stored(channels, ordered)
        if stored and (not ordered or self.builder.shapes[source.layer] == shape):
            return source
        if source.batch_axis in channels and any(atom.batch for axis in channels for atom in source.axes[axis]):
            raise node.error("has the batch among its channels, which is not supported", source.shape)
        wanted = source.as_stored("", channels)
        key = source.layer, tuple(map(id, wanted.channels)), tuple(map(id, wanted.pixels)), shape
        if key not in self._stored:
            in_order = source.channels + source.pixels == wanted.channels + wanted.pixels
            # Everything as channels: what reads it learns weights for whatever order there is.
            op = "flatten" if shape[1:] == (1, 1) else "reshape" if in_order else "transpose"
            attributes = {} if op == "flatten" else {"shape": shape}
            suffix = "_transpose" if op == "transpose" else ""
            self._stored[key] = wanted, self.emit(node, op, [source], suffix, **attributes)
        return source.as_stored(self._stored[key][1], channels)

    def alike(self, node: Node, source: Map, other: Map) -> Map:
        """``source``, a tensor of the same shape as ``other``, stored as that one is."""
        same = source.signature() == other.signature()
        shape = self.builder.shapes[other.layer]
        if same and self.builder.shapes[source.layer] == shape:
            return source
        op = "reshape" if same else "transpose"
        layer = self.emit(node, op, [source], f"_{op}", shape=shape)
        return Map(layer, other.axes, other.channels, other.pixels)
