"""Cycles of a command of the channel unit behind DMA engines, whose bursts do not always cover the latency.

Reads wait until a burst may be asked for, and the lanes stand still while the output register is full: a skid buffer,
which holds two beats while a burst of writes waits for the response to an earlier one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from dse.vector.bursts import ReadBursts, WriteBursts, burst_starts, covered
from dse.vector.channel import ChannelOperation, channel_vector
from dse.vector.channel_timing import READS, ROWS, ChannelTiming

__all__ = ["channel_cycles"]

_ASKED = 2
"""Cycle in which the first DMA commands are taken."""
_HELD = 2
"""Beats that the output register holds (``skid_buffer.sv``)."""
_AHEAD = 4
"""Narrow elements left of a row's last beat when the next one is taken (``LargeCell`` of channel_loader.sv)."""
_SETTLED_BLOCKS, _SETTLED_STEPS = 16, 1 << 14
"""Channel blocks and steps after which both blocks are taken to follow each other at a constant distance."""


@lru_cache(maxsize=256)
def channel_cycles(command: ChannelOperation, latency: int = 1, bursts: int = 0) -> int:
    """Cycles from a command being taken to done_o, with a memory of a beat a cycle on every port.

    ``latency`` is the memory's: cycles from the one after a DMA command is taken to its first beat, and from the last
    beat written to its response. ``bursts`` are how many a DMA engine has under way, 0 for any number. Commands of very
    many channel blocks are timed on the first and extended at their pace.
    """
    if _covered(command, latency, bursts):
        return ChannelTiming(command, latency).run()
    planes, blocks, height, *_ = command.image.blocked.extents
    settled = max(_SETTLED_BLOCKS, _SETTLED_STEPS // (planes * height * command.image.row_beats))
    if blocks <= settled:
        return _Waiting(command, latency, bursts, blocks).run()
    half, whole = (_Waiting(command, latency, bursts, count).run() for count in (settled // 2, settled))
    return whole + round((whole - half) * (blocks - settled) / (settled - settled // 2))


def _covered(command: ChannelOperation, latency: int, bursts: int) -> bool:
    """Whether no stream ever waits: of bursts in a row enough are planes, even if a block's vectors come first."""
    rows = max(READS[command.kind], ROWS[command.kind])
    planes, _, height, *_ = command.image.blocked.extents
    blocks, rest = divmod(bursts - 2, rows + planes)
    long = blocks * planes + max(rest - rows, 0)
    return bursts == 0 or covered(long + 2, height * command.image.row_beats, latency, command.image.beat_bytes)


class _Waiting(ChannelTiming):
    """Steps one by one, each with the beats it takes and gives."""

    def __init__(self, command: ChannelOperation, latency: int, bursts: int, blocks: int) -> None:
        super().__init__(command, latency, blocks)
        self.a = ReadBursts(bursts, latency, _ASKED, self._lengths("a"))
        self.b = ReadBursts(bursts, latency, _ASKED, self._lengths("b"))
        self.w, self.w_lengths, self.w_left = WriteBursts(bursts, latency), self._lengths("w"), 0
        self.sent: deque[int] = deque([0] * _HELD, maxlen=_HELD)  # when the last beats left the output register
        self.results: deque[int] = deque()  # marks of results that are under way in the lanes
        self.stops, self.stood = [-1], [0]  # marks before which lanes stood still, and for how long up to each

    def run(self) -> int:
        super().run()
        return self.sent[-1] + self.latency + 3

    def _lengths(self, stream: str) -> Iterator[int]:
        """Beats of the bursts of a stream, in order, as its ``channel_requests.sv`` asks for them."""
        beat_bytes = self.command.image.beat_bytes
        for address, beats in self._transfers(stream):
            begins = burst_starts(address, beats, beat_bytes)
            yield from (end - begin for begin, end in zip(begins, [*begins[1:], beats], strict=True))

    def _transfers(self, stream: str) -> Iterator[tuple[int, int]]:
        """(byte address, beats) of the DMA commands of a stream."""
        command, backward = self.command, self.command.kind == "norm_backward"
        image = command.wide_image if (command.wide if stream == "a" else stream == "w" and backward) else command.image
        vectors = {"a": (), "b": command.reads, "w": command.writes}[stream]
        base = {"a": command.a, "b": command.b, "w": command.o or 0}[stream]
        has_planes = {"a": True, "b": backward, "w": command.results}[stream]
        samples, blocks, height, *_ = image.blocked.extents
        plane = height * image.row_beats
        order = ((block, False) for block in range(self.blocks)) if stream == "w" else self.passes()
        for block, second in order:
            for number, address in enumerate(() if second else vectors):
                beats = self._vector_beats(stream == "w" or (backward and number < 2))
                yield address + block * beats * image.beat_bytes, beats
            for sample in range(samples if has_planes else 0):
                yield base + (sample * blocks + block) * plane * image.beat_bytes, plane

    def _vector_beats(self, wide: bool) -> int:
        return channel_vector(self.command.image, wide).row_beats

    # The lanes.

    def _when(self, mark: int) -> int:
        while self.results and self.results[0] <= mark:
            self._leave()
        return mark + self.stood[bisect_right(self.stops, mark) - 1]

    def _leave(self) -> int:
        """The next result leaves the lanes, which stand still until it does; returns when."""
        mark = self.results.popleft()
        asked = mark + self.stood[-1]
        left = self._give(asked)
        if left > asked:
            self.stops.append(mark)
            self.stood.append(left - mark)
        return left

    def _give(self, cycle: int) -> int:
        """The next beat of results enters the output register in this cycle or as soon as it can; returns when."""
        cycle = max(cycle, self.sent[0] + 1)
        sent = max(cycle, self.sent[-1]) + 1
        if self.w_left == 0:
            self.w_left = next(self.w_lengths)
            sent = max(sent, self.w.begin)
        self.w_left -= 1
        if self.w_left == 0:
            self.w.end(sent)
        self.sent.append(sent)
        return cycle

    def _sweep(self, start: int, results: bool) -> None:
        both = self.command.kind == "norm_backward"
        planes, _, rows, *_ = self.command.image.blocked.extents
        cycle = start
        for taken, given in self._row_steps(results) * (planes * rows):
            cycle = max(cycle, self.a.there, self.b.there if both else 0)
            while self.results and self.results[0] + self.stood[-1] <= cycle:
                cycle = max(cycle, self._leave())
            if taken:
                self.a.take(cycle)
                if both:
                    self.b.take(cycle)
            if given:
                self.results.append(cycle - self.stood[-1] + self._result_stage)
            cycle += 1
        self.last, self.begin = cycle - 1 - self.stood[-1], cycle

    def _row_steps(self, results: bool) -> list[tuple[bool, bool]]:
        """Of each step of a row, whether beats that are read are taken, and whether one is written."""
        command = self.command
        if not (results and command.wide_steps):
            return [(True, results)] * command.image.row_beats
        steps = command.wide_image.row_beats
        ends = [step % 4 == 3 or step == steps - 1 for step in range(steps)]  # of the steps of a narrow beat
        return [(True, end) if command.wide else (end, True) for end in ends]

    # Vectors.

    def _load(self, start: int) -> int:
        element = start - 1
        for vector in range(READS[self.command.kind]):
            wide = self.command.kind == "norm_backward" and vector < 2
            size = 4 if wide else 1
            each = self.command.lanes // size
            taken = element  # with the last element of the vector before
            for first in range(0, self.block, each):
                early = element - _AHEAD // size if first else element
                taken = max(taken + (first > 0), early, self.b.there, start)
                self.b.take(taken)
                element = max(element, taken) + min(each, self.block - first)
        return element

    def _rows(self, start: int) -> int:
        each = max(self.command.lanes // 4, 1)
        entered = start
        for _ in range(ROWS[self.command.kind]):
            for first in range(0, self.block, each):
                entered = self._give(entered + min(each, self.block - first))
        return entered
