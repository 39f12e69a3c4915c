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
from dse.models.tile_pipeline import (
    TileCounts,
    TileReading,
    TileTimes,
    convolve_cycles,
    grouped_floor,
    weight_grad_cycles,
)
from dse.space import DesignPoint
from dse.workload import PHASES, Workload

__all__ = ["COMPUTE", "DMA", "Solved", "TiledReading", "TilingProblem"]

Array = NDArray[Any]
"""Counts, cycles or truth values."""

COMPUTE, DMA, RESTART = (np.int8(BOUNDS.index(name)) for name in ("compute", "dma", "restart"))


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
    groups: Int
    """Groups that the nest runs for, those of other samples included where each has weights of its own [S,1]."""

    @staticmethod
    def of(
        geometry: TileGeometry, workload: Workload, device: Device, reading: TiledReading, point: DesignPoint,
        nests: LoopNests, k: int,
    ) -> TilingProblem:  # fmt: skip
        """The problem of nest number ``k``."""
        lanes, batch = geometry.lanes(point), workload.batch_size
        m, n, groups = (np.full_like(lanes.m, int(column[k])) for column in (nests.m, nests.n, nests.groups))
        per_sample = bool(nests.per_sample[k])
        if per_sample:  # lanes share their weights over samples, so that those along b take one
            groups, batch = groups * batch, 1
        side = geometry.side_by_side(lanes, m, n, groups) if groups.max(initial=1) > 1 else groups
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
            per_sample=per_sample,
        )
        return TilingProblem(geometry, workload, device, reading, point, lanes, nest, groups)

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
        # All channels in one chunk wait least where chunks are free; where they are not, there is one size.
        chunk = np.minimum(nest.n, g.chunks(lanes, nest)[-1]) if g.planar else lanes.n
        pace = nest.batch * g.compute(lanes, nest, chunk, rows)
        if self.reading.memory_time and nest.kr >= nest.sr:
            load = restart + g.load_beats(lanes, nest, chunk, rows, self.width)
            pace = np.maximum(pace, nest.batch * load)
        if self.reading.memory_time and not self.reading.tiles.hide_first_weights:
            pace = np.maximum(pace, g.weight_beats(lanes, nest, chunk, self.width))
        return np.asarray((nest.repeats * tiles * -(-nest.n // chunk))[:, 0] * pace[:, 0].astype(np.float64))

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
        ifm, ofm = g.map_words(lanes, nest, chunk, tr)
        fits = (ifm <= self.point["ifm_words"][:, None]) & (ofm <= self.point["ofm_words"][:, None])
        smallest = np.argmin(np.broadcast_to(tr, fits.shape), axis=1)
        allowed = fits.copy()
        rows = np.arange(len(fits))
        allowed[rows, smallest] |= ~fits.any(axis=1)
        allowed[:, 1:] &= np.diff(tr, axis=1) != 0  # candidates are padded by repeats
        row_tiles = -(-nest.r // tr)
        full, last = self.times(chunk, tr, row_tiles), self.times(chunk, nest.r - (row_tiles - 1) * tr, row_tiles)
        weight_words = g.weight_words(lanes, nest)
        if nest.phase == "weight_grad":
            weight_words = weight_words * nest.sum_words
        m_tiles = -(-nest.m // lanes.m)
        if "m_on" in fixed:
            on_chip = np.minimum(-(-fixed["m_on"] // lanes.m), m_tiles)
        else:
            on_chip = np.clip(self.point["wei_words"][:, None] // weight_words, 1, m_tiles)
        restart = np.asarray(0 if nest.is_fc else self._restart)
        counts = TileCounts(nest.batch, row_tiles, m_tiles, -(-nest.n // chunk), -(-m_tiles // on_chip), restart)
        cycles, update, on_chip = self._cycles(full, last, counts, chunk, on_chip, allowed, "m_on" in fixed)
        pick = np.argmin(np.where(allowed, cycles + update, np.inf), axis=1)

        def at(array: Array) -> Array:
            return np.asarray(np.broadcast_to(array, fits.shape)[rows, pick])

        beats = g.load_beats(lanes, nest, chunk, tr, self.width)
        waits = (full.load > full.compute) | (full.store > counts.n_chunks * full.compute)
        repeats, chosen, kept = nest.repeats[:, 0], at(tr)[:, None], at(on_chip)[:, None]
        return Solved(
            cycles=at(cycles) * repeats,
            update=at(update) * repeats,
            dram_bytes=self._traffic(chunk, chosen)[:, 0] * repeats,
            bound=np.where(at(waits), np.where(at(2 * beats < full.load), RESTART, DMA), COMPUTE),
            tiles={
                "tr": chosen[:, 0],
                "m_on": np.minimum(kept * lanes.m, nest.m)[:, 0],
                "tn": np.minimum(chunk, nest.n)[:, 0],
            },
            need=(at(ifm), at(ofm), (weight_words * kept)[:, 0]),
            fits=at(fits),
        )

    def _cycles(
        self,
        full: TileTimes,
        last: TileTimes,
        counts: TileCounts,
        chunk: Int,
        on_chip: Int,
        allowed: Array,
        fixed: bool,
    ) -> tuple[Float, Float, Int]:
        """Cycles of the nest [S,J], of its update, and the m tiles on chip at that.

        What is not ``allowed`` [S,J], or cannot be the fastest of its row, may come out too slow.
        """
        weights = np.zeros_like(chunk)
        if self.reading.memory_time:
            weights = self.geometry.weight_beats(self.lanes, self.nest, chunk, self.width)
        tiles = self.reading.tiles
        if self.nest.phase == "weight_grad":
            cycles, update = weight_grad_cycles(full, last, counts, weights, tiles)
            if self.nest.per_sample:  # nothing is updated: the gradients are stored as errors of the second input
                return cycles + update, np.zeros(cycles.shape), on_chip
            return cycles, update, on_chip
        if self.nest.phase == "input_grad":
            cycles, on_chip = self._input_grad(full, last, counts, chunk, weights, on_chip, allowed, fixed)
        else:
            cycles = convolve_cycles(full, last, counts, weights, None, tiles)
        return cycles, np.zeros(cycles.shape), on_chip

    def _input_grad(
        self, full: TileTimes, last: TileTimes, counts: TileCounts, chunk: Int, weights: Int, most: Int, allowed: Array,
        fixed: bool,
    ) -> tuple[Float, Int]:  # fmt: skip
        """Cycles [S,J] at the best number of m tiles on chip, and that number [S,J].

        Where a floor shows that a candidate is not the fastest of its row it is not searched, and infinite.
        """
        tiles = self.reading.tiles
        sizes = most if fixed else np.minimum(split_candidates(counts.m_tiles), most)
        shares = self._shares(counts.m_tiles, chunk, weights, sizes)
        cycles = np.full(allowed.shape, np.inf)
        on_chip = np.ones(allowed.shape, dtype=np.int64)

        def search(s: Int, j: Int) -> None:
            def at(array: Array) -> Array:
                return np.asarray(np.broadcast_to(array, allowed.shape)[s, j][:, None])

            groups, full_groups, one, remainder = (share[s] for share in shares)
            first, second = (TileTimes(at(t.load), at(t.compute), at(t.store), at(t.error)) for t in (full, last))
            few = TileCounts(
                at(counts.batch), at(counts.row_tiles), at(counts.m_tiles), at(counts.n_chunks), groups, counts.restart
            )
            found = convolve_cycles(first, second, few, weights[s], (full_groups, one, remainder), tiles)
            pick, rows = np.argmin(found, axis=1), np.arange(len(s))
            cycles[s, j], on_chip[s, j] = found[rows, pick], sizes[s, pick]

        if fixed:
            search(*np.nonzero(allowed))
            return cycles, on_chip
        total = self._group_load(counts.m_tiles, chunk, weights) - (0 if self.nest.is_fc else self._restart)
        fewest = replace(counts, m_groups=-(-counts.m_tiles // most))
        least = np.where(allowed, grouped_floor(full, last, fewest, np.maximum(total, 0), tiles), np.inf)
        promising = np.argmin(least, axis=1)
        rows = np.arange(len(promising))
        search(rows, promising)
        least[rows, promising] = np.inf
        search(*np.nonzero(least <= cycles[rows, promising][:, None]))
        return cycles, on_chip

    def _shares(self, m_tiles: Int, chunk: Int, weights: Int, on_chip: Int) -> tuple[Int, Int, Int, Int]:
        """With ``on_chip`` m tiles in a group: groups, full ones, and the loads of a full and of the last one [S,K]."""
        m = self.lanes.m
        full = self.nest.m // (on_chip * m)
        rest = -(-(self.nest.m - full * on_chip * m) // m)
        one = self._group_load(np.minimum(on_chip, m_tiles), chunk, weights)
        remainder = np.where(rest > 0, self._group_load(rest, chunk, weights), 0)
        return full + (rest > 0), full, one, remainder

    def _group_load(self, m_tiles: Int, chunk: Int, weights: Int) -> Int:
        """Cycles to load the weights of ``m_tiles`` output tiles and one chunk, against the layout's grain."""
        restart = 0 if self.nest.is_fc else self._restart
        bursts = np.ones_like(m_tiles)
        if self.reading.layout_penalty:
            fragments = self.geometry.weight_fragments(self.lanes, chunk)
            bursts = np.where(fragments > 1, fragments * m_tiles, 1)
        return weights * m_tiles + restart * bursts

    def _traffic(self, chunk: Int, tr: Int) -> Float:
        """DRAM bytes of the nest run once [S,1], weights of the update not counted."""
        nest = self.nest
        maps = 1 if nest.folded or nest.per_sample else self.workload.batch_size
        m_tiles, n_chunks = -(-nest.m // self.lanes.m), -(-nest.n // chunk)
        row_tiles = -(-nest.r // tr)
        rows = (row_tiles - 1) * nest.rows(tr) + nest.rows(nest.r - (row_tiles - 1) * tr)
        streamed = maps * m_tiles * nest.n * rows * float(nest.cols)
        outputs = maps * nest.m * nest.r * float(nest.c)
        weights = nest.m * nest.n * float(nest.taps) / nest.side
        if nest.phase == "weight_grad":
            words = streamed + np.where(row_tiles == 1, outputs, outputs * n_chunks) + weights * nest.per_sample
        else:
            words = streamed + outputs + weights
        return np.asarray(words * self.workload.precision.bytes)
