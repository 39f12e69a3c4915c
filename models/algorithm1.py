"""EF-Train's own way to choose buffers (Algorithm 1), as a starting point and as a design to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dse.device import Device
from dse.models.loop_nest import LoopNests, loop_nests
from dse.models.memory import published_bank_bram36
from dse.models.tile_geometry import split_candidates
from dse.models.tiling import TilingProblem
from dse.workload import PHASES, Workload

if TYPE_CHECKING:
    from dse.models.tiled import TiledModel

__all__ = ["algorithm1_buffers"]

_BRAM_SHARE = 0.75
"""Share of the board's RAMB36 that the buffers may take (EF-Train section 5.3)."""


def algorithm1_buffers(model: TiledModel, workload: Workload, device: Device, side: int) -> dict[str, int]:
    """Depths of the three buffers that Algorithm 1 arrives at with tm = tn = ``side``, rounded up to legal values."""
    nests = loop_nests(workload.network)
    convs = [k for k in range(len(nests)) if not nests.is_fc[k]] or list(range(len(nests)))
    bound = _BRAM_SHARE * device.bram36 / 2
    widest = max(convs, key=lambda k: int(nests.r[k] * nests.c[k]))
    floor = side * (_bank(_ifm_words(nests, widest, 1)) + _bank(int(nests.c[widest])))
    weights = max((_weight_words(nests, k, side, bound - floor) for k in convs), default=1)
    left = bound - side * side * _bank(weights)
    depths = {"ifm_words": 1, "ofm_words": 1, "wei_words": weights}
    for k in convs:
        ifm, ofm = _map_words(model, workload, device, nests, k, side, weights, left)
        depths["ifm_words"] = max(depths["ifm_words"], ifm)
        depths["ofm_words"] = max(depths["ofm_words"], ofm)
    space = model.space(workload, device)
    return {
        name: int(space[name].values[min(int(np.searchsorted(space[name].values, words)), len(space[name].values) - 1)])
        for name, words in depths.items()
    }


def _bank(words: int) -> float:
    return float(published_bank_bram36(np.asarray(words)))


def _ifm_words(nests: LoopNests, k: int, tr: int) -> int:
    cols = (nests.c[k] - 1) * nests.sc[k] + nests.kc[k]
    return int(((tr - 1) * nests.sr[k] + nests.kr[k]) * cols)


def _weight_words(nests: LoopNests, k: int, side: int, most_bram36: float) -> int:
    """Steps 5 to 11: halve, third, ... the output channels on chip until their weights fit beside the least maps."""
    if nests.phase[k] == PHASES.index("weight_grad"):
        return 1
    m_tiles = -(-int(nests.m[k]) // side)
    per_tile = int(nests.taps[k]) * -(-int(nests.n[k]) // (2 * side))
    for parts in range(1, m_tiles + 1):
        words = per_tile * -(-m_tiles // parts)
        if side * side * _bank(words) < most_bram36:
            return words
    return per_tile


def _map_words(
    model: TiledModel, workload: Workload, device: Device, nests: LoopNests, k: int, side: int, weights: int,
    most_bram36: float,
) -> tuple[int, int]:  # fmt: skip
    """Steps 13 to 17: words of the input and output tile of the fastest number of rows that fits what is left."""
    rows = np.unique(split_candidates(np.array([[int(nests.r[k])]])))
    ifm = np.array([_ifm_words(nests, k, int(tr)) for tr in rows])
    ofm = rows * int(nests.c[k])
    fits = side * (published_bank_bram36(ifm) + published_bank_bram36(ofm)) <= most_bram36
    fits[0] = True
    rows, ifm, ofm = rows[fits], ifm[fits], ofm[fits]
    full = np.full(rows.shape, side)
    point = {"tm": full, "tn": full, "ifm_words": ifm, "ofm_words": ofm, "wei_words": np.full(rows.shape, weights)}
    reading = model.settings["published"]
    solved = TilingProblem.of(model.geometry, workload, device, reading, point, nests, k).best({})
    best = int(np.argmin(solved.cycles + solved.update))
    return int(solved.need[0][best]), int(solved.need[1][best])
