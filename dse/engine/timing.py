"""Cycles of a command on the engine, tile by tile, if the memory gives and takes a beat a cycle on every port.

The four units of the engine (feature loader, operand loader, compute, store) walk the same tiles; each waits only for
halves of the double buffers. The recurrence below follows them with the latencies of the RTL.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from dse.engine.hardware import EngineParameters
from dse.engine.images import EngineLayout
from dse.engine.nest import PhaseNest, Tiling
from dse.engine.runs import feature_row_cycles, operand_row_cycles, result_run

__all__ = ["CommandTiming", "TimedTile", "command_cycles", "packed_cycles"]

_READ_DELAY = 3
"""From the registers of a step to the lanes (``ReadDelay`` of conv_engine.sv)."""
_STORE_STAGES = 3
"""From a cell's address to the packer (result_store.sv)."""
_PAGE_BYTES, _BURST_BEATS = 4096, 256
"""The longest burst (ARM IHI 0022, A3.4.1), as burst_split.sv cuts them."""
_FINISH = 6
"""From the packer's last beat to ``done_o``, beside the memory's latency."""


class TimedTile(NamedTuple):
    """A tile as the units walk it: indices (set, m, n, b, rows), sizes in blocks, what it shares with the last one."""

    place: tuple[int, int, int, int, int]
    m_blocks: int
    n_blocks: int
    b_blocks: int
    row: int
    rows: int
    keeps_features: bool
    keeps_operand: bool
    starts_sum: bool
    ends_sum: bool


