"""Presets of the engine, and one simulated accelerator for all networks that a preset trains, with a counter a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.devices import load_device
from dse.emit import emit
from dse.emit.design import Design
from dse.emit.parameters import accelerator_parameters
from dse.engine import EngineParameters
from dse.network import Network
from dse.schedule import Hardware, Schedule, build_schedule, least_hardware
from dse.schedule.record import step_words
from dse.verify.simulator import build_simulator
from dse.workload import Workload, precision_named

__all__ = ["PRESETS", "StepCounters", "built", "shared_hardware", "workload"]

_ROOM = {"feature_depth": 4096, "operand_depth": 2048, "sum_depth": 2048}

PRESETS: Mapping[str, EngineParameters] = {
    "channel 16x16": EngineParameters(um=16, un=16, channel_block=16, **_ROOM),
    "channel 8x4, 128-bit": EngineParameters(um=8, un=4, channel_block=4, data_bits=128, **_ROOM),
    "channel 8x8, 512-bit": EngineParameters(um=8, un=8, channel_block=8, data_bits=512, **_ROOM),
    "channel 4x4 int16": EngineParameters(um=4, un=4, channel_block=4, operand_bits=16, **_ROOM),
    "batch 4x8, 32-bit": EngineParameters(ub=4, um=1, un=8, channel_block=1, data_bits=32, **_ROOM),
    "batch 16x4, 128-bit": EngineParameters(ub=16, um=1, un=4, channel_block=1, data_bits=128, **_ROOM),
    "map 4x4": EngineParameters(um=1, un=1, ur=4, uc=4, channel_block=1, **_ROOM),
    "map 2x8 int16, 128-bit": EngineParameters(
        um=2, un=2, ur=2, uc=8, channel_block=1, operand_bits=16, data_bits=128, **_ROOM
    ),
    "hybrid 2x6x3x2x3": EngineParameters(ub=2, um=6, un=3, ur=2, uc=3, channel_block=3, **_ROOM),
    "hybrid 3x5x5x1x2 int16, 512-bit": EngineParameters(
        ub=3, um=5, un=5, ur=1, uc=2, channel_block=5, operand_bits=16, data_bits=512, **_ROOM
    ),
}
"""Engines of every family and of none, with odd factors; buffers that the layers of small networks fit."""


class StepCounters(Schedule):
    """A schedule each of whose steps has a counter of its own, so that its cycles are known."""

    def words(self) -> NDArray[np.uint32]:
        """The image of the schedule memory."""
        return np.concatenate([step_words(step, number) for number, step in enumerate(self.steps)])

    @property
    def counters(self) -> int:
        """How many counters there are."""
        return len(self.steps)

    @classmethod
    def of(cls, task: Workload, hardware: Hardware, latency: int) -> StepCounters:
        """The schedule of ``task``, predicted for reads and writes of ``latency`` cycles."""
        plain = build_schedule(task, hardware, latency)
        return cls(plain.workload, plain.hardware, plain.steps, plain.tensors, plain.outputs, plain.loss_error)


def workload(network: Network, batch_size: int, engine: EngineParameters) -> Workload:
    """A task in the width of the engine's operands."""
    return Workload(network, batch_size, precision_named(f"int{engine.operand_bits}"))


def shared_hardware(engine: EngineParameters, tasks: Sequence[Workload]) -> Hardware:
    """Units that all ``tasks`` can use, with the largest memories that one of them needs."""
    needs = [least_hardware(task.network, engine) for task in tasks]
    pools = [need.pool for need in needs if need.pool]
    if not pools:
        return Hardware(engine, None, any(need.has_channel for need in needs))
    depths = {name: max(getattr(pool, name) for pool in pools) for name in ("depth", "row_depth")}
    return Hardware(engine, replace(pools[0], **depths), any(need.has_channel for need in needs))


@dataclass(frozen=True)
class _Shared(Design):
    """An accelerator that is no design point, but large enough for several schedules."""

    schedules: tuple[StepCounters, ...] = ()

    @cached_property
    def parameters(self) -> dict[str, int]:
        """The largest of what each schedule needs."""
        found = [accelerator_parameters(self.schedules[0].hardware, schedule) for schedule in self.schedules]
        return {name: max(one[name] for one in found) for name in found[0]}

    def content(self) -> dict[str, Any]:
        """The parameters alone."""
        return {"parameters": self.parameters}


def built(schedules: Sequence[StepCounters], folder: Path) -> Path:
    """Write and compile the accelerator that runs ``schedules``, all of one hardware; the library of its model."""
    first = schedules[0]
    design = _Shared(
        first.workload, load_device("zcu102"), "hybrid", "exact", {}, first.hardware.engine, {},
        schedules=tuple(schedules),
    )  # fmt: skip
    emit(design, folder)
    return build_simulator(folder)
