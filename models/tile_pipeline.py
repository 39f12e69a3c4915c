"""Cycles of a pass over a layer, tile by tile, with double buffers: load, compute and store overlap inside a tile.

The schedule is EF-Train's (ACM TODAES 27(5), 2022, section 5.1): output tiles of ``m`` channels by ``tr`` rows; a tile
accumulates over ``n`` chunks of the reduction; groups of output channels whose weights stay on chip run through the
whole batch before the next group. Where the paper's formulas and its printed results differ, ``TileReading`` says which
is meant; with ``TileReading.published()`` the formulas give all rows of its Table 6 to the cycle.

What a pass waits for at its ends (the first load, the last store, the first weights) is charged at the dearer of a full
and a last chunk. A pass is then a sum of convex functions of the rows per tile, and no slower the more even the
tiles are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.estimate import Float

__all__ = ["TileCounts", "TileReading", "TileTimes", "convolve_cycles", "grouped_floor", "weight_grad_cycles"]


@dataclass(frozen=True, slots=True)
class TileReading:
    """Which reading of the schedule is meant."""

    full_last_chunk: bool
    """The last chunk of rows is charged as a full one (Table 6: conv1 counts 56 rows of 55)."""
    hide_first_weights: bool
    """Loading the first chunk's weights is never waited for (eqs. 18 and 19 as computed, not as printed)."""
    prefetch: bool
    """The next tile's first chunk is loaded, and the last output stored, while another tile computes."""

    @staticmethod
    def published() -> TileReading:
        """The settings that reproduce Table 6."""
        return TileReading(full_last_chunk=True, hide_first_weights=True, prefetch=False)


@dataclass(frozen=True, slots=True)
class TileTimes:
    """Cycles to load a chunk of the streamed map, compute on it, and move an output tile; arrays that broadcast."""

    load: NDArray[np.int64]
    compute: NDArray[np.int64]
    store: NDArray[np.int64]
    """Moving the tile of outputs (forward, input_grad) to DRAM."""
    error: NDArray[np.int64]
    """Loading the tile of errors (weight_grad) from DRAM."""


@dataclass(frozen=True, slots=True)
class TileCounts:
    """How often each thing happens; arrays that broadcast with the times."""

    batch: NDArray[np.int64]
    row_tiles: NDArray[np.int64]
    m_tiles: NDArray[np.int64]
    n_chunks: NDArray[np.int64]
    m_groups: NDArray[np.int64]
    """Groups of output channels whose weights are on chip together."""
    restart: NDArray[np.int64]
    """Cycles for which a discontinuity in DRAM addresses stops a DMA stream."""


def _tile(t: TileTimes, n: NDArray[np.int64], *, stores: bool, prefetch: bool) -> NDArray[np.int64]:
    """Cycles of one output tile (Lat1 or Lat2 of the paper)."""
    steady = (n - 1) * np.maximum(t.load, t.compute)
    if prefetch:
        return steady + np.maximum(np.maximum(t.load, t.compute), t.store)
    return steady + t.load + (np.maximum(t.compute, t.store) if stores else t.compute)


def _first_image(
    t: TileTimes, n: NDArray[np.int64], weights: NDArray[np.int64], reading: TileReading
) -> NDArray[np.int64]:
    """Cycles that a tile takes longer because its weights are loaded chunk by chunk alongside."""
    busy = np.maximum(t.load, t.compute)
    wait = (n - 1) * np.maximum(weights - busy, 0)
    return wait if reading.hide_first_weights else wait + np.maximum(weights - t.load, 0)


