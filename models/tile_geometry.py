"""How a family's lanes, buffers and DRAM layout see a tile: the part in which tiled families differ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.space import DesignPoint
from dse.workload import Precision

__all__ = ["BUFFERS", "Int", "Memory", "Nest", "TileGeometry", "split_candidates"]

Int = NDArray[np.int64]

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
    batch: int
    r: int
    c: int
    taps: int
    kr: int
    sr: int
    cols: int
    """Columns of the streamed map that a row of outputs needs."""
    sum_words: int
    """Words of the weight buffer that a running sum takes."""

    def rows(self, t: Int) -> Int:
        """Rows of the streamed map that ``t`` output rows need."""
        return np.asarray((t - 1) * self.sr + self.kr)


@dataclass(frozen=True, slots=True)
class Memory:
    """One half of a double buffer: ``banks`` [S] of ``bits`` wide words; ``wide`` where all banks share an address."""

    banks: Int
    bits: int
    wide: bool


def split_candidates(total: Int) -> Int:
    """The smallest tile for each number of tiles that ``total`` units [S,1] can be cut into; int64 [S,J], repeated."""
    q = int(np.ceil(np.sqrt(total.max())))
    small = np.arange(1, q + 1, dtype=np.int64)[None, :]
    tiles = np.concatenate([-(-total // small), np.minimum(small, total)], axis=1)
    return np.asarray(-(-total // tiles))


class TileGeometry(ABC):
    """All arguments and results are int64 arrays that broadcast to [S,J], J being candidate tiles.

    ``chunk`` is the number of reduction channels per load, ``tr`` a tile's output rows, ``width`` the elements that a
    DMA port moves in a cycle. A *beat* is one cycle of a port; a *burst* is a run of consecutive DRAM addresses.
    """

    def side_by_side(self, point: DesignPoint, m: Int, n: Int, groups: Int) -> Int:
        """Groups of a grouped convolution, ``m`` and ``n`` channels each, that share the lanes at a time."""
        return np.ones_like(groups)

    def row_candidates(self, point: DesignPoint, nest: Nest) -> Int:
        """Rows per tile worth trying: the even ones."""
        return split_candidates(np.full_like(nest.n, nest.r))

    @abstractmethod
    def memories(self, point: DesignPoint, precision: Precision) -> tuple[Memory, Memory, Memory]:
        """The input, output and weight buffers, in the order of BUFFERS."""

    @abstractmethod
    def layout_block(self, point: DesignPoint) -> Int:
        """Channels that the DRAM layout keeps together."""

    @abstractmethod
    def m_tile(self, point: DesignPoint) -> Int:
        """Output channels of a tile."""

    @abstractmethod
    def chunks(self, point: DesignPoint, nest: Nest) -> list[Int]:
        """The chunk sizes worth trying."""

    @abstractmethod
    def compute(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int) -> Int:
        """Cycles to compute one chunk's contribution to a tile."""

    @abstractmethod
    def load_beats(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int, width: int) -> Int:
        """Beats to load one chunk of the streamed map."""

    @abstractmethod
    def tile_beats(self, point: DesignPoint, nest: Nest, tr: Int, width: int) -> Int:
        """Beats to move one tile of outputs or errors."""

    @abstractmethod
    def load_bursts(self, point: DesignPoint, nest: Nest, chunk: Int) -> Int:
        """Bursts of one chunk where a tile does not cover the map (one where it does)."""

    @abstractmethod
    def tile_bursts(self, point: DesignPoint) -> Int:
        """Bursts of one output tile where it does not cover the map (one where it does)."""

    @abstractmethod
    def weight_beats(self, point: DesignPoint, nest: Nest, chunk: Int, width: int) -> Int:
        """Beats to move the weights of one output tile and chunk."""

    @abstractmethod
    def weight_fragments(self, point: DesignPoint, chunk: Int) -> Int:
        """Bursts per output tile and chunk that input_grad needs of weights laid out for forward."""

    @abstractmethod
    def map_words(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int) -> tuple[Int, Int]:
        """Words per bank that a chunk of the input and a tile of the output take in half a double buffer."""

    @abstractmethod
    def weight_words(self, point: DesignPoint, nest: Nest) -> Int:
        """Words per bank that the weights of one output tile, over the whole reduction, take in half a buffer.

        The gradients of weight_grad are as many, but each is ``sum_words`` words wide.
        """
