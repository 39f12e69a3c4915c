"""Cycles in which the engine's lanes are occupied, to the cycle as the compute sequencer walks them."""

from __future__ import annotations

from itertools import product

from dse.engine.hardware import EngineParameters
from dse.engine.nest import PhaseNest, Tiling

__all__ = ["compute_cycles", "tile_sizes"]


def tile_sizes(extent: int, tile: int) -> list[tuple[int, int]]:
    """(size, how many tiles have it): full tiles, and the last one."""
    full, rest = divmod(extent, tile)
    return [(size, count) for size, count in ((tile, full), (rest, int(rest > 0))) if count]


def compute_cycles(hw: EngineParameters, nest: PhaseNest, tiling: Tiling) -> int:
    """Cycles of all tiles, one of them to start each, if the operands are always there in time."""
    rows = [(-(-size // hw.ur), count) for size, count in tile_sizes(nest.row.extent, tiling.rows)]
    groups_m = tile_sizes(-(-nest.m // hw.um), tiling.m_groups)
    groups_n = tile_sizes(-(-nest.n // hw.un), tiling.n_groups)
    blocks_b = tile_sizes(-(-nest.batch // hw.ub), tiling.b_blocks)
    columns = -(-nest.column.extent // hw.uc)
    taps = sum(nest.row.class_taps()) * sum(nest.column.class_taps())
    total = 0
    for (m, m_count), (n, n_count), (b, b_count), (r, r_count) in product(groups_m, groups_n, blocks_b, rows):
        tiles = m_count * n_count * b_count * r_count
        if nest.phase == "weight_grad":
            sums = m * n * taps
            cycles = sums * max(b * r * columns, hw.un)
        else:
            cycles = m * b * r * columns * n * taps
        total += tiles * (cycles + 1)
    return nest.sets * total
