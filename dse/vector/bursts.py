"""Bursts of the DMA engines: where they are cut, and how long each waits for the end of an earlier one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator

__all__ = ["ReadBursts", "WriteBursts", "burst_starts", "covered", "repeated"]

_PAGE_BYTES, _BURST_BEATS = 4096, 256
"""The longest burst (ARM IHI 0022, A3.4.1); bursts end at multiples of it, as burst_split.sv cuts them."""
_ANSWERED = 2
"""Cycles from a response to the first beat of the burst that waits for it, which is counted and then started
(``done_q`` and ``sent_q`` of dma_write.sv)."""


def burst_starts(address: int, beats: int, beat_bytes: int) -> list[int]:
    """Beats, counted from 0, at which the bursts of a write of ``beats`` from byte ``address`` on begin."""
    longest = _longest(beat_bytes)
    return [0, *range(longest - address // beat_bytes % longest, beats, longest)]


def covered(most: int, beats: int, latency: int, beat_bytes: int) -> bool:
    """Whether writes of ``beats``, one behind the other, never wait with ``most`` bursts under way; 0: any number.

    Between a burst and the one that waits for it lie most - 1 others, cut at ends of writes and at boundaries.
    """
    longest = _longest(beat_bytes)
    return most == 0 or (most - 2) * beats * longest >= (latency + _ANSWERED - 1) * (beats + longest)


def repeated(beats: int, beat_bytes: int) -> int:
    """After how many writes of ``beats``, one behind the other, they are cut as the first ones were."""
    return math.lcm(_longest(beat_bytes), beats) // beats


def _longest(beat_bytes: int) -> int:
    return min(_PAGE_BYTES // beat_bytes, _BURST_BEATS)


class WriteBursts:
    """The bursts of one command, in order. ``most`` may be under way, 0: any number.

    ``latency`` is the memory's, in cycles from the last beat of a burst to its response.
    """

    def __init__(self, most: int, latency: int) -> None:
        self.latency = latency
        self._ends: deque[int] = deque([-latency - _ANSWERED] * most, maxlen=most)

    @property
    def unlimited(self) -> bool:
        """Whether no burst ever waits."""
        return self._ends.maxlen == 0

    @property
    def begin(self) -> int:
        """Cycle from which the first beat of the next burst is taken."""
        return self._ends[0] + self.latency + _ANSWERED if self._ends else 0

    def end(self, cycle: int) -> None:
        """The next burst's last beat is taken in this cycle."""
        self._ends.append(cycle)

    def later(self, cycles: int) -> None:
        """All that is known happened so much later."""
        self._ends = deque([end + cycles for end in self._ends], maxlen=self._ends.maxlen)


class ReadBursts:
    """The beats of a stream that is read, which are there one behind the other. ``most`` bursts may be under way.

    ``lengths`` are the beats of each burst. The first ones are asked for from cycle ``start`` on; ``latency`` is from
    the cycle after the one in which a burst is asked for, or in which one ended that it waited for, to its first beat.
    """

    def __init__(self, most: int, latency: int, start: int, lengths: Iterator[int]) -> None:
        self.latency, self._lengths = latency, lengths
        self._ends: deque[int] = deque([start] * most, maxlen=most)
        self._left, self._there = 0, 0

    @property
    def there(self) -> int:
        """The cycle from which the next beat is there."""
        if self._left == 0:
            self._left = next(self._lengths)
            self._there = max(self._there, self._ends[0] + 1 + self.latency)
        return self._there

    def take(self, cycle: int) -> None:
        """The next beat is taken in this cycle, in which it is there."""
        self._left -= 1
        self._there = cycle + 1
        if self._left == 0:
            self._ends.append(cycle)
