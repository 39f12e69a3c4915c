"""What the importers share: a network put together layer by layer, and the loss that a training network needs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dse.errors import InputError
from dse.network import Network, Shape
from dse.networks.graph import INPUT, build_network
from dse.networks.layer_spec import MAX_DIMENSION, LayerSpec
from dse.networks.shapes import OPERATIONS, infer_layer

__all__ = ["MAX_LAYERS", "Builder", "Description", "clean_name"]

MAX_LAYERS = 100_000
"""Most layers of an imported network."""


@dataclass(frozen=True)
class Description:
    """A network as an importer read it: what a TOML file would hold, and notes of what was assumed or found."""

    name: str
    source: str
    input_shape: Shape
    specs: tuple[LayerSpec, ...]
    notes: tuple[str, ...] = ()

    def network(self, path: Path, digest: str) -> Network:
        """The network with every shape inferred. Raises InputError as ``build_network`` does."""
        where = str(path)
        return build_network(self.name, self.source, self.input_shape, self.specs, where, where, digest, self.notes)


def clean_name(text: str, default: str) -> str:
    """``text`` with what a name may not hold replaced by "_"; ``default`` where nothing is left."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text[:200]).strip("._-") or default


class Builder:
    """Layers in the order they are emitted, each with its output shape (channels, height, width)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.specs: dict[str, LayerSpec] = {}
        self.shapes: dict[str, Shape] = {}
        self.notes: list[str] = []
        self._names: Counter[str] = Counter()

    def set_input(self, shape: Shape, where: str) -> str:
        """Fix the network's input shape; returns the name by which layers read it."""
        if not all(1 <= size <= MAX_DIMENSION for size in shape):
            raise InputError(where, "input size is out of range", shape, f"1 to {MAX_DIMENSION} each")
        self.shapes[INPUT] = shape
        return INPUT

    def emit(self, name: str, op: str, inputs: Sequence[str], where: str, **attributes: Any) -> str:
        """Add a layer; returns its name, which is ``name`` made legal and unique. Raises InputError as shapes do."""
        if len(self.specs) >= MAX_LAYERS:
            raise InputError(where, "too many layers", len(self.specs) + 1, f"up to {MAX_LAYERS}")
        spec = LayerSpec(self._free(clean_name(name, op)), op, tuple(inputs), **attributes)
        self.shapes[spec.name] = infer_layer(spec, [self.shapes[source] for source in inputs], where).out_shape
        self.specs[spec.name] = spec
        return spec.name

    def _free(self, name: str) -> str:
        free = name
        while free in self.specs or free == INPUT:
            self._names[name] += 1
            free = f"{name}_{self._names[name]}"
        return free

    def add_bias(self, layer: str) -> bool:
        """Give a convolution or fully connected layer the bias that follows it; False where it cannot take one."""
        spec = self.specs.get(layer)
        if spec is None or spec.op not in ("conv", "conv_transpose", "fc") or spec.bias:
            return False
        self.specs[layer] = replace(spec, bias=True)
        return True

    def note(self, text: str) -> None:
        """Add a note, once."""
        if text not in self.notes:
            self.notes.append(text)

    def finish(self, outputs: Sequence[str], where: str) -> None:
        """End the network in one loss over ``outputs``, and drop the layers that no output reads."""
        ends = list(dict.fromkeys(outputs))
        if not ends or ends == [INPUT]:
            raise InputError(where, "a network needs at least one layer between input and output")
        if len(ends) == 1 and OPERATIONS[self.specs[ends[0]].op].is_loss:
            self._prune(ends)
            return
        if len(ends) > 1:
            flat = [self._flat(end, where) for end in ends]
            end = self.emit("outputs", "concat", flat, where)
            self.note(f"the {len(ends)} outputs are joined under one loss")
        else:
            end = ends[0]
        self._prune([self._add_loss(end, where, joined=len(ends) > 1)])

    def _flat(self, layer: str, where: str) -> str:
        if self.shapes[layer][1:] == (1, 1):
            return layer
        return self.emit(f"{layer}_flatten", "flatten", [layer], where)

    def _add_loss(self, end: str, where: str, joined: bool) -> str:
        spec = self.specs[end]
        flat = self.shapes[end][1:] == (1, 1)
        if spec.op == "softmax" and flat:
            read = {source for other in self.specs.values() for source in other.inputs}
            if end not in read:
                del self.specs[end]
                end = spec.inputs[0]
        elif joined or not flat or self.shapes[end][0] == 1 or spec.op in ("sigmoid", "tanh"):
            self.note("the output is no vector of class scores: a sum_square_error was appended as the loss")
            return self.emit("loss", "sum_square_error", [self._flat(end, where)], where)
        self.note(f"a softmax_cross_entropy over {self.shapes[end][0]} classes was appended as the loss")
        return self.emit("loss", "softmax_cross_entropy", [end], where)

    def _prune(self, ends: Sequence[str]) -> None:
        live: set[str] = set()
        stack = list(ends)
        while stack:
            name = stack.pop()
            if name not in live and name != INPUT:
                live.add(name)
                stack.extend(self.specs[name].inputs)
        self.specs = {name: spec for name, spec in self.specs.items() if name in live}

    def description(self, name: str, source: str) -> Description:
        """What was put together."""
        return Description(name, source, self.shapes[INPUT], tuple(self.specs.values()), tuple(self.notes))
