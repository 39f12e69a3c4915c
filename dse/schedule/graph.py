"""The network as the schedule walks it: copies left out, ReLUs joined with what is before them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from dse.engine.layers import ALIASES
from dse.errors import InputError
from dse.network import Layer, Network, Shape

__all__ = ["LOSSES", "OPERATIONS", "TrainingGraph"]

LOSSES = ("sum_square_error", "softmax_cross_entropy")
OPERATIONS = ("conv", "fc", "bias", "relu", "add", "max_pool", "avg_pool", "global_avg_pool", "batch_norm")
"""Operations that the accelerator's units do, beside losses and copies that need no work."""
JOINED = ("conv", "fc", "bias", "add", "batch_norm")
"""Operations whose unit can make results at least 0 as it writes them."""


@dataclass(frozen=True)
class TrainingGraph:
    """Layers that need work, and who reads whom."""

    network: Network

    def __post_init__(self) -> None:
        """Raise InputError naming a layer that no unit can do."""
        for layer in self.network.layers[:-1]:
            if layer.op not in (*OPERATIONS, *ALIASES):
                allowed = ", ".join((*OPERATIONS, *ALIASES))
                raise InputError(f"layer {layer.name}", "no unit of the accelerator does this", layer.op, allowed)
            if layer.op == "add" and len(layer.inputs) != 2:
                raise InputError(f"layer {layer.name}", "an add has two inputs", len(layer.inputs), "2")
        if self.loss.op not in LOSSES:
            raise InputError(
                f"layer {self.loss.name}", "is no loss that RTL trains on", self.loss.op, ", ".join(LOSSES)
            )
        for name, readers in self.readers.items():
            if readers > 2 and name != "input":
                raise InputError(f"layer {name}", "has too many readers: errors are added in pairs", readers, "1 or 2")

    @property
    def loss(self) -> Layer:
        """The last layer."""
        return self.network.layers[-1]

    @cached_property
    def sources(self) -> dict[str, str]:
        """Layer -> the layer whose stored output it stands for (itself, or what it copies)."""
        found = {"input": "input"}
        for layer in self.network.layers:
            found[layer.name] = found[layer.inputs[0]] if layer.op in ALIASES else layer.name
        return found

    def inputs(self, layer: Layer) -> list[str]:
        """Whose stored outputs ``layer`` reads."""
        return [self.sources[name] for name in layer.inputs]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Layers with work, in order, the loss left out."""
        return tuple(layer for layer in self.network.layers[:-1] if layer.op not in ALIASES)

    @cached_property
    def readers(self) -> Counter[str]:
        """How often each stored output is read."""
        return Counter(name for layer in (*self.layers, self.loss) for name in self.inputs(layer))

    @cached_property
    def joined(self) -> dict[str, str]:
        """Layer -> the ReLU that is applied as its result is written; its own result is not stored."""
        by_name = {layer.name: layer for layer in self.layers}
        found = {}
        for layer in self.layers:
            if layer.op != "relu":
                continue
            source = self.inputs(layer)[0]
            if source in by_name and by_name[source].op in JOINED and self.readers[source] == 1:
                found[source] = layer.name
        return found

    def shape(self, name: str) -> Shape:
        """(C, H, W) of a stored output."""
        if name == "input":
            return self.network.input_shape
        return next(layer.out_shape for layer in self.layers if layer.name == name)
