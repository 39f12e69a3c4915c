"""Cycles of a command of the pool unit, row by row, as its loader, walker and packer take them."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.vector.bursts import WriteBursts, burst_starts, covered, repeated
from dse.vector.pool import Pooling
from dse.vector.pool_hardware import PoolParameters

__all__ = ["pool_cycles"]

_LANES = 4
"""Cycles from the last tap of a pixel to its result: ring, sum, product, rounding."""
_QUEUE = 2
"""Cycles through an empty queue of narrow results."""
_SETTLED = 2
"""Rings of maps after which maps are taken to follow each other at a constant distance."""

Cycles = NDArray[np.int64]


@lru_cache(maxsize=256)
def pool_cycles(hw: PoolParameters, command: Pooling, latency: int = 1, bursts: int = 0) -> int:
    """Cycles from a command being taken to done_o, with a memory of a beat a cycle on every port.

    ``latency`` is the memory's: cycles from the one after a DMA command is taken to its first beat, and from the last
    beat written to its response. ``bursts`` are how many the write DMA has under way, 0 for any number: rows with
    indexes are bursts of their own, and short ones do not cover a long latency. Commands of very many maps are timed on
    the first and extended at their pace.
    """
    maps = command.maps(hw)
    rows, columns = command.axes()
    settled = 8 + _SETTLED * -(-hw.depth // (rows.operand * columns.operand))
    row_beats = command.result_image(hw).row_beats
    if command.mode != "max_index" or covered(bursts, row_beats, latency, hw.beat_bytes):
        bursts = 0
    if bursts:
        again = 2 * repeated(rows.result * row_beats, hw.beat_bytes)
        settled = -(-settled // again) * again
    if maps <= settled:
        return _Timing(hw, command, latency, bursts).run(maps)
    half, whole = (_Timing(hw, command, latency, bursts).run(count) for count in (settled // 2, settled))
    return whole + round((whole - half) * (maps - settled) / (settled - settled // 2))


class _Timing:
    """Times are cycles, counted from that in which the command is taken."""

    def __init__(self, hw: PoolParameters, command: Pooling, latency: int, bursts: int) -> None:
        self.command, self.latency = command, latency
        self.bursts = WriteBursts(bursts, latency)
        self.beat_bytes, self.result_beats = hw.beat_bytes, command.result_image(hw).row_beats
        self.rows, self.columns = command.axes()
        self.beat_elements = hw.beat_bytes // hw.operand_bytes
        self.cell = hw.cell
        self.row_beats = command.operand_image(hw).row_beats
        self.ring_rows = hw.depth // self.columns.operand
        self.loaded: list[int] = []
        """Cycle in which the last cell of a row enters the ring."""
        self.freed: list[int] = []
        """Cycle from which the cells of a row are room again."""
        self.index_taken = np.zeros(hw.row_depth + 1, np.int64)
        """When the packer took the last row_depth + 1 indexes."""
        self.stalls: list[tuple[int, int]] = []
        """From when to when each of the last results waited for the packer, the lanes behind it with it."""
        self.taken, self.gap = 0, 0
        """When the packer took its last cell, and cycles until it takes the next."""
        self.packed = 0
        """Rows packed."""

    @cached_property
    def pack_gaps(self) -> Cycles:
        """Cycles from the packer's taking a cell of a row to the next, at the least; from the last to the next row."""
        size = self.cell * (4 if self.command.wide else 1)
        filled = np.arange(self.columns.result) * size % self.beat_elements + size
        gaps: Cycles = np.maximum(1, filled // self.beat_elements)
        gaps[-1] = -(-filled[-1] // self.beat_elements)
        return gaps

    @cached_property
    def column_taps(self) -> Cycles:
        """Operand columns that each result pixel of a row reads."""
        return np.array([len(self.columns.window(pixel)) for pixel in range(self.columns.result)], np.int64)

    def run(self, maps: int) -> int:
        """Cycles until done_o."""
        tap = 2  # the cycle of the last tap
        for base in range(0, maps * self.rows.operand, self.rows.operand):
            for row in range(self.rows.result):
                window = self.rows.window(row)
                self._free(base + (window.start if row else 0), tap)
                start = tap + 1
                if window:
                    self._load(base + window.stop)
                    start = max(start, self.loaded[base + window.stop - 1] + 2)
                tap = self._row(np.maximum(self.column_taps * len(window), 1), start)
        self._free(maps * self.rows.operand, tap)
        return max(self.taken + self.gap + self.latency + 3, self.loaded[-1] + 2)

    def _load(self, rows: int) -> None:
        """Load rows up to this number."""
        elements, beats = self.beat_elements, self.row_beats
        held = min(beats, self.cell // elements + 1)  # beats that are unpacked while the ring has no room
        for row in range(len(self.loaded), rows):
            begin = self.loaded[-1] if self.loaded else self.latency + 3  # its first beat enters
            first = begin - (-self.cell // elements)
            if row >= self.ring_rows:
                first = max(first, self.freed[row - self.ring_rows])
            width = self.columns.operand
            self.loaded.append(max(begin + max(width, beats), first + max(width - 1, beats - held)))

    def _free(self, rows: int, tap: int) -> None:
        """Free rows up to this number; the last tap that reads one of them is in cycle ``tap``."""
        for row in range(len(self.freed), rows):
            self._load(row + 1)
            before = self.freed[-1] if self.freed else 0
            self.freed.append(max(before + 1, tap + 2, self.loaded[row] + 2))

    def _row(self, taps: Cycles, start: int) -> int:
        """Walk a row of result pixels from cycle ``start`` on and pack it; returns the cycle of the last tap."""
        if self.command.wide:
            return self._wide_row(taps, start)
        given = start - 1 + np.cumsum(taps) + _LANES  # to the queues
        indexed = self.command.mode == "max_index"
        if indexed:  # whose second is full as long as the index row_depth + 1 cells before waits
            since = np.cumsum(taps)
            given = since + np.maximum.accumulate(np.maximum(given, self.index_taken[: len(taps)] + 1) - since)
            self.index_taken = self.index_taken[len(taps) :]
        self._pack(given + _QUEUE)
        if indexed:
            self.index_taken = np.concatenate((self.index_taken, self._pack(given + _QUEUE)))
        return int(given[-1]) - _LANES

    def _wide_row(self, taps: Cycles, start: int) -> int:
        """The same for wide results: the lanes stand still while the packer takes no cell."""
        there = start + int(taps[0]) - 1 + _LANES
        for begin, end in self.stalls:
            if end > start and begin < there:
                there += end - max(begin, start)
        first = max(self.taken + self.gap, there)
        lasting = np.concatenate(([first - there], np.maximum(self.pack_gaps[:-1] - taps[1:], 0)))
        taken = first + np.cumsum(lasting + taps) - lasting[0] - taps[0]
        self.taken, self.gap = int(taken[-1]), int(self.pack_gaps[-1])
        ends = zip(taken[-_LANES - 1 :].tolist(), lasting[-_LANES - 1 :].tolist(), strict=True)
        self.stalls = [*self.stalls, *((end - cycles, end) for end, cycles in ends)][-_LANES - 1 :]
        tap = self.stalls[-1][0] - _LANES
        for begin, end in reversed(self.stalls[:-1]):
            if end > tap:
                tap -= end - begin
        return tap

    def _pack(self, there: Cycles) -> Cycles:
        """Pack a row whose cells are there in these cycles; returns when they are taken."""
        if self.bursts.unlimited:
            return self._take(there, self.pack_gaps)
        taken: list[Cycles] = []
        done = 0
        for begin, end in self._row_bursts():
            first, last = self._completes(begin), self._completes(end - 1)
            if first >= done:
                taken.append(self._take(there[done : first + 1], self.pack_gaps[done : first + 1]))
            given = max(self._given(begin, first), self.bursts.begin)
            self.gap += given - self._given(begin, first)  # the packer stands still behind a beat that waits
            if last > first:
                taken.append(self._take(there[first + 1 : last + 1], self.pack_gaps[first + 1 : last + 1]))
                self.bursts.end(self._given(end - 1, last))
            else:
                self.bursts.end(given + end - 1 - begin)
            done = last + 1
        return np.concatenate(taken)

    def _row_bursts(self) -> list[tuple[int, int]]:
        """The bursts of the next row: their first beats in it and those behind their last."""
        base = (self.command.index or 0) if self.packed % 2 else self.command.y
        address = base + self.packed // 2 * self.result_beats * self.beat_bytes
        self.packed += 1
        begins = burst_starts(address, self.result_beats, self.beat_bytes)
        return list(zip(begins, [*begins[1:], self.result_beats], strict=True))

    def _completes(self, beat: int) -> int:
        """The cell of a row that completes a beat of it."""
        return int(min(-(-(beat + 1) * self.beat_elements // self.cell), self.columns.result)) - 1

    def _given(self, beat: int, cell: int) -> int:
        """Cycle in which a beat can leave that the last cell taken completes."""
        return self.taken + 1 + beat - cell * self.cell // self.beat_elements

    def _take(self, there: Cycles, gaps: Cycles) -> Cycles:
        """Take cells that are there in these cycles, with these gaps behind them; returns when they are taken."""
        since = np.concatenate(([0], np.cumsum(gaps[:-1])))
        taken: Cycles = since + np.maximum(np.maximum.accumulate(there - since), self.taken + self.gap)
        self.taken, self.gap = int(taken[-1]), int(gaps[-1])
        return taken
