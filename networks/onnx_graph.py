"""The state of an ONNX import: what each tensor of the graph is, and the attributes of a node."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.errors import InputError
from dse.network import Shape
from dse.networks.imported import Builder

__all__ = ["MAX_VALUES", "Known", "Map", "Node", "State", "view"]

MAX_VALUES = 4096
"""Elements up to which a constant's values are kept."""


@dataclass(frozen=True, slots=True)
class Known:
    """A tensor that does not depend on the input: a weight (dimensions only), or a small constant with ``values``."""

    shape: tuple[int, ...]
    values: NDArray[Any] | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """A tensor that a layer computes: its ONNX shape (batch first) and which axis holds the channels (0: none)."""

    layer: str
    shape: tuple[int, ...]
    channel: int = 1

    @property
    def spatial(self) -> tuple[int, ...]:
        """The axes that are neither batch nor channels."""
        return tuple(axis for axis in range(1, len(self.shape)) if axis != self.channel)


def view(shape: tuple[int, ...], channel: int) -> Shape:
    """(channels, height, width) of one sample of a tensor of ``shape`` whose axis ``channel`` holds the channels."""
    rest = [size for axis, size in enumerate(shape) if axis not in (0, channel)]
    channels = shape[channel] if channel else 1
    return channels, math.prod(rest[:-1]), rest[-1] if rest else 1


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
        return Map(layer, tuple(shape), channel)

    def relabel(self, node: Node, source: Map, shape: tuple[int, ...], channel: int, op: str = "reshape") -> Map:
        """``source`` seen as ``shape`` with its channels at ``channel``; moves data only if (c, h, w) change."""
        if any(size < 1 for size in shape):
            raise node.error("gives an empty tensor", shape, "sizes of at least 1")
        target = view(shape, channel)
        if target == self.builder.shapes[source.layer]:
            return Map(source.layer, shape, channel)
        if target[1:] == (1, 1):
            return Map(self.emit(node, "flatten", [source]), shape, channel)
        return Map(self.emit(node, op, [source], shape=target), shape, channel)

    def with_channel(self, node: Node, source: Map, channel: int) -> Map:
        """``source`` with its channels at axis ``channel``, transposed in memory where they are elsewhere."""
        if source.channel == channel:
            return source
        target = view(source.shape, channel)
        if target == self.builder.shapes[source.layer]:
            return Map(source.layer, source.shape, channel)
        layer = self.emit(node, "transpose", [source], "_transpose", shape=target)
        return Map(layer, source.shape, channel)
