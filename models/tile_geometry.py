"""How lanes, buffers and the DRAM layout see a tile: one template, of which the tiled families are settings.

Lanes are unrolled over samples (b), output channels (m), input channels (n), rows (r) and columns (c) of the output.
Maps lie in DRAM in one of two ways. *Blocked*: [b/ub][n/nb][row][column][nb][ub], nb being the greatest common divisor
of the unrolled channels, so that input and output tiles both are whole blocks (EF-Train's layout where um = un).
*Planar*: [b/ub][channel][row][column][ub], every channel a burst of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.space import DesignPoint
from dse.workload import Precision

__all__ = ["AXES", "BUFFERS", "Int", "Lanes", "Memory", "Nest", "TileGeometry", "split_candidates"]

Int = NDArray[np.int64]

AXES = ("b", "m", "n", "r", "c")
"""The loops that lanes may unroll."""

BUFFERS = ("ifm_words", "ofm_words", "wei_words")
"""Depth of a bank of the input, output and weight buffers: the slack parameters of tiled families."""


@dataclass(frozen=True, slots=True)
class Nest:
    """One loop nest on the lanes of S points: channel counts as int64 [S,1], the other bounds the same for all."""

    phase: str
    is_fc: bool
    m: Int
    n: Int
    repeats: Int
    """How often the nest runs: once per set of groups that fits the lanes side by side."""
    side: Int
    """Groups that run side by side on the lanes, block-diagonally."""
    batch: Int
    """Rounds of samples that the lanes take together."""
    samples: Int
    """Samples of a round."""
    folded: bool
    """The batch stands in for the rows."""
    r: int
    c: int
    taps: int
    kr: int
    sr: int
    cols: int
    """Columns of the streamed map that a row of outputs needs."""
    sum_words: int
    """Words of the weight buffer that a running sum takes."""
    per_sample: bool = False
    """Each sample has weights of its own (a product of two activations): samples count as groups of a batch of one."""

    def take(self, rows: Int) -> Nest:
        """The nest on the points ``rows``."""
        names = ("m", "n", "repeats", "side", "batch", "samples")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def rows(self, t: Int) -> Int:
        """Rows of the streamed map that ``t`` output rows need."""
        return np.asarray((t - 1) * self.sr + self.kr)


@dataclass(frozen=True, slots=True)
class Lanes:
    """Unroll factors of S points, int64 [S,1] each."""

    b: Int
    m: Int
    n: Int
    r: Int
    c: Int

    def take(self, rows: Int) -> Lanes:
        """The lanes of the points ``rows``."""
        return Lanes(*(getattr(self, axis)[rows] for axis in AXES))

    @property
    def count(self) -> Int:
        """Multiplier-accumulators [S]."""
        return np.asarray((self.b * self.m * self.n * self.r * self.c)[..., 0])


@dataclass(frozen=True, slots=True)
class Memory:
    """One half of a double buffer: ``banks`` [S] that are addressed alone, each ``words`` [S] of ``bits`` wide."""

    banks: Int
    words: Int
    bits: int
    wide: bool
    """Whether a bank may be more than one word wide."""


def split_candidates(total: Int) -> Int:
    """The smallest tile for each number of tiles that ``total`` units [S,1] can be cut into; int64 [S,J], repeated."""
    q = int(np.ceil(np.sqrt(total.max())))
    small = np.arange(1, q + 1, dtype=np.int64)[None, :]
    tiles = np.concatenate([-(-total // small), np.minimum(small, total)], axis=1)
    return np.asarray(-(-total // tiles))


@dataclass(frozen=True)
class TileGeometry:
    """Arguments and results are int64 arrays that broadcast to [S,J], J being candidate tiles.

    ``chunk`` is the number of reduction channels per load, ``tr`` a tile's output rows, ``width`` the elements that a
    DMA port moves in a cycle. A *beat* is one cycle of a port; a *burst* is a run of consecutive DRAM addresses.
    """

    unrolled: Mapping[str, str]
    """Axis -> the parameter that unrolls it; the other axes have one lane."""
    planar: bool
    """The DRAM layout: channel by channel, or blocks of channels."""

    def lanes(self, point: DesignPoint) -> Lanes:
        """The unroll factors of ``point``."""
        one = np.ones_like(next(iter(point.values())))[..., None]
        return Lanes(**{a: point[self.unrolled[a]][..., None] if a in self.unrolled else one for a in AXES})

    def memories(self, lanes: Lanes, precision: Precision) -> tuple[Memory, Memory, Memory]:
        """The input, output and weight buffers, in the order of BUFFERS.

        Inputs interleave rows and columns over banks that are addressed alone, each the samples and channels of a pixel
        wide. Every lane but those along n has a running sum; every pair of channels has a weight.
        """
        one = np.ones_like(lanes.count)
        b, m, n, r, c = (getattr(lanes, axis)[..., 0] for axis in AXES)
        return (
            Memory(r * c, b * n, precision.bits, wide=not self.unrolled.keys().isdisjoint("bn")),
            Memory(one, b * m * r * c, precision.accumulator_bits, wide=True),
            Memory(one, m * n, precision.bits, wide=True),
        )

    def layout_block(self, lanes: Lanes) -> Int:
        """Channels that the DRAM layout keeps together."""
        return np.ones_like(lanes.m) if self.planar else np.gcd(lanes.m, lanes.n)

    def burst_channels(self, lanes: Lanes) -> Int:
        """Channels of a sample's map that are one burst where EF-Train moves it as its tiles do."""
        return np.full_like(lanes.m, np.iinfo(np.int64).max // 4) if self.planar else self.layout_block(lanes)

    def side_by_side(self, lanes: Lanes, m: Int, n: Int, groups: Int) -> Int:
        """Groups of ``m`` by ``n`` channels that are on the lanes at a time, their weights on the diagonal."""
        return np.asarray(np.clip(np.minimum(lanes.m // m, lanes.n // n), 1, groups))

    def row_lanes(self, lanes: Lanes, nest: Nest) -> Int:
        """Lanes along the rows; a batch that stands in for rows is walked by the lanes along samples too."""
        return lanes.r * lanes.b if nest.folded else lanes.r

    def row_candidates(self, lanes: Lanes, nest: Nest) -> Int:
        """Rows per tile worth trying.

        Where a beat or a lane may be left over, the last tile makes uneven tiles worth trying: every multiple of the
        lanes' rows. Else the even ones. A batch that stands in for rows is cut evenly.
        """
        unit = self.row_lanes(lanes, nest)
        even = unit * split_candidates(-(-np.full_like(nest.n, nest.r) // unit))
        ragged = np.full_like(unit, not nest.is_fc, dtype=bool) & (self.planar | (unit > 1))
        if not ragged.any():
            return even
        count = max(even.shape[1], int((-(-nest.r // unit[ragged])).max()))
        even = np.pad(even, ((0, 0), (0, count - even.shape[1])), mode="edge")
        multiples = np.minimum(unit * np.arange(1, count + 1, dtype=np.int64)[None, :], -(-nest.r // unit) * unit)
        return np.where(ragged, multiples, even)

    def chunks(self, lanes: Lanes, nest: Nest) -> list[Int]:
        """The chunk sizes worth trying.

        Blocked, what the lanes take at once. Planar, powers of four of that, and all: the longer the chunk, the fewer
        waits for the first load.
        """
        if not self.planar:
            return [lanes.n]
        most = int((-(-nest.n // lanes.n)).max())
        return [np.minimum(nest.n, lanes.n * 4**power) for power in range(((most - 1).bit_length() + 1) // 2 + 1)]

    def compute(self, lanes: Lanes, nest: Nest, chunk: Int, tr: Int) -> Int:
        """Cycles to compute one chunk's contribution to a tile: a tap and a block of pixels per cycle."""
        blocks = -(-tr // self.row_lanes(lanes, nest)) * -(-nest.c // lanes.c)
        return -(-chunk // lanes.n) * nest.taps * blocks

    def load_beats(self, lanes: Lanes, nest: Nest, chunk: Int, tr: Int, width: int) -> Int:
        """Beats to load one chunk of the streamed map.

        Blocked, a pixel's channels fill whole beats, and a layer with fewer channels stores only those. Planar, rows
        are packed into beats.
        """
        words = np.minimum(nest.n, chunk) * nest.samples
        if self.planar:
            return -(-words * nest.rows(tr) * nest.cols // width)
        return -(-words // width) * nest.rows(tr) * nest.cols

    def tile_beats(self, lanes: Lanes, nest: Nest, tr: Int, width: int) -> Int:
        """Beats to move one tile of outputs or errors."""
        if self.planar:
            return -(-np.minimum(lanes.m, nest.m) * nest.samples * tr * nest.c // width)
        return -(-lanes.m * nest.samples // width) * tr * nest.c

    def load_bursts(self, lanes: Lanes, nest: Nest, chunk: Int) -> Int:
        """Bursts of one chunk where a tile does not cover the map (one where it does)."""
        return -(-np.minimum(nest.n, chunk) // self.layout_block(lanes))

    def tile_bursts(self, lanes: Lanes) -> Int:
        """Bursts of one output tile where it does not cover the map (one where it does)."""
        return lanes.m // self.layout_block(lanes)

    def weight_beats(self, lanes: Lanes, nest: Nest, chunk: Int, width: int) -> Int:
        """Beats to move the weights of one output tile and chunk; those of side-by-side groups on the diagonal only."""
        if self.planar:
            return -(-lanes.m * chunk * nest.taps // width)
        words = -(-lanes.m * lanes.n // nest.side)
        return -(-words // width) * nest.taps

    def weight_fragments(self, lanes: Lanes, chunk: Int) -> Int:
        """Bursts per output tile and chunk that input_grad needs of weights laid out for forward.

        Blocked, transposed tiles meet the stored ones block by block: one burst only where um = un. Planar, each
        channel of the chunk is one.
        """
        if self.planar:
            return chunk
        block = self.layout_block(lanes)
        return (lanes.m // block) * (lanes.n // block)

    def map_words(self, lanes: Lanes, nest: Nest, chunk: Int, tr: Int) -> tuple[Int, Int]:
        """Words per bank that a chunk of the input and a tile of the output take in half a double buffer.

        EF-Train eqs. 29 and 30, banks interleaved over the lanes of pixels.
        """
        row_lanes = self.row_lanes(lanes, nest)
        ifm = -(-chunk // lanes.n) * -(-nest.rows(tr) // row_lanes) * -(-nest.cols // lanes.c)
        return ifm, -(-tr // row_lanes) * -(-nest.c // lanes.c) + 0 * chunk

    def weight_words(self, lanes: Lanes, nest: Nest) -> Int:
        """Words per bank that the weights of one output tile, over the whole reduction, take in half a buffer.

        A bank per pair of channels; the two halves of the double buffer hold alternate chunks (eq. 31). The gradients
        of weight_grad are as many, but each is ``sum_words`` words wide.
        """
        return np.asarray(nest.taps * -(-nest.n // (2 * lanes.n)))
