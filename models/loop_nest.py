"""The training step of a layer as loop nests: one row of loop bounds for each phase that runs on the multiplier array.

A convolution is a nest over (b, m, n, r, c, kr, kc). Forward reduces over n and the kernel. The input gradient is the
same nest with m and n exchanged and the kernel flipped. The weight gradient reduces over b, r and c.

A transposed convolution is the convolution from its output to its input, run backwards: its forward nest is that one's
input gradient and the other way round. A product of two activations is a 1 x 1 convolution of its first input with the
second in the weights' place, other ones for every sample; its weight_grad nest, which reduces over r and c alone, is
the gradient of the second input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.network import Layer, Network
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
    per_sample: Int
    """1 where the weights (or the gradients in their place) are other ones for every sample, so that none is reused."""
    transposed: Int
    """1 for a transposed convolution."""
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
    """The loop nests of every layer on the multiplier array, in layer order, then phase order."""
    rows = []
    for number, layer in enumerate(network.layers):
        if layer.macs == 0:
            continue
        forward, backward = _bounds(layer)
        kind = int(layer.op == "fc"), int(layer.op == "matmul"), int(layer.op == "conv_transpose")
        if layer.op == "conv_transpose":
            forward, backward, gradient = backward, forward, forward
        else:
            gradient = forward
        rows.append((number, PHASES.index("forward"), *forward[:-1], *kind, forward[-1]))
        if layer.needs_input_grad:
            rows.append((number, PHASES.index("input_grad"), *backward[:-1], *kind, backward[-1]))
        if layer.needs_weight_grad:
            rows.append((number, PHASES.index("weight_grad"), *gradient[:-1], *kind, gradient[-1]))
    columns = np.array(rows, dtype=np.int64).reshape(len(rows), len(_COLUMNS)).T
    return LoopNests(*columns)


def _bounds(layer: Layer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """m, n, r, c, taps, kr, kc, sr, sc, groups and elements read, of a convolution forward and of its input gradient.

    For a transposed convolution those of the convolution that it runs backwards.
    """
    small, large = (layer.out_shape, layer.in_shape)
    if layer.op == "conv_transpose":
        small, large = large, small
    (n, h, w), (m, r, c) = large, small
    if layer.op == "fc":
        n, h, w = n * h * w, 1, 1
    groups, (sr, sc) = layer.groups, layer.stride
    span = [(k - 1) * d + 1 for k, d in zip(layer.kernel, layer.dilation, strict=True)]
    taps = layer.kernel[0] * layer.kernel[1]
    forward = (m // groups, n // groups, r, c, taps, span[0], span[1], sr, sc, groups, n * h * w)
    # The gradient's pixels split into sr * sc classes by position modulo the stride; each class is a dense
    # convolution of the error with every sr-th, sc-th tap, so that no cycle is spent on inserted zeros.
    backward = (
        n // groups, m // groups, max(r, -(-h // sr)), max(c, -(-w // sc)), taps,
        -(-span[0] // sr), -(-span[1] // sc), 1, 1, groups, m * r * c,
    )  # fmt: skip
    return forward, backward
