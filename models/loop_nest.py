"""The training step of a layer as loop nests: one row of loop bounds for each phase that runs on the multiplier array.

A convolution is a nest over (b, m, n, r, c, kr, kc). Forward reduces over n and the kernel. The input gradient is the
same nest with m and n exchanged and the kernel flipped. The weight gradient reduces over b, r and c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.network import Network
from dse.workload import PHASES

__all__ = ["LoopNests", "loop_nests"]

Int = NDArray[np.int64]


@dataclass(frozen=True)
class LoopNests:
    """K loop nests, each one phase of one layer; every field is int64 [K].

    ``m`` counts the channels that the phase produces and ``n`` those it reduces over, per group: the input gradient has
    them exchanged. ``r`` x ``c`` are the pixels it walks, ``taps`` the kernel positions per pixel. ``kr``, ``kc``,
    ``sr`` and ``sc`` shape the patch of the other operand that ``t`` rows need: (t - 1) * sr + kr rows.
    """

    layer: Int
    phase: Int
    m: Int
    n: Int
    r: Int
    c: Int
    taps: Int
    kr: Int
    kc: Int
    sr: Int
    sc: Int
    groups: Int
    is_fc: Int
    reads: Int
    """Elements of the streamed operand per sample: the map that is convolved, without padding."""

    def __len__(self) -> int:
        return len(self.layer)

    def of_phase(self, name: str) -> NDArray[np.bool_]:
        """Which nests belong to the phase, bool [K]."""
        return np.asarray(self.phase == PHASES.index(name))


_COLUMNS = tuple(LoopNests.__dataclass_fields__)


@lru_cache(maxsize=64)
def loop_nests(network: Network) -> LoopNests:
    """The loop nests of every conv and fc layer, in layer order, then phase order."""
    rows = []
    for number, layer in enumerate(network.layers):
        if layer.macs == 0:
            continue
        (n, h, w), (m, r, c) = layer.in_shape, layer.out_shape
        groups, (sr, sc) = layer.groups, layer.stride
        is_fc = int(layer.op == "fc")
        if is_fc:
            n, h, w = n * h * w, 1, 1
        span = [(k - 1) * d + 1 for k, d in zip(layer.kernel, layer.dilation, strict=True)]
        taps = layer.kernel[0] * layer.kernel[1]
        forward = (m // groups, n // groups, r, c, taps, span[0], span[1], sr, sc, groups, is_fc, n * h * w)
        # The gradient's pixels split into sr * sc classes by position modulo the stride; each class is a dense
        # convolution of the error with every sr-th, sc-th tap, so that no cycle is spent on inserted zeros.
        backward = (
            n // groups, m // groups, max(r, -(-h // sr)), max(c, -(-w // sc)), taps,
            -(-span[0] // sr), -(-span[1] // sc), 1, 1, groups, is_fc, m * r * c,
        )  # fmt: skip
        rows.append((number, PHASES.index("forward"), *forward))
        if layer.needs_input_grad:
            rows.append((number, PHASES.index("input_grad"), *backward))
        rows.append((number, PHASES.index("weight_grad"), *forward))
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(_COLUMNS)).T
    return LoopNests(*columns)
