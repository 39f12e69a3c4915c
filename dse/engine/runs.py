"""Cells of a row that the engine moves together: a run is UC neighbouring columns, one of each column lane."""

from __future__ import annotations

import math
from functools import lru_cache

from dse.engine.hardware import EngineParameters
from dse.engine.nest import PhaseNest

__all__ = ["feature_row_cycles", "feature_run", "operand_row_cycles", "result_run", "row_cycles"]


def feature_run(hw: EngineParameters, nest: PhaseNest) -> int:
    """Columns of the feature operand that are loaded together.

    At a stride, neighbours lie in the same bank; before a window that begins inside the map, columns are dropped one
    by one.
    """
    return hw.run_cells if nest.column.stride == 1 and nest.column.start <= 0 else 1


def result_run(hw: EngineParameters, nest: PhaseNest) -> int:
    """Cells of the result that are stored together: columns, if they are of one class; gradients go one by one."""
    return hw.run_cells if nest.phase != "weight_grad" and nest.column.classes == 1 else 1


def feature_row_cycles(hw: EngineParameters, nest: PhaseNest) -> int:
    """Cycles to load a row of the feature operand."""
    cell = hw.channel_block * hw.ub * hw.operand_bytes
    return row_cycles(nest.column.operand, feature_run(hw, nest), cell, hw.beat_bytes)


def operand_row_cycles(hw: EngineParameters, nest: PhaseNest) -> int:
    """Cycles to load a row of errors, or in forward and input_grad an (m, n) block of weights."""
    block = hw.channel_block * hw.operand_bytes
    if nest.phase == "weight_grad":
        return row_cycles(nest.conv.out_size[1], hw.run_cells, block * hw.ub, hw.beat_bytes)
    return row_cycles(math.prod(nest.conv.window.kernel) * hw.channel_block, 1, block, hw.beat_bytes)


@lru_cache(maxsize=4096)
def row_cycles(cells: int, run: int, cell_bytes: int, beat_bytes: int) -> int:
    """Cycles that ``stream_unpack`` takes for a row of ``cells``, ``run`` of them at a time, with a beat a cycle.

    A run is taken in the cycle after its last beat came, and one a cycle; the next row's first beat may come with the
    last one.
    """
    runs = -(-cells // run)
    ends = {k: min((k + 1) * run, cells) * cell_bytes for k in (0, max(runs - 2, 0), runs - 1)}
    return max(-(-end // beat_bytes) + runs - 1 - k for k, end in ends.items())
