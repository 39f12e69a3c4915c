"""Why lanes do no useful MAC: which loop does not fill its lanes, as cycles lost to each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dse.estimate import Float
from dse.models.tiling import TilingProblem

__all__ = ["attributed", "tile_fill"]


def attributed(busy: Float, floor: Float, padded: Mapping[str, Float]) -> dict[str, Float]:
    """Cycles [S] that each cause costs, of ``busy`` cycles in which ``floor`` would do with every lane at work.

    ``padded`` are padded over real sizes [S], whose product is what the lanes do too much. As they multiply, each gets
    the share that its logarithm has of the sum of logarithms. What the product leaves open is ``stride``: lanes on taps
    and pixels that a strided input gradient has not.
    """
    product = np.prod(list(padded.values()), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = np.where(floor > 0, busy / (floor * product), 1.0)
    logs = {name: np.log(np.maximum(factor, 1.0)) for name, factor in {**padded, "stride": rest}.items()}
    total = np.sum(list(logs.values()), axis=0)
    scale = np.where(total > 1e-12, np.maximum(busy - floor, 0.0) / np.where(total > 1e-12, total, 1.0), 0.0)
    return {name: scale * log for name, log in logs.items()}


def tile_fill(
    problem: TilingProblem, tr: NDArray[np.int64], chunk: NDArray[np.int64]
) -> tuple[Float, dict[str, Float]]:
    """Cycles [S] in which the lanes compute under tiles of ``tr`` rows and ``chunk`` channels [S], and the paddings."""
    nest, lanes = problem.nest, problem.lanes
    rows, columns = problem.geometry.row_lanes(lanes, nest)[:, 0], lanes.c[:, 0]
    m, n = nest.m[:, 0], nest.n[:, 0]
    tiles = -(-nest.r // tr)
    row_blocks = (tiles - 1) * -(-tr // rows) + -(-(nest.r - (tiles - 1) * tr) // rows)
    column_blocks = -(-nest.c // columns)
    m_tiles = -(-m // lanes.m[:, 0])
    chunks = -(-n // chunk)
    n_steps = chunks * -(-chunk // lanes.n[:, 0])
    rounds = nest.batch[:, 0]
    busy = nest.repeats[:, 0] * rounds * m_tiles * n_steps * float(nest.taps) * row_blocks * column_blocks
    samples = problem.workload.batch_size
    row_padding = row_blocks * rows / nest.r
    padded = {
        "samples": row_padding if nest.folded else rounds * lanes.b[:, 0] / (1 if nest.per_sample else samples),
        "output_channels": m_tiles * lanes.m[:, 0] / m,
        "input_channels": n_steps * lanes.n[:, 0] / n,
        "rows": np.ones(len(m)) if nest.folded else row_padding,
        "columns": column_blocks * columns / nest.c,
        "groups": nest.side[:, 0] * (nest.repeats * nest.side / problem.groups)[:, 0],
    }
    return np.asarray(busy), padded
