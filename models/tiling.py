"""The exact inner search: how each layer's phase is cut into tiles on given lanes and buffers.

Tiles are ``tr`` output rows (all columns), ``m_on`` output channels whose weights stay on chip and ``tn`` reduction
channels per load. Of two tilings with as many tiles the more even one is nowhere slower (see ``tile_pipeline``), and
more weights on chip are never slower in forward and weight_grad, so a few candidates are the whole search. The tests
compare with all tilings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import BOUNDS, Float
from dse.models.loop_nest import LoopNests
from dse.models.tile_geometry import Int, Lanes, Nest, TileGeometry, split_candidates
from dse.models.tile_pipeline import TileCounts, TileReading, TileTimes, convolve_cycles, weight_grad_cycles
from dse.space import DesignPoint
from dse.workload import PHASES, Workload

__all__ = ["COMPUTE", "DMA", "Solved", "TiledReading", "TilingProblem"]

Array = NDArray[Any]
"""Counts, cycles or truth values."""

COMPUTE, DMA = np.int8(BOUNDS.index("compute")), np.int8(BOUNDS.index("dma"))


@dataclass(frozen=True, slots=True)
class TiledReading:
    """Settings of a tiled model beyond those of its tile pipeline."""

    tiles: TileReading
    memory_time: bool = True
    """Loads and stores take time at all."""
    layout_penalty: bool = True
    """A burst is broken where the DRAM layout's channel blocks do not match a tile."""
    fold_fc: bool = True
    """A fully connected layer walks the batch as if it were the rows of a map, so that weights are loaded once."""
    auxiliary: str = "all"
    """Which auxiliary operations take time: ``all``, or those ``published`` to."""


@dataclass(frozen=True, slots=True)
class Solved:
    """The chosen tiling of one nest on S points; arrays [S]."""

    cycles: Float
    update: Float
    dram_bytes: Float
    bound: Array
    tiles: Mapping[str, Int]
    need: tuple[Int, ...]
    """Words per bank of the input, output and weight buffers."""
    fits: Array

    def better(self, other: Solved) -> Solved:
        """Point by point the one that fits and is faster, self where equal."""
        slower = other.cycles + other.update < self.cycles + self.update
        take = np.where(self.fits == other.fits, slower, other.fits > self.fits)

        def pick(a: Array, b: Array) -> Array:
            return np.where(take, b, a)

        return Solved(
            cycles=pick(self.cycles, other.cycles),
            update=pick(self.update, other.update),
            dram_bytes=pick(self.dram_bytes, other.dram_bytes),
            bound=pick(self.bound, other.bound),
            tiles={k: pick(v, other.tiles[k]) for k, v in self.tiles.items()},
            need=tuple(pick(a, b) for a, b in zip(self.need, other.need, strict=True)),
            fits=pick(self.fits, other.fits),
        )


