"""A lower bound of an iteration's cycles on the RTL of a point, for a small part of what its schedule costs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from dse.engine import EngineParameters, Tiling, compute_cycles
from dse.engine.layers import engine_layers
from dse.engine.nest import Axis, Convolution, PhaseNest, phase_nest
from dse.engine.runs import feature_row_cycles, operand_row_cycles
from dse.engine.timing import packed_cycles
from dse.errors import InputError
from dse.schedule import least_hardware
from dse.schedule.backward import backward_steps
from dse.schedule.forward import forward_steps, loss_steps
from dse.schedule.work import Work
from dse.workload import Workload

__all__ = ["Floor", "least_command_cycles"]

_WHOLE = Tiling(*(1 << 30,) * 4)
"""One tile for all of a layer."""


@dataclass(frozen=True)
class Floor:
    """Lower bounds for the engines that train ``workload``; what several engines share is computed once."""

    workload: Workload
    _beside: dict[EngineParameters, float] = field(default_factory=dict)

    def cycles(self, hw: EngineParameters) -> float:
        """No schedule on ``hw``, with whatever buffers, takes fewer cycles; infinite where there is none."""
        commands = sum(
            count * least_command_cycles(hw, phase_nest(conv, phase, hw.channel_block), raw)
            for (conv, phase, raw), count in self._commands.items()
        )
        return commands + self._beside_engine(hw)

    @cached_property
    def _commands(self) -> Counter[tuple[Convolution, str, bool]]:
        """The engine's commands of an iteration (with ``raw``: they write sums), and how often each occurs."""
        layers = engine_layers(self.workload.network, self.workload.batch_size)
        return Counter(
            (item.conv, phase, phase != "forward" or item.layer.bias) for item in layers for phase in item.phases
        )

    def _beside_engine(self, hw: EngineParameters) -> float:
        """Cycles of the other units, which depend on how maps lie in DRAM and not on the lanes."""
        block = hw.channel_block
        layout = replace(hw, um=block, un=block, ur=1, uc=1, feature_depth=2, operand_depth=2, sum_depth=2)
        if layout not in self._beside:
            self._beside[layout] = _units_cycles(self.workload, layout)
        return self._beside[layout]


class _Units(Work):
    """The steps of a schedule that are not the engine's."""

    def engine(self, *_: Any, **__: Any) -> None:
        """Left out."""


def _units_cycles(workload: Workload, hw: EngineParameters) -> float:
    try:
        work = _Units.on(workload, least_hardware(workload.network, hw, workload.optimiser.name), latency=1)
        forward_steps(work)
        backward_steps(work, *loss_steps(work))
    except InputError:
        return math.inf
    return sum(step.cycles for step in work.steps)


def least_command_cycles(hw: EngineParameters, nest: PhaseNest, raw: bool) -> int:
    """No tiling of ``nest`` takes fewer: each of the engine's four units does all of its work once, alone."""
    block, gradient = hw.channel_block, nest.phase == "weight_grad"
    m_blocks, n_blocks, b_blocks = -(-nest.m // block), -(-nest.n // block), -(-nest.batch // hw.ub)
    features = n_blocks * b_blocks * _rows_read(nest.row) * feature_row_cycles(hw, nest)
    operand_rows = b_blocks * nest.row.extent if gradient else n_blocks
    result_rows = n_blocks if gradient else b_blocks * nest.row.result
    operands = m_blocks * operand_rows * operand_row_cycles(hw, nest)
    results = m_blocks * result_rows * packed_cycles(hw, nest, raw)
    compute = compute_cycles(hw, nest, _WHOLE) - nest.sets - (hw.un if gradient else 0)  # the first sum may come early
    return max(compute, nest.sets * max(features, operands, results))


@lru_cache(maxsize=4096)
def _rows_read(axis: Axis) -> int:
    """Rows of the feature operand under the taps of any row of the nest."""
    tops = range(axis.start, axis.start + axis.extent * axis.stride, axis.stride)
    return len({row for top in tops for row in range(max(top, 0), min(top + axis.taps, axis.operand))})
