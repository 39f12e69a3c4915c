"""Cycles of a command of the engine behind the DMA engines, whose writes wait where bursts do not cover the latency."""

from __future__ import annotations

from collections.abc import Iterator

from dse.engine import EngineLayout, EngineParameters, PhaseNest, Tiling, command_cycles
from dse.engine.runs import result_run
from dse.engine.timing import CommandTiming, TimedTile
from dse.vector.bursts import WriteBursts, burst_starts, covered, repeated

__all__ = ["BURSTS", "engine_cycles"]

BURSTS = 8
"""Bursts that a DMA engine has under way (``MaxOutstanding`` of dma_read.sv and dma_write.sv)."""


def engine_cycles(hw: EngineParameters, nest: PhaseNest, tiling: Tiling, latency: int, raw: bool) -> int:
    """Cycles of a command from the one in which the engine takes it to that of ``done_o``, behind the DMA engines."""
    if covered(BURSTS, _row_beats(hw, nest, raw), latency, hw.beat_bytes):
        return command_cycles(hw, nest, tiling, latency, raw, BURSTS) - 1
    return _WaitingStore(hw, nest, tiling, latency, raw, BURSTS).run() - 1


def _row_beats(hw: EngineParameters, nest: PhaseNest, raw: bool) -> int:
    if nest.phase == "weight_grad":
        return EngineLayout.weights(hw, nest.conv, raw).row_beats
    return EngineLayout.features(hw, nest.conv, nest.phase == "forward", raw).row_beats


class _WaitingStore(CommandTiming):
    """The engine, its beats held up until a burst may begin. The packer and all behind it stand still meanwhile."""

    def __init__(
        self, hw: EngineParameters, nest: PhaseNest, tiling: Tiling, latency: int, raw: bool, bursts: int
    ) -> None:
        super().__init__(hw, nest, tiling, latency, raw, bursts)
        self.row_beats = _row_beats(hw, nest, raw)
        cell = hw.channel_block * (1 if self.gradient else hw.ub) * (hw.wide_bytes if raw else hw.operand_bytes)
        self.first_beat = min(-(-hw.beat_bytes // (cell * result_run(hw, nest))), self.gaps.row)
        """Cycles from a row's first cell or run to its first beat."""
        self.writes = WriteBursts(bursts, latency)

    def _store(self, tile: TimedTile, end: int, start: int) -> tuple[int, int]:
        idle, freed = super()._store(tile, end, start)
        wait = self._wait(tile)
        self.packer_free += wait
        return idle + wait, freed + wait

    def _wait(self, tile: TimedTile) -> int:
        """Cycles by which the packer ends a tile later than without waits, with which it would now be free."""
        rows, addresses = self._bursts(tile)
        parts = tile.m_blocks if self.mask_cycles else 1
        pause = max(self.mask_cycles + 2 - self.gaps.last, 0)
        duration = rows * self.gaps.row
        at = self.packer_free - len(addresses) * duration - (parts - 1) * pause
        timed = 2 * max(repeated(rows * self.row_beats, self.hw.beat_bytes), BURSTS)
        delay = half = 0
        for number, address in enumerate(addresses):
            if number == timed // 2:
                half = delay
            if number == timed:  # the others at the pace of the last ones
                more = round((len(addresses) - timed) * (delay - half) / (timed - timed // 2))
                self.writes.later((len(addresses) - timed) * duration + more)
                return delay + more
            delay = self._write(at, rows, address, delay)
            at += duration + (pause if (number + 1) % (len(addresses) // parts) == 0 else 0)
        return delay

    def _write(self, at: int, rows: int, address: int, delay: int) -> int:
        """One write whose first cell enters in cycle ``at``, or so much later; by how much later it ends."""
        beats = rows * self.row_beats
        begins = burst_starts(address * self.hw.beat_bytes, beats, self.hw.beat_bytes)
        for begin, end in zip(begins, [*begins[1:], beats], strict=True):
            first = at + self._given(begin)
            delay = max(delay, self.writes.begin - first)
            self.writes.end(at + self._given(end - 1) + delay)
        return delay

    def _given(self, beat: int) -> int:
        """Cycles from a write's first cell to a beat of it."""
        row, beat = divmod(beat, self.row_beats)
        between = max(self.row_beats - 1, 1)
        return row * self.gaps.row + self.first_beat + beat * (self.gaps.row - self.first_beat) // between

    def _bursts(self, tile: TimedTile) -> tuple[int, list[int]]:
        """Rows of each write of a tile, and where they begin, in beats from the result's first on."""
        return (1, list(self._gradient_bursts(tile))) if self.gradient else self._map_bursts(tile)

    def _gradient_bursts(self, tile: TimedTile) -> Iterator[int]:
        nest, block = self.nest, self.hw.channel_block
        m_blocks, n_blocks = -(-nest.m // block), -(-nest.n // block)
        part, m, n, *_ = tile.place
        m, n = m * self.tiling.m_groups * self.hw.um // block, n * self.tiling.n_groups * self.hw.un // block
        for m_block in range(m, m + tile.m_blocks):
            for n_block in range(n, n + tile.n_blocks):
                yield ((part * m_blocks + m_block) * n_blocks + n_block) * self.row_beats

    def _map_bursts(self, tile: TimedTile) -> tuple[int, list[int]]:
        nest, block = self.nest, self.hw.channel_block
        first = nest.row.first_class
        top = max(tile.row * nest.row.classes - first, 0)
        bottom = min((tile.row + tile.rows) * nest.row.classes - first, nest.row.result)
        m_blocks = -(-nest.m // block)
        part, m, _, b, _ = tile.place
        m, b = m * self.tiling.m_groups * self.hw.um // block, b * self.tiling.b_blocks
        places = [
            ((b_block * nest.sets + part) * m_blocks + m_block) * nest.row.result + top
            for m_block in range(m, m + tile.m_blocks)
            for b_block in range(b, b + tile.b_blocks)
        ]
        return bottom - top, [place * self.row_beats for place in places]
