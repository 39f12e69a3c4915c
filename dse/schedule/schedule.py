"""A schedule: every step of a training iteration, in order, with the tensors that it moves and what it should take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.errors import InputError
from dse.schedule.backward import backward_steps
from dse.schedule.forward import forward_steps, loss_steps
from dse.schedule.hardware import Hardware
from dse.schedule.record import HEADER_WORDS, PHASES, Step, step_words
from dse.schedule.tensors import Tensor, TensorMap
from dse.schedule.work import Work
from dse.workload import Workload

__all__ = ["DMA_CYCLES", "Schedule", "build_schedule", "sequencer_cycles"]

OPTIMISERS = ("sgd", "momentum")
"""What the elementwise unit updates parameters by."""
DMA_CYCLES = 1
"""Registers of the DMA engines on the way to the memory, beside the one that the units' predictions count."""
_BEFORE, _AFTER = 4, 1
"""Cycles of the sequencer until a unit takes its command, once the record is loaded, and after the unit's end."""
_LOAD = 1
"""Cycles to load a record, beside one a word, from the one in which the command before was taken."""
_FIRST_LOAD = 2
"""The same from the start of an iteration."""


@dataclass(frozen=True)
class Schedule:
    """Steps in order; ``tensors`` says where everything lies.

    ``outputs`` is what the loss reads, ``loss_error`` its wide error, which a softmax's host writes.
    """

    workload: Workload
    hardware: Hardware
    steps: tuple[Step, ...]
    tensors: TensorMap
    outputs: Tensor
    loss_error: Tensor

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Layers with steps, in the order of the network."""
        used = {step.layer for step in self.steps}
        return tuple(layer.name for layer in self.workload.network.layers if layer.name in used)

    def counter(self, layer: str, phase: str) -> int:
        """Number of the counter of cycles of a part of a layer."""
        return self.layers.index(layer) * len(PHASES) + PHASES.index(phase)

    @property
    def counters(self) -> int:
        """How many counters there are."""
        return len(self.layers) * len(PHASES)

    def words(self) -> NDArray[np.uint32]:
        """The image of the schedule memory."""
        return np.concatenate([step_words(step, self.counter(step.layer, step.phase)) for step in self.steps])

    def step_cycles(self) -> list[int]:
        """Predicted cycles of each step as the sequencer counts them, with an ideal memory."""
        return sequencer_cycles(self.steps)

    @property
    def cycles(self) -> int:
        """Predicted cycles of an iteration."""
        return sum(self.step_cycles())

    def content(self) -> dict[str, Any]:
        """Steps and predictions in JSON types."""
        steps = [
            {"layer": step.layer, "phase": step.phase, "unit": step.unit, "what": step.what, "cycles": cycles}
            for step, cycles in zip(self.steps, self.step_cycles(), strict=True)
        ]
        return {"words": len(self.words()), "cycles": self.cycles, "counters_per_layer": list(PHASES), "steps": steps}


def sequencer_cycles(steps: Sequence[Step]) -> list[int]:
    """Cycles of each step as the sequencer counts them: the unit's own, and what it takes to start and note them.

    A record is loaded while the unit of the one before works, so that only one longer than that work is waited for.
    """
    now, loaded, found = 0, _words(steps[0]) + _FIRST_LOAD, []
    for number, step in enumerate(steps):
        taken = max(now, loaded) + _BEFORE
        if number + 1 < len(steps):
            loaded = taken + _words(steps[number + 1]) + (0 if step.unit == "host" else _LOAD)
        writes = sum(slot is not None for slot in (step.rule.o, step.rule.weight, step.rule.bias))
        end = taken + (0 if step.unit == "host" else step.cycles + _AFTER + writes)
        found.append(end - now)
        now = end
    return found


def _words(step: Step) -> int:
    return HEADER_WORDS + len(step.words)


def build_schedule(workload: Workload, hardware: Hardware, latency: int = 1) -> Schedule:
    """The schedule of training ``workload`` on ``hardware``, predicted for a memory of ``latency`` cycles.

    Raises InputError naming a layer that the units cannot do, or whose tile does not fit a buffer, and for an optimiser
    without RTL.
    """
    if workload.optimiser.name not in OPTIMISERS:
        raise InputError("optimiser", "has no RTL", workload.optimiser.name, ", ".join(OPTIMISERS))
    work = Work.on(workload, hardware, latency + DMA_CYCLES)
    forward_steps(work)
    source, error = loss_steps(work)
    backward_steps(work, source, error)
    return Schedule(workload, hardware, tuple(work.steps), work.tensors, work.tensors["activation", source], error)