@dataclass(frozen=True)
class TilingProblem:
    """One loop nest on S points: its tile times for any tiling, and the best tiling."""

    geometry: TileGeometry
    workload: Workload
    device: Device
    reading: TiledReading
    point: DesignPoint
    lanes: Lanes
    nest: Nest

    @staticmethod
    def of(
        geometry: TileGeometry, workload: Workload, device: Device, reading: TiledReading, point: DesignPoint,
        nests: LoopNests, k: int,
    ) -> TilingProblem:  # fmt: skip
        """The problem of nest number ``k``."""
        lanes, batch = geometry.lanes(point), workload.batch_size
        m, n, groups = (np.full_like(lanes.m, int(column[k])) for column in (nests.m, nests.n, nests.groups))
        side = geometry.side_by_side(lanes, m, n, groups)
        is_fc = bool(nests.is_fc[k])
        fold = is_fc and reading.fold_fc
        nest = Nest(
            phase=PHASES[int(nests.phase[k])],
            is_fc=is_fc,
            m=m * side,
            n=n * side,
            repeats=-(-groups // side),
            side=side,
            batch=np.ones_like(m) if fold else -(-batch // lanes.b),
            samples=np.ones_like(m) if fold else np.minimum(lanes.b, batch),
            folded=fold,
            r=batch if fold else int(nests.r[k]),
            c=int(nests.c[k]),
            taps=int(nests.taps[k]),
            kr=int(nests.kr[k]),
            sr=int(nests.sr[k]),
            cols=int((nests.c[k] - 1) * nests.sc[k] + nests.kc[k]),
            sum_words=-(-workload.precision.accumulator_bits // workload.precision.bits),
        )
        return TilingProblem(geometry, workload, device, reading, point, lanes, nest)

    @property
    def width(self) -> int:
        """Elements that a DMA port moves in a cycle."""
        return max(self.device.dma_port_bits // self.workload.precision.bits, 1)

    @property
    def _restart(self) -> int:
        return self.device.dma_restart_cycles if self.reading.memory_time else 0

    def best(self, fixed: Mapping[str, int]) -> Solved:
        """The fastest tiling that fits the buffers (the smallest where none does), the tiles in ``fixed`` given."""
        chunks = self.geometry.chunks(self.lanes, self.nest)
        if "tn" in fixed:
            chunks = [np.minimum(np.full_like(self.nest.n, fixed["tn"]), self.nest.n)]
        found = self._best_of(chunks[0], fixed)
        for chunk in chunks[1:]:
            found = found.better(self._best_of(chunk, fixed))
        return found

    def floor_cycles(self) -> Float:
        """No tiling on these lanes takes fewer cycles, update included, float [S].

        The lanes compute the whole map once per output tile; the map is loaded as often, and all weights once. Each of
        the three goes on by itself, so that the longest is a bound.
        """
        g, lanes, nest = self.geometry, self.lanes, self.nest
        rows, tiles = np.full_like(nest.n, nest.r), -(-nest.m // lanes.m)
        restart = 0 if nest.is_fc else self._restart
        paces = []
        for chunk in g.chunks(lanes, nest):
            pace = nest.batch * g.compute(lanes, nest, chunk, rows)
            if self.reading.memory_time and nest.kr >= nest.sr:
                load = restart + g.load_beats(lanes, nest, chunk, rows, self.width)
                pace = np.maximum(pace, nest.batch * load)
            if self.reading.memory_time and not self.reading.tiles.hide_first_weights:
                pace = np.maximum(pace, g.weight_beats(lanes, nest, chunk, self.width))
            paces.append(-(-nest.n // chunk) * pace.astype(np.float64))
        return np.asarray((nest.repeats * tiles * np.min(paces, axis=0))[:, 0])

    def times(self, chunk: Int, tr: Int, row_tiles: Int) -> TileTimes:
        """Cycles of a tile of ``tr`` rows where the map is cut into ``row_tiles``."""
        g, lanes, nest, width = self.geometry, self.lanes, self.nest, self.width
        compute = g.compute(lanes, nest, chunk, tr)
        if not self.reading.memory_time:
            return TileTimes(np.zeros_like(compute), compute, np.zeros_like(compute), np.zeros_like(compute))
        covers = row_tiles == 1
        penalty = self.reading.layout_penalty
        loads = np.where(covers, 1, g.load_bursts(lanes, nest, chunk)) if penalty else np.ones_like(tr)
        moves = np.where(covers, 1, g.tile_bursts(lanes)) if penalty else np.ones_like(tr)
        # Chunks of a fully connected layer follow each other in DRAM: a restart would be between layers only.
        restart = 0 if nest.is_fc else self._restart
        beats = g.tile_beats(lanes, nest, tr, width)
        return TileTimes(
            load=restart * loads + g.load_beats(lanes, nest, chunk, tr, width),
            compute=compute,
            store=np.where(moves > 1, restart * moves, 0) + beats,
            error=restart * moves + beats,
        )

    def _best_of(self, chunk: Int, fixed: Mapping[str, int]) -> Solved:
        g, lanes, nest = self.geometry, self.lanes, self.nest
        tr = np.full_like(nest.n, fixed["tr"]) if "tr" in fixed else g.row_candidates(lanes, nest)
        tr = np.minimum(tr, nest.r)
        row_tiles = -(-nest.r // tr)
        full, last = self.times(chunk, tr, row_tiles), self.times(chunk, nest.r - (row_tiles - 1) * tr, row_tiles)
        m_tile, weight_words = lanes.m, g.weight_words(lanes, nest)
        if nest.phase == "weight_grad":
            weight_words = weight_words * nest.sum_words
        m_tiles = -(-nest.m // m_tile)
        if "m_on" in fixed:
            on_chip = np.minimum(-(-fixed["m_on"] // m_tile), m_tiles)
        else:
            on_chip = np.clip(self.point["wei_words"][:, None] // weight_words, 1, m_tiles)
        restart = np.asarray(0 if nest.is_fc else self._restart)
        counts = TileCounts(nest.batch, row_tiles, m_tiles, -(-nest.n // chunk), -(-m_tiles // on_chip), restart)
        cycles, update, on_chip = self._cycles(full, last, counts, chunk, on_chip, "m_on" in fixed)
        ifm, ofm = g.map_words(lanes, nest, chunk, tr)
        fits = (ifm <= self.point["ifm_words"][:, None]) & (ofm <= self.point["ofm_words"][:, None])
        pick = _choose(cycles + update, fits, tr)

        def at(array: Array) -> Array:
            return np.take_along_axis(np.broadcast_to(array, pick.shape[:1] + cycles.shape[1:]), pick, axis=1)[:, 0]

        waits = (full.load > full.compute) | (full.store > counts.n_chunks * full.compute)
        repeats, rows, kept = nest.repeats[:, 0], at(tr)[:, None], at(on_chip)[:, None]
        return Solved(
            cycles=at(cycles) * repeats,
            update=at(update) * repeats,
            dram_bytes=self._traffic(chunk, rows)[:, 0] * repeats,
            bound=np.where(at(waits), DMA, COMPUTE),
            tiles={
                "tr": rows[:, 0],
                "m_on": np.minimum(kept * m_tile, nest.m)[:, 0],
                "tn": np.minimum(chunk, nest.n)[:, 0],
            },
            need=(at(ifm), at(ofm), (weight_words * kept)[:, 0]),
            fits=at(fits),
        )

    def _cycles(
        self, full: TileTimes, last: TileTimes, counts: TileCounts, chunk: Int, on_chip: Int, fixed: bool
    ) -> tuple[Float, Float, Int]:
        """Cycles of the nest [S,J], of its update, and the m tiles on chip at that."""
        weights = np.zeros_like(chunk)
        if self.reading.memory_time:
            weights = self.geometry.weight_beats(self.lanes, self.nest, chunk, self.width)
        tiles = self.reading.tiles
        if self.nest.phase == "weight_grad":
            cycles, update = weight_grad_cycles(full, last, counts, weights, tiles)
            return cycles, update, on_chip
        if self.nest.phase == "input_grad":
            cycles, on_chip = self._input_grad(full, last, counts, chunk, weights, on_chip, fixed)
        else:
            cycles = convolve_cycles(full, last, counts, weights, None, tiles)
        return cycles, np.zeros(cycles.shape), on_chip

    def _input_grad(
        self, full: TileTimes, last: TileTimes, counts: TileCounts, chunk: Int, weights: Int, most: Int, fixed: bool
    ) -> tuple[Float, Int]:
        """Cycles [S,J] at the best number of m tiles on chip, and that number [S,J]: a third axis searches it."""
        on_chip = most[:, :, None] if fixed else np.minimum(split_candidates(counts.m_tiles), most)[:, None, :]
        m_tile, channels = self.lanes.m[:, :, None], self.nest.m[:, :, None]
        groups = channels // (on_chip * m_tile)
        rest = -(-(channels - groups * on_chip * m_tile) // m_tile)
        deep_counts = replace(
            counts,
            batch=counts.batch[:, :, None],
            row_tiles=counts.row_tiles[:, :, None],
            m_tiles=counts.m_tiles[:, :, None],
            n_chunks=counts.n_chunks[:, :, None],
            m_groups=groups + (rest > 0),
        )
        one = self._group_load(np.minimum(on_chip, counts.m_tiles[:, :, None]), chunk, weights)
        remainder = np.where(rest > 0, self._group_load(rest, chunk, weights), 0)
        group_weights = (groups, one, remainder)
        cycles = convolve_cycles(_deep(full), _deep(last), deep_counts, one, group_weights, self.reading.tiles)
        pick = np.argmin(cycles, axis=2)[:, :, None]
        return (
            np.take_along_axis(cycles, pick, axis=2)[:, :, 0],
            np.take_along_axis(np.broadcast_to(on_chip, cycles.shape), pick, axis=2)[:, :, 0],
        )

    def _group_load(self, m_tiles: Int, chunk: Int, weights: Int) -> Int:
        """Cycles to load the weights of ``m_tiles`` output tiles and one chunk, against the layout's grain."""
        restart = 0 if self.nest.is_fc else self._restart
        bursts = np.ones_like(m_tiles)
        if self.reading.layout_penalty:
            fragments = self.geometry.weight_fragments(self.lanes, chunk)[:, :, None]
            bursts = np.where(fragments > 1, fragments * m_tiles, 1)
        return weights[:, :, None] * m_tiles + restart * bursts

    def _traffic(self, chunk: Int, tr: Int) -> Float:
        """DRAM bytes of the nest run once [S,1], weights of the update not counted."""
        nest, maps = self.nest, 1 if self.nest.folded else self.workload.batch_size
        m_tiles, n_chunks = -(-nest.m // self.lanes.m), -(-nest.n // chunk)
        row_tiles = -(-nest.r // tr)
        rows = (row_tiles - 1) * nest.rows(tr) + nest.rows(nest.r - (row_tiles - 1) * tr)
        streamed = maps * m_tiles * nest.n * rows * float(nest.cols)
        outputs = maps * nest.m * nest.r * float(nest.c)
        weights = nest.m * nest.n * float(nest.taps) / nest.side
        if nest.phase == "weight_grad":
            words = streamed + np.where(row_tiles == 1, outputs, outputs * n_chunks)
        else:
            words = streamed + outputs + weights
        return np.asarray(words * self.workload.precision.bytes)


def _deep(t: TileTimes) -> TileTimes:
    return TileTimes(*(np.asarray(a)[:, :, None] for a in (t.load, t.compute, t.store, t.error)))


def _choose(cycles: Float, fits: Array, tr: Int) -> Int:
    """Index [S,1] of the fastest candidate that fits; of the fewest rows where none does."""
    fastest = np.argmin(np.where(fits, cycles, np.inf), axis=1)
    smallest = np.argmin(np.broadcast_to(tr, cycles.shape), axis=1)
    return np.asarray(np.where(fits.any(axis=1), fastest, smallest)[:, None])
