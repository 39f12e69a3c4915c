"""Cycles of a command of the channel unit, pass by pass, if the memory gives and takes a beat a cycle on every port.

A pass over a channel block takes a cycle a step (a group of elements, or a beat of wide ones). What else takes time:
vectors loaded before a pass, sums collected after it, statistics channel by channel, their rows stored. With two passes
the second one follows the first one over the next block; ``channel_sweeps.sv`` has the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from dse.vector.channel import COUNT_BITS, ChannelOperation

__all__ = ["channel_cycles", "shared_lanes"]

_SUM_STAGE = 8
"""Stage of the lanes from which terms go to the sums (``channel_lanes.sv``)."""
_NARROW_STAGE, _WIDE_STAGE = 9, 12
"""Stage from which results leave, narrow ones and those that ``channel_wide.sv`` makes."""
_READS = {"sum": 0, "bias": 1, "norm_forward": 2, "norm_backward": 3}
_ROWS = {"sum": 1, "bias": 0, "norm_forward": 2, "norm_backward": 2}


def channel_cycles(command: ChannelOperation, latency: int = 1) -> int:
    """Cycles from the command being taken to ``done_o``.

    ``latency`` is the memory's: cycles from the one after a DMA command is taken to its first beat, and from the last
    beat written to its response.
    """
    return _Timing(command, latency).run()


def shared_lanes(lanes: int, samples: int, channels: int) -> int:
    """How many of the lanes of a beat always hold the same channel, for blocks of samples and channels.

    As the functions of ``channel_pkg.sv``: neighbours, and those of other cells where whole cells fill a beat.
    """
    cell = samples * channels
    return min(samples & -samples, lanes) * (lanes // cell if lanes % cell == 0 else 1)


class _Timing:
    """Cycles in which things are ready, counted from the acceptance of the command."""

    def __init__(self, command: ChannelOperation, latency: int) -> None:
        self.command, self.latency = command, latency
        samples, channels = command.image.blocked.block
        self.terms = shared_lanes(command.lanes, samples, channels)
        self.chain = channels + command.lanes // self.terms
        self.begin = 2  # the walk looks for its next pass
        self.last = 0  # step
        self.read = [0, 0]  # the coefficients of a bank
        self.sums = self.begin + self.chain if command.sums else 0  # they are free
        self.computed = (-1, 0)  # statistics of a block whose rows are not stored yet
        self.totals = 0  # they are free; the rows are stored
        self.turn = 0  # rows may be stored
        self.finished = 0  # the last beat but those of the output register is stored

    def run(self) -> int:
        for block, second in self._passes():
            if self.command.sums and not second:
                self._first_pass(block)
            else:
                self._result_pass(block, second)
        self._store()
        return self.finished + self.latency + 4

    @property
    def block(self) -> int:
        return self.command.image.blocked.block[1]

    def _passes(self) -> Iterator[tuple[int, bool]]:
        """(channel block, whether it is the second pass over it), in the order of the walk."""
        blocks = self.command.image.blocked.extents[1]
        both = self.command.sums and self.command.results
        if both:
            yield 0, False
        for block in range(blocks):
            if not both:
                yield block, False
                continue
            if block + 1 < blocks:
                yield block + 1, False
            yield block, True

    def _sweep(self, block: int, start: int, wide: bool) -> None:
        """Steps from cycle ``start`` on, or from the first beat on."""
        image = self.command.wide_image if wide else self.command.image
        blocks, _, rows, *_ = image.blocked.extents
        self.last = max(start, 3 + self.latency) + blocks * rows * image.row_beats - 1
        self.begin = self.last + 1
        self.read[block % 2] = self.last + _WIDE_STAGE + 1

    def _loaded(self, block: int, start: int) -> int:
        """When the pass begins that may begin in cycle ``start``, after its vectors."""
        reads = _READS[self.command.kind]
        start = max(start, self.read[block % 2]) if reads else start
        return max(start + 1, 3 + self.latency) + reads * self.block + 1 if reads else start + 1

    def _first_pass(self, block: int) -> None:
        command = self.command
        self._sweep(block, self._loaded(block, max(self.begin, self.sums)), wide=False)
        self._store()
        added = self.last + _SUM_STAGE + (self.terms - 1).bit_length() + 1
        self.sums = max(added, self.totals) + 1 + self.chain
        channels = min(self.block, command.image.blocked.shape[1] - block * self.block)
        self.computed = (block, self.sums + self._statistics(channels))

    def _store(self) -> None:
        """The rows of the block whose statistics are done, if they are not stored."""
        block, computed = self.computed
        if block >= 0:
            self.finished = max(computed, self.turn) + 1 + _ROWS[self.command.kind] * self.block
            self.totals = self.finished + 2
        self.computed = (-1, 0)

    def _result_pass(self, block: int, second: bool) -> None:
        wide = self.command.wide or self.command.kind == "norm_backward"
        if second and self.computed[0] == block:
            self._store()
        start = max(self.begin, self.totals) + 1 if second else self._loaded(block, self.begin)
        self._sweep(block, start, wide)
        self.finished = self.last + (_WIDE_STAGE if wide else _NARROW_STAGE)
        self.turn = self.finished + 1

    def _statistics(self, channels: int) -> int:
        """Cycles for the channels of a block, one behind the other (``channel_statistics.sv``)."""
        if self.command.kind == "sum":
            return 0
        root, quotient = COUNT_BITS + self.command.bits - 1, 2 * self.command.bits + 7
        entries = channels * (max(root, quotient) + 1) + 1
        return entries + (root + quotient + 2 if self.command.kind == "norm_forward" else 0)
