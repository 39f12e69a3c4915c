"""Which tiles fit the engine's buffers, and a good one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from dse.engine.cycles import compute_cycles
from dse.engine.hardware import EngineParameters
from dse.engine.nest import PhaseNest, Tiling
from dse.engine.runs import feature_row_cycles, operand_row_cycles
from dse.engine.timing import command_cycles
from dse.errors import InputError

__all__ = ["TileSteps", "buffer_words", "fit_tiling"]

_FINALISTS = 6
_MOST_TILES = 2000
"""What ``command_cycles`` follows in some 20 ms."""


def _up(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True, slots=True)
class TileSteps:
    """Strides of the buffers for one tiling, in words, and what a half must hold."""

    row_steps: int
    col_steps: int
    window_rows: int
    word_pc: int
    word_pr: int
    word_q: int
    word_n: int
    word_b: int
    operand_n: int
    operand_m: int
    sum_n: int
    sum_m: int

    @classmethod
    def of(cls, hw: EngineParameters, nest: PhaseNest, tiling: Tiling) -> TileSteps:
        """Steps of ``tiling``; sizes beyond the layer count as the layer's."""
        row, column = nest.row, nest.column
        row_steps, col_steps = _up(tiling.rows, hw.ur), _up(column.extent, hw.uc)
        window_rows = (tiling.rows - 1) * row.stride + row.taps
        places = _up(_up(column.operand - column.start, column.stride), hw.uc)
        word_pr = column.stride * places
        word_q = row.stride * word_pr
        word_n = _up(_up(window_rows, row.stride), hw.ur) * word_q
        pixels = row_steps * col_steps
        if nest.phase == "weight_grad":
            operand_n, sum_n = pixels, row.taps * column.taps * hw.un
            operand_m, sum_m = tiling.b_blocks * operand_n, tiling.n_groups * sum_n
        else:
            kernel = nest.conv.window.kernel
            operand_n, sum_n = kernel[0] * kernel[1], row.classes * column.classes * pixels
            operand_m, sum_m = tiling.n_groups * operand_n, tiling.b_blocks * sum_n
        word_b = tiling.n_groups * word_n
        return cls(
            row_steps, col_steps, window_rows, places, word_pr, word_q, word_n, word_b,
            operand_n, operand_m, sum_n, sum_m,
        )  # fmt: skip


def buffer_words(hw: EngineParameters, nest: PhaseNest, tiling: Tiling) -> tuple[int, int, int]:
    """Words that half of the feature, operand and accumulator buffer must have for ``tiling``."""
    steps = TileSteps.of(hw, nest, tiling)
    return tiling.b_blocks * steps.word_b, tiling.m_groups * steps.operand_m, tiling.m_groups * steps.sum_m


@lru_cache(maxsize=4096)
def fit_tiling(hw: EngineParameters, nest: PhaseNest) -> Tiling:
    """The tile that takes the fewest cycles with a memory of a beat a cycle and port.

    Of the tiles that fit, a few are chosen by their loads, steps and ends, and of these one by ``command_cycles``
    unless the layer has too many tiles to follow. Raises InputError where not even the smallest tile fits, with the
    buffer and its need.
    """
    depths = {"feature_depth": hw.feature_depth, "operand_depth": hw.operand_depth, "sum_depth": hw.sum_depth}
    fits = [
        tiling
        for tiling in _candidates(hw, nest)
        if all(need <= depth for need, depth in zip(buffer_words(hw, nest, tiling), depths.values(), strict=True))
    ]
    if not fits:
        need = buffer_words(hw, nest, Tiling())
        name, depth, words = next(
            (name, depth, words) for (name, depth), words in zip(depths.items(), need, strict=True) if words > depth
        )
        raise InputError(f"engine parameter {name}", f"is too small for {nest.phase}", depth, f">= {words}")
    best = sorted(fits, key=lambda tiling: _traffic(hw, nest, tiling))[:_FINALISTS]
    if max(_tiles(hw, nest, tiling) for tiling in best) > _MOST_TILES:
        return best[0]
    return min(best, key=lambda tiling: command_cycles(hw, nest, tiling))


def _tiles(hw: EngineParameters, nest: PhaseNest, tiling: Tiling) -> int:
    """Tiles of the whole layer."""
    m, n = _up(_up(nest.m, hw.um), tiling.m_groups), _up(_up(nest.n, hw.un), tiling.n_groups)
    return nest.sets * m * n * _up(_up(nest.batch, hw.ub), tiling.b_blocks) * _up(nest.row.extent, tiling.rows)


def _candidates(hw: EngineParameters, nest: PhaseNest) -> Iterator[Tiling]:
    m, n, b = _up(nest.m, hw.um), _up(nest.n, hw.un), _up(nest.batch, hw.ub)
    rows = sorted({min(_up(_up(nest.row.extent, k), hw.ur) * hw.ur, nest.row.extent) for k in _cuts(nest.row.extent)})
    for tile_rows in rows:
        for m_groups in sorted({_up(m, k) for k in _cuts(m)}):
            for n_groups in sorted({_up(n, k) for k in _cuts(n)}):
                for b_blocks in sorted({_up(b, k) for k in _cuts(b)}):
                    yield Tiling(m_groups, n_groups, b_blocks, tile_rows)


def _cuts(extent: int) -> list[int]:
    return [k for k in range(1, extent + 1) if k <= 4 or k & (k - 1) == 0 or k == extent]


def _traffic(hw: EngineParameters, nest: PhaseNest, tiling: Tiling) -> tuple[float, float]:
    """What a tiling costs: cycles if computing and the two loads overlap, with both ends; then cycles of loading."""
    compute = compute_cycles(hw, nest, tiling)
    steps = TileSteps.of(hw, nest, tiling)
    tiles = _tiles(hw, nest, tiling)
    m_blocks, n_blocks = (groups / hw.channel_block for groups in (tiling.m_groups * hw.um, tiling.n_groups * hw.un))
    features = tiles * n_blocks * tiling.b_blocks * steps.window_rows * feature_row_cycles(hw, nest)
    errors = nest.phase == "weight_grad"
    operand_rows = tiling.b_blocks * tiling.rows if errors else n_blocks
    operands = tiles * m_blocks * operand_rows * operand_row_cycles(hw, nest)
    if not errors and _up(_up(nest.n, hw.un), tiling.n_groups) == 1:  # weights stay for all samples and rows
        operands /= _up(_up(nest.batch, hw.ub), tiling.b_blocks) * _up(nest.row.extent, tiling.rows)
    ends = (features + operands) / tiles + _last_store(hw, nest, tiling)
    return max(compute, features, operands) + ends, features + operands


def _last_store(hw: EngineParameters, nest: PhaseNest, tiling: Tiling) -> float:
    """Cycles to store one tile, which nothing overlaps with after the last."""
    m_blocks = tiling.m_groups * hw.um // hw.channel_block
    if nest.phase == "weight_grad":
        return float(m_blocks * tiling.n_groups * hw.un * nest.row.taps * nest.column.taps)
    cell_beats = max(hw.channel_block * hw.ub * hw.operand_bytes / hw.beat_bytes, 1.0)
    return m_blocks * tiling.b_blocks * tiling.rows * nest.row.classes * nest.column.result * cell_beats