def convolve_cycles(
    full: TileTimes,
    last: TileTimes,
    counts: TileCounts,
    weights: NDArray[np.int64],
    group_weights: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None,
    reading: TileReading,
) -> Float:
    """Cycles of forward or input_grad (eqs. 15 to 21), float, in the broadcast shape.

    ``full`` and ``last`` are the times of a full chunk of rows and of the last one. ``weights`` is the load of one
    (m, n) tile of weights, which goes along with the first row of tiles of the first image. Where ``group_weights``
    (full groups, cycles of one, cycles of the remainder or 0) is given, a whole group's weights go along with one tile
    instead, as in the input gradient.
    """
    last = full if reading.full_last_chunk else last
    n = counts.n_chunks
    rows = (counts.row_tiles - 1) * _tile(full, n, stores=True, prefetch=reading.prefetch)
    per_m = rows + _tile(last, n, stores=True, prefetch=reading.prefetch)
    if reading.prefetch:
        total = counts.batch * counts.m_tiles * per_m + full.load + full.store + counts.restart
    else:
        end = counts.restart + np.minimum(full.compute, full.store)
        total = counts.batch * (counts.m_tiles * per_m + counts.m_groups * end)
    if group_weights is None:
        return np.asarray(total + counts.m_tiles * _first_image(last, n, weights, reading), dtype=np.float64)
    groups, one, rest = group_weights
    extra = groups * _first_image(last, n, one, reading)
    extra = extra + np.where(rest > 0, _first_image(last, n, rest, reading), 0)
    return np.asarray(total + extra, dtype=np.float64)


def grouped_floor(
    full: TileTimes, last: TileTimes, counts: TileCounts, total_weights: NDArray[np.int64], reading: TileReading
) -> Float:
    """No number of groups from ``counts.m_groups`` up makes input_grad faster than this, float, in the broadcast shape.

    ``total_weights`` are the cycles to load the weights of all groups, without what a group costs beside. The wait for
    weights is convex in a group's load, so that groups of equal size, however many, wait least; over a real number of
    groups the cycles are then linear between the points at which a wait ends.
    """
    none = np.zeros_like(total_weights)
    base = convolve_cycles(full, last, replace(counts, m_groups=none), none, None, reading)
    last = full if reading.full_last_chunk else last
    busy = np.maximum(last.load, last.compute)
    end = none if reading.prefetch else counts.batch * (counts.restart + np.minimum(full.compute, full.store))

    def grouped(groups: NDArray[Any]) -> Float:
        wait = (counts.n_chunks - 1) * np.maximum(total_weights - groups * busy, 0)
        if not reading.hide_first_weights:
            wait = wait + np.maximum(total_weights - groups * last.load, 0)
        return np.asarray(groups * end + wait)

    corners = [total_weights / np.maximum(pace, 1) for pace in (busy, last.load)]
    within = [np.clip(corner, counts.m_groups, counts.m_tiles) for corner in corners]
    ends = [np.broadcast_to(groups, base.shape) for groups in (counts.m_groups, counts.m_tiles)]
    least = np.minimum.reduce([grouped(groups) for groups in (*within, *ends)])
    return np.asarray(base + least * (1 - 1e-12))


def weight_grad_cycles(
    full: TileTimes, last: TileTimes, counts: TileCounts, weights: NDArray[np.int64], reading: TileReading
) -> tuple[Float, Float]:
    """Cycles of weight_grad and of update (eqs. 22 to 27), float, in the broadcast shape.

    The update exchanges each (m, n) tile of weights with DRAM (``weights`` cycles) behind the last image's gradient;
    what of it does not overlap with computing is the second figure, and the two add up to the paper's total.
    """
    last = full if reading.full_last_chunk else last
    n, tiles = counts.n_chunks, counts.m_tiles * counts.n_chunks
    load_full, load_last = np.maximum(full.load, full.error), np.maximum(last.load, last.error)
    # Several chunks of rows: one (m, n) tile of gradients at a time, the chunks in turn.
    inner = (counts.row_tiles - 1) * np.maximum(load_full, full.compute) + np.maximum(load_last, last.compute)
    walk = inner if reading.prefetch else inner + np.minimum(load_full, full.compute)
    many = counts.batch * tiles * walk
    store_many = (tiles - counts.m_groups) * np.maximum(weights - last.compute, 0) + counts.m_groups * weights
    # The whole map on chip: the errors of m channels stay while the n chunks go by.
    steady = (n - 1) * np.maximum(last.load, last.compute)
    if reading.prefetch:
        once = steady + np.maximum(load_last, last.compute)
        store_once = counts.m_tiles * n * np.maximum(weights - last.compute, 0) + weights
    else:
        once = steady + load_last + last.compute
        store_once = counts.m_tiles * n * weights
    single = counts.row_tiles == 1
    gradient = np.where(single, counts.batch * counts.m_tiles * once, many)
    if reading.prefetch:
        gradient = gradient + load_full
    update = np.where(single, store_once, store_many)
    return np.asarray(gradient, dtype=np.float64), np.asarray(update, dtype=np.float64)