def _tiles(hw: EngineParameters, nest: PhaseNest, tiling: Tiling) -> Iterator[TimedTile]:
    block, gradient = hw.channel_block, nest.phase == "weight_grad"
    m_sizes = _cut(-(-nest.m // block), tiling.m_groups * hw.um // block)
    n_sizes = _cut(-(-nest.n // block), tiling.n_groups * hw.un // block)
    b_sizes = _cut(-(-nest.batch // hw.ub), tiling.b_blocks)
    r_sizes = _cut(nest.row.extent, tiling.rows)
    sizes = (m_sizes, n_sizes, b_sizes, r_sizes) if gradient else (m_sizes, b_sizes, r_sizes, n_sizes)
    last_n, last_b, last_r = len(n_sizes) - 1, len(b_sizes) - 1, len(r_sizes) - 1
    of_features = of_operand = None
    for g, *at in product(range(nest.sets), *map(range, map(len, sizes))):
        m, n, b, r = at if gradient else (at[0], at[3], at[1], at[2])
        features, operand = (g, n, b, r), (g, m, b, r) if gradient else (g, m, n)
        starts, ends = (b == r == 0, b == last_b and r == last_r) if gradient else (n == 0, n == last_n)
        yield TimedTile(
            (g, m, n, b, r), m_sizes[m], n_sizes[n], b_sizes[b], r * tiling.rows, r_sizes[r],
            features == of_features, operand == of_operand, starts, ends,
        )  # fmt: skip
        of_features, of_operand = features, operand


def _cut(total: int, tile: int) -> list[int]:
    """Sizes of the tiles of an axis."""
    return [min(tile, total - first) for first in range(0, total, tile)]


class _Gaps(NamedTuple):
    """Cycles that the packer takes for a row of cells, and of these those behind its last cell."""

    row: int
    last: int


@lru_cache(maxsize=1024)
def _pack_gaps(cells: int, run: int, size: int, beat: int) -> _Gaps:
    """For ``cells`` of ``size`` bytes, ``run`` at a time, in beats of ``beat``.

    A run is taken where less than a beat is left.
    """
    whole = run * size
    before = -(-cells // run) - 1
    gaps = [max(1, (n * whole % beat + whole) // beat) for n in range(before)]
    last = -(-(before * whole % beat + (cells - before * run) * size) // beat)
    return _Gaps(sum(gaps) + last, last)


def _row_gaps(hw: EngineParameters, nest: PhaseNest, raw: bool) -> _Gaps:
    """Of a row of results, or a block of gradients."""
    cells, size = nest.column.result, hw.channel_block * hw.ub
    if nest.phase == "weight_grad":
        cells, size = math.prod(nest.conv.window.kernel) * hw.channel_block, hw.channel_block
    size *= hw.wide_bytes if raw else hw.operand_bytes
    return _pack_gaps(cells, result_run(hw, nest), size, hw.beat_bytes)


def packed_cycles(hw: EngineParameters, nest: PhaseNest, raw: bool) -> int:
    """Cycles of the packer for a row of results, or a block of gradients."""
    return _row_gaps(hw, nest, raw).row


@dataclass
class _Halves:
    """When the halves of a double buffer become free: the earliest of the last two."""

    freed: list[int]

    def free_at(self) -> int:
        return self.freed[-2]


@lru_cache(maxsize=4096)
def command_cycles(
    hw: EngineParameters, nest: PhaseNest, tiling: Tiling, latency: int = 1, raw: bool = False, bursts: int = 0
) -> int:
    """Cycles from the acceptance of a command to done_o.

    ``latency`` is the memory's: cycles from the one after a DMA command is taken to its first beat, and from the last
    beat written to its response. ``bursts`` are how many a read DMA has under way, 0 for any number: short ones do not
    cover a long latency.
    """
    return CommandTiming(hw, nest, tiling, latency, raw, bursts).run()


class CommandTiming:
    """The recurrence for one command; a memory that takes results more slowly is a subclass with another ``_store``."""

    def __init__(
        self, hw: EngineParameters, nest: PhaseNest, tiling: Tiling, latency: int, raw: bool, bursts: int
    ) -> None:
        self.hw, self.nest, self.tiling, self.latency, self.bursts = hw, nest, tiling, latency, bursts
        self.gradient = nest.phase == "weight_grad"
        conv = nest.conv
        self.weights = EngineLayout.weights(hw, conv)
        outer = EngineLayout.features(hw, conv, of_output=True)
        inner = EngineLayout.features(hw, conv, of_output=False)
        feature = outer if nest.phase == "input_grad" else inner
        self.taps = sum(nest.row.class_taps()) * sum(nest.column.class_taps())
        self.columns = -(-nest.column.extent // hw.uc)
        self.feature_row, self.operand_row = feature_row_cycles(hw, nest), operand_row_cycles(hw, nest)
        self.feature_beats, self.error_beats = feature.row_beats, outer.row_beats
        self.weight_beats = self.weights.row_beats
        self.mask_cycles = hw.channel_block if self.gradient and self.weights.group_set > 1 else 0
        self.gaps = _row_gaps(hw, nest, raw)
        self.packer_free = 0

    def run(self) -> int:
        """Cycles from the acceptance of the command to done_o."""
        # Times are the cycle in which a unit is in the state meant; the walkers are active from cycle 1 on.
        features, operands, sums = (_Halves([0, 0]) for _ in range(3))
        load_a = max(2, 1 - self.nest.column.start)  # the first column of the map is looked for
        load_b = compute = store = 1
        ready_a = ready_b = 0
        last_sum = -self.hw.un
        for tile in _tiles(self.hw, self.nest, self.tiling):
            load_a, ready_a = self._load_features(tile, load_a, ready_a, features)
            load_b, ready_b = self._load_operand(tile, load_b, ready_b, operands)
            begin = max(compute, ready_a, ready_b, sums.free_at() if tile.starts_sum else 0)
            end, last_sum = self._compute(tile, begin, last_sum)
            compute = end + 1
            features.freed[-1] = operands.freed[-1] = end + 1 + _READ_DELAY
            if tile.ends_sum:
                store, freed = self._store(tile, end, store)
                sums.freed.append(freed)
        return self.packer_free + self.latency + _FINISH

    def _load_features(self, tile: TimedTile, start: int, ready: int, halves: _Halves) -> tuple[int, int]:
        if tile.keeps_features:
            return start + 2, ready
        axis = self.nest.row
        top = axis.start + tile.row * axis.stride
        window = (tile.rows - 1) * axis.stride + axis.taps
        rows = max(min(top + window, axis.operand) - max(top, 0), 0)
        wait = max(start + 1 + window + 1, halves.free_at())
        load = 0
        if rows:
            load = self._burst_cycles(tile.n_blocks * tile.b_blocks, rows * self.feature_beats, rows * self.feature_row)
        done = wait + 1 + load
        halves.freed.append(1 << 60)
        return done + 1, done + 1

    def _load_operand(self, tile: TimedTile, start: int, ready: int, halves: _Halves) -> tuple[int, int]:
        if tile.keeps_operand:
            return start + 2, ready
        wait = max(start + 1, halves.free_at())
        if self.gradient:
            load = self._burst_cycles(
                tile.m_blocks * tile.b_blocks, tile.rows * self.error_beats, tile.rows * self.operand_row
            )
        else:
            load = self._burst_cycles(tile.m_blocks * tile.n_blocks, self.weight_beats, self.operand_row)
        done = wait + 1 + load
        halves.freed.append(1 << 60)
        return done + 1, done + 1

    def _burst_cycles(self, commands: int, beats: int, cycles: int) -> int:
        """Cycles to read ``commands`` of ``beats`` each, which are taken in ``cycles``."""
        bursts = -(-beats * self.hw.beat_bytes // _PAGE_BYTES)
        bursts = max(bursts, -(-beats // _BURST_BEATS)) * commands
        total = commands * cycles
        waits = 0
        if self.bursts:  # a burst is asked for when the one so many before it has come
            covered = (self.bursts - 1) * total // bursts
            waits = (bursts - 1) // self.bursts * max(self.latency - covered, 0)
        return total + waits + 2 + self.latency

    def _compute(self, tile: TimedTile, begin: int, last_sum: int) -> tuple[int, int]:
        """Cycle of the last step of a tile that begins in cycle ``begin``, and of its last sum."""
        hw = self.hw
        m, n = -(-tile.m_blocks * hw.channel_block // hw.um), -(-tile.n_blocks * hw.channel_block // hw.un)
        pixels = tile.b_blocks * -(-tile.rows // hw.ur) * self.columns
        sums = m * n * self.taps
        if not self.gradient:
            return begin + sums * pixels, last_sum
        first = max(begin + pixels, last_sum + hw.un)
        end = first + (sums - 1) * max(pixels, hw.un)
        return end, end

    def _store(self, tile: TimedTile, end: int, start: int) -> tuple[int, int]:
        """(Cycle in which the store is idle again, cycle from which the half is free.)

        The packer still gives the beats of a tile's last cell while the store prepares the next tile.
        """
        hw, nest = self.hw, self.nest
        if self.gradient:
            arrives = end + 1 + _READ_DELAY + 1 + (hw.ub * hw.ur * hw.uc - 1).bit_length() + 2 + hw.un
        else:
            arrives = end + 1 + _READ_DELAY + 1 + (hw.un - 1).bit_length() + 2
        prepare = max(nest.row.first_class if tile.row == 0 else 0, nest.column.first_class)
        first_cell = max(start + 2 + prepare, arrives + 1) + 2
        if self.gradient:
            parts, rows, masks = tile.m_blocks, tile.n_blocks, self.mask_cycles
        else:
            first = nest.row.first_class
            top = max(tile.row * nest.row.classes - first, 0)
            bottom = min((tile.row + tile.rows) * nest.row.classes - first, nest.row.result)
            parts, rows, masks = 1, tile.m_blocks * tile.b_blocks * (bottom - top), 0
        if not masks:
            parts, rows = 1, parts * rows
        gaps = self.gaps
        for part in range(parts):
            first_cell += masks + bool(part and masks)
            pushed = max(first_cell + _STORE_STAGES, self.packer_free) + rows * gaps.row - gaps.last
            self.packer_free = pushed + gaps.last
            first_cell = pushed - _STORE_STAGES + 1
        return pushed + 3, pushed + 4
