"""The steps of a schedule as they are collected: every unit's command from tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dse.engine import (
    Bases,
    EngineLayout,
    EngineParameters,
    command,
    command_words,
    fit_tiling,
)
from dse.engine.layers import EngineLayer, engine_layers
from dse.errors import InputError
from dse.golden import Window
from dse.golden.integer_layers import activation_shift
from dse.layout.rows import RowImage
from dse.network import Layer
from dse.schedule.engine_cycles import BURSTS, engine_cycles
from dse.schedule.graph import TrainingGraph
from dse.schedule.hardware import Hardware, least_port_bits
from dse.schedule.record import NO_RULE, Rule, Step
from dse.schedule.tensors import SPACES, Tensor, TensorMap
from dse.vector import (
    ChannelOperation,
    Elementwise,
    Pooling,
    channel_cycles,
    channel_words,
    elementwise_cycles,
    elementwise_words,
    pool_cycles,
    pool_words,
)
from dse.workload import Workload

__all__ = ["Work", "pooling"]


@dataclass
class Work:
    """What is being built: the graph, tensors, and steps so far. ``latency`` is that of the memory, for predictions."""

    workload: Workload
    hardware: Hardware
    latency: int
    graph: TrainingGraph
    tensors: TensorMap
    convolutions: Mapping[str, EngineLayer]
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def on(cls, workload: Workload, hardware: Hardware, latency: int) -> Work:
        """Nothing yet."""
        graph = TrainingGraph(workload.network)
        layers = {item.layer.name: item for item in engine_layers(workload.network, workload.batch_size)}
        return cls(workload, hardware, latency, graph, TensorMap(hardware.engine), layers)

    @property
    def hw(self) -> EngineParameters:
        """The engine's parameters, which all layouts follow from."""
        return self.hardware.engine

    def map_shape(self, name: str) -> tuple[int, int, int, int]:
        """[B, C, H, W] of a stored output."""
        return self.workload.batch_size, *self.graph.shape(name)

    def stored_as(self, name: str) -> str:
        """Under which name the output of a layer is stored: its own, or that of the ReLU joined with it."""
        return self.graph.joined.get(name, name)

    def scratch(self, name: str) -> Tensor:
        """Room for the wide error of the stored output ``name``: one region and slot for all, read again at once."""
        shape = self.map_shape(name)
        key = ("wide", "scratch")
        if key not in self.tensors:
            names = ("input", *(layer.name for layer in self.graph.layers))
            largest = max((RowImage.maps(self.map_shape(n), *self._wide).size_bytes, n) for n in names)[1]
            self.tensors.maps(*key, self.map_shape(largest), wide=True, slot=True)
        return replace(self.tensors[key], layout=RowImage.maps(shape, *self._wide))

    @property
    def _wide(self) -> tuple[tuple[int, int], int, int]:
        return (self.hw.ub, self.hw.channel_block), self.hw.wide_bytes, self.hw.beat_bytes

    def weights(self, layer: Layer, *, wide: bool = False) -> EngineLayout:
        """Layout of the weights of a ``conv`` or ``fc``, or of their gradient."""
        return EngineLayout.weights(self.hw, self.convolutions[layer.name].conv, raw=wide)

    def engine(
        self, layer: Layer, phase: str, a: Tensor, b: Tensor, o: Tensor, *, raw: bool, relu: bool = False,
        rule: Rule = NO_RULE,
    ) -> None:  # fmt: skip
        """A phase of a convolution."""
        nest = self.convolutions[layer.name].nest(phase, self.hw.channel_block)
        try:
            tiling = fit_tiling(self.hw, nest)
        except InputError as error:
            raise InputError(f"layer {layer.name}", str(error)) from error
        shift = activation_shift(layer, self.hw.operand_bits)
        bases = Bases(a.base, b.base, o.base)
        fields = command(self.hw, nest, tiling, bases, shift=shift, raw=raw, relu=relu)
        cycles = engine_cycles(self.hw, nest, tiling, self.latency, raw)
        spaces = (a.space, b.space, o.space)
        self.steps.append(Step(layer.name, phase, "engine", phase, command_words(fields), cycles, spaces, rule))

    def elementwise(
        self, layer: Layer, phase: str, what: str, kind: str, a: Tensor, b: Tensor | None, o: Tensor | None,
        rule: Rule = NO_RULE, **flags: Any,
    ) -> None:  # fmt: skip
        """An operation on whole tensors; ``what`` says it in words."""
        image = replace(a.image, element_bytes=self.hw.operand_bytes)
        asked = Elementwise(
            kind, image, a.base, None if b is None else b.base, None if o is None else o.base,
            a_wide=self.is_wide(a), b_wide=b is not None and self.is_wide(b), o_wide=o is None or self.is_wide(o),
            **flags,
        )  # fmt: skip
        spaces = (a.space, b.space if b else "tensors", o.space if o else "tensors")
        self.steps.append(
            Step(
                layer.name, phase, "elementwise", what, elementwise_words(asked),
                elementwise_cycles(asked, self.latency), spaces, rule,
            )
        )  # fmt: skip

    def pool(
        self, layer: Layer, phase: str, what: str, asked: Pooling, rule: Rule = NO_RULE, a_space: str = SPACES[0]
    ) -> None:
        """A pooling layer in one direction, its first operand in ``a_space``.

        Raises InputError where there is no pool unit, or it is too small.
        """
        unit = self.hardware.pool
        if unit is None:
            raise InputError(f"layer {layer.name}", "this accelerator has no pool unit", layer.op)
        try:
            words = pool_words(unit, asked)
            cycles = pool_cycles(unit, asked.without_addresses, self.latency, BURSTS)
        except InputError as error:
            raise InputError(f"layer {layer.name}", str(error)) from error
        self.steps.append(Step(layer.name, phase, "pool", what, words, cycles, (a_space, *SPACES[:1] * 2), rule))

    def channel(
        self, layer: Layer, phase: str, what: str, asked: ChannelOperation, rule: Rule = NO_RULE,
        a_space: str = SPACES[0],
    ) -> None:  # fmt: skip
        """An operation with one number a channel, its first map in ``a_space``.

        Raises InputError where there is no channel unit.
        """
        if not self.hardware.has_channel:
            need = least_port_bits(self.hw)
            narrow = f", which needs a port of {need} bits" if self.hw.data_bits < need else ""
            raise InputError(f"layer {layer.name}", f"this accelerator has no channel unit{narrow}", layer.op)
        words, cycles = channel_words(asked), channel_cycles(asked, self.latency, BURSTS)
        self.steps.append(Step(layer.name, phase, "channel", what, words, cycles, (a_space, *SPACES[:1] * 2), rule))

    def host(self, layer: Layer) -> None:
        """Stop until the host has done its part."""
        self.steps.append(Step(layer.name, "forward", "host", layer.op, np.zeros(0, np.uint32), 0))

    def is_wide(self, tensor: Tensor) -> bool:
        """Whether its elements are sums."""
        return tensor.image.element_bytes != self.hw.operand_bytes


def pooling(work: Work, layer: Layer, **addresses: Any) -> Pooling:
    """What the pool unit is to do for ``layer``."""
    kind = "max" if layer.op == "max_pool" else "average"
    return Pooling(kind, Window.of(layer), (work.workload.batch_size, *layer.in_shape), **addresses)
