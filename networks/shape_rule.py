"""What a rule of shape inference is, and the layer that it starts from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dse.network import Layer, Shape
from dse.networks.layer_spec import LayerSpec

__all__ = ["Operation", "Rule", "describe", "shaped"]

Rule = Callable[[LayerSpec, Sequence[Shape], str], Layer]
"""(layer as written, shapes of its inputs, words that open a message) -> the layer with its shapes and counts."""


@dataclass(frozen=True, slots=True)
class Operation:
    """How one operation is written: its ``rule``, its ``keys`` and its number of inputs (``max_inputs`` None: any)."""

    rule: Rule
    keys: tuple[str, ...] = ()
    min_inputs: int = 1
    max_inputs: int | None = 1
    is_loss: bool = False


def shaped(spec: LayerSpec, in_shape: Shape, out_shape: Shape, parameters: int = 0) -> Layer:
    """The layer of ``spec`` with these shapes, (channels, height, width), and nothing else."""
    return Layer(spec.name, spec.op, spec.inputs, in_shape, out_shape, parameters=parameters)


def describe(spec: LayerSpec, shapes: Sequence[Shape]) -> str:
    """The inputs of ``spec`` with their shapes, for a message."""
    return ", ".join(f"{name} {shape}" for name, shape in zip(spec.inputs, shapes, strict=True))
