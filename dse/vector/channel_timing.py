"""When passes of a command of the channel unit begin and end, if memory moves a beat a cycle on every port.

A pass over a channel block takes a cycle a step (a group of elements, or a beat of wide ones). What else takes time:
vectors loaded before a pass, sums collected after it, statistics channel by channel, their rows stored. With two passes
the second one follows the first one over the next block; ``channel_sweeps.sv`` has the order.
"""

from __future__ import annotations

from collections.abc import Iterator

from dse.vector.channel import COUNT_BITS, ChannelOperation

__all__ = ["READS", "ROWS", "ChannelTiming", "shared_lanes"]

_SUM_STAGE = 8
"""Stage of the lanes from which terms go to the sums (``channel_lanes.sv``)."""
_NARROW_STAGE, _WIDE_STAGE = 9, 12
"""Stage from which results leave, narrow ones and those that ``channel_wide.sv`` makes."""
READS = {"sum": 0, "bias": 1, "norm_forward": 2, "norm_backward": 3}
ROWS = {"sum": 1, "bias": 0, "norm_forward": 2, "norm_backward": 2}
"""Vectors read before a pass, and stored behind it."""


def shared_lanes(lanes: int, samples: int, channels: int) -> int:
    """How many of the lanes of a beat always hold the same channel, for blocks of samples and channels.

    As the functions of ``channel_pkg.sv``: neighbours, and those of other cells where whole cells fill a beat.
    """
    cell = samples * channels
    return min(samples & -samples, lanes) * (lanes // cell if lanes % cell == 0 else 1)


class ChannelTiming:
    """Cycles are counted from the acceptance of the command.

    ``latency`` is the memory's: cycles from the one after a DMA command is taken to its first beat, and from the last
    beat written to its response. ``blocks`` limits the channel blocks, None for all. A *mark* is a cycle of the lanes,
    which ``_when`` turns into one of the clock: the same where lanes never stand still.
    """

    def __init__(self, command: ChannelOperation, latency: int, blocks: int | None = None) -> None:
        self.command, self.latency = command, latency
        self.block = command.image.blocked.block[1]
        self.blocks = blocks or command.image.blocked.extents[1]
        samples, channels = command.image.blocked.block
        self.terms = shared_lanes(command.lanes, samples, channels)
        self.chain = channels + command.lanes // self.terms
        self.begin = 2  # the walk looks for its next pass
        self.last = 0  # mark of the last step
        self.read = [0, 0]  # marks: the coefficients of a bank are read
        self.sums = self.begin + self.chain if command.sums else 0  # they are free
        self.computed = (-1, 0)  # statistics of a block whose rows are not stored yet
        self.totals = 0  # they are free; the rows are stored
        self.left = -1  # mark: the last result of the last pass leaves the lanes
        self.stored = 0  # the last beat of rows is in the output register

    def run(self) -> int:
        """Cycles to ``done_o``."""
        for block, second in self.passes():
            if self.command.sums and not second:
                self._first_pass(block)
            else:
                self._result_pass(block, second)
        self._store()
        return max(self.stored, self._when(self.left)) + self.latency + 4

    def passes(self) -> Iterator[tuple[int, bool]]:
        """(channel block, whether it is the second pass over it), in the order of the walk."""
        both = self.command.sums and self.command.results
        if both:
            yield 0, False
        for block in range(self.blocks):
            if not both:
                yield block, False
                continue
            if block + 1 < self.blocks:
                yield block + 1, False
            yield block, True

    def _when(self, mark: int) -> int:
        """The cycle of a mark."""
        return mark

    def _sweep(self, start: int, results: bool) -> None:
        """Steps from cycle ``start`` on, or from the first beat on."""
        image = self.command.wide_image if results and self.command.wide_steps else self.command.image
        blocks, _, rows, *_ = image.blocked.extents
        self.last = max(start, 3 + self.latency) + blocks * rows * image.row_beats - 1
        self.begin = self.last + 1

    def _load(self, start: int) -> int:
        """When the last element of the vectors is there that are taken from cycle ``start`` on."""
        return max(start, 3 + self.latency) + READS[self.command.kind] * self.block

    def _rows(self, start: int) -> int:
        """When the last beat is in the output register of rows whose first element is packed in cycle ``start``."""
        return start + ROWS[self.command.kind] * self.block

    def _loaded(self, block: int, start: int) -> int:
        """When the pass begins that may begin in cycle ``start``, after its vectors."""
        if not READS[self.command.kind]:
            return start + 1
        return self._load(max(start, self._when(self.read[block % 2])) + 1) + 1

    def _first_pass(self, block: int) -> None:
        self._sweep(self._loaded(block, max(self.begin, self.sums)), results=False)
        self.read[block % 2] = self.last + _WIDE_STAGE + 1
        self._store()
        added = self._when(self.last + _SUM_STAGE) + (self.terms - 1).bit_length() + 1
        self.sums = max(added, self.totals) + 1 + self.chain
        channels = min(self.block, self.command.image.blocked.shape[1] - block * self.block)
        self.computed = (block, self.sums + self._statistics(channels))

    def _store(self) -> None:
        """The rows of the block whose statistics are done, if they are not stored."""
        block, computed = self.computed
        if block >= 0:
            self.stored = self._rows(max(computed, self._when(self.left) + 1) + 1)
            self.totals = self.stored + 2
        self.computed = (-1, 0)

    def _result_pass(self, block: int, second: bool) -> None:
        if second and self.computed[0] == block:
            self._store()
        self._sweep(max(self.begin, self.totals) + 1 if second else self._loaded(block, self.begin), results=True)
        self.read[block % 2] = self.last + _WIDE_STAGE + 1
        self.left = self.last + self._result_stage

    @property
    def _result_stage(self) -> int:
        """Stage from which results leave."""
        return _WIDE_STAGE if self.command.wide_steps else _NARROW_STAGE

    def _statistics(self, channels: int) -> int:
        """Cycles for the channels of a block, one behind the other (``channel_statistics.sv``)."""
        if self.command.kind == "sum":
            return 0
        root, quotient = COUNT_BITS + self.command.bits - 1, 2 * self.command.bits + 7
        entries = channels * (max(root, quotient) + 1) + 1
        return entries + (root + quotient + 2 if self.command.kind == "norm_forward" else 0)
