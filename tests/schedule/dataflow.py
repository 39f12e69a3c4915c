"""What every step of a schedule reads and writes, as tensors, found from the addresses that its command has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dse.network import Layer
from dse.schedule import Hardware, Step, Tensor
from dse.schedule.backward import backward_steps
from dse.schedule.forward import forward_steps, loss_steps
from dse.schedule.work import Work
from dse.vector import ChannelOperation, Pooling
from dse.workload import Workload

__all__ = ["Access", "Key", "Recorder", "recorded"]

Key = tuple[str, str]
"""(kind, name) of a tensor."""
Place = tuple[str, int]
"""(space, byte) where a tensor begins."""


@dataclass(frozen=True)
class Access:
    """One step and its tensors; the host writes the wide error."""

    step: Step
    reads: list[Key]
    writes: list[Key]


@dataclass
class Recorder(Work):
    """Work that remembers the places of every step."""

    places: list[tuple[list[Place], list[Place]]] = field(default_factory=list)

    def engine(self, layer: Layer, phase: str, a: Tensor, b: Tensor, o: Tensor, **rest: Any) -> None:
        super().engine(layer, phase, a, b, o, **rest)
        self.places.append(([(a.space, a.base), (b.space, b.base)], [(o.space, o.base)]))

    def elementwise(
        self, layer: Layer, phase: str, what: str, kind: str, a: Tensor, b: Tensor | None, o: Tensor | None,
        *more: Any, **rest: Any,
    ) -> None:  # fmt: skip
        super().elementwise(layer, phase, what, kind, a, b, o, *more, **rest)
        read = [(tensor.space, tensor.base) for tensor in (a, b) if tensor is not None]
        self.places.append((read, [(o.space, o.base)] if o is not None else []))

    def pool(self, layer: Layer, phase: str, what: str, asked: Pooling, *more: Any, **rest: Any) -> None:
        super().pool(layer, phase, what, asked, *more, **rest)
        a_space, b_space, o_space = self.steps[-1].spaces
        read, written = [(a_space, asked.a)], [(o_space, asked.y)]
        if asked.kind == "max":
            if asked.backward:
                read.append((b_space, asked.b))
            else:
                assert asked.index is not None
                written.append((o_space, asked.index))
        self.places.append((read, written))

    def channel(self, layer: Layer, phase: str, what: str, asked: ChannelOperation, *more: Any, **rest: Any) -> None:
        super().channel(layer, phase, what, asked, *more, **rest)
        a_space, b_space, o_space = self.steps[-1].spaces
        read = [(a_space, asked.a), *((b_space, base) for base in asked.reads)]
        if asked.kind == "norm_backward":
            read.append((b_space, asked.b))
        written = [(o_space, base) for base in asked.writes]
        if asked.results:
            assert asked.o is not None
            written.append((o_space, asked.o))
        self.places.append((read, written))

    def host(self, layer: Layer) -> None:
        super().host(layer)
        scratch = self.tensors["wide", "scratch"]
        self.places.append(([], [(scratch.space, scratch.base)]))


def recorded(workload: Workload, hardware: Hardware) -> tuple[Recorder, list[Access]]:
    """The schedule of ``workload`` built as ``build_schedule`` does; KeyError for an address that is no tensor's."""
    work = Recorder.on(workload, hardware, 1)
    assert isinstance(work, Recorder)
    forward_steps(work)
    backward_steps(work, *loss_steps(work))
    names = {(tensor.space, tensor.base): (tensor.kind, tensor.name) for tensor in work.tensors}
    pairs = zip(work.steps, work.places, strict=True)
    return work, [Access(step, [names[p] for p in read], [names[p] for p in wrote]) for step, (read, wrote) in pairs]
