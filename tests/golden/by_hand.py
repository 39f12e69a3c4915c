"""An integer training step of a chain of layers, written once more in Python integers and plain loops.

It follows docs/training.md and shares nothing with ``dse.golden`` but the window's geometry, so that a slip in one is a
difference between the two.
"""

from __future__ import annotations

import math

import numpy as np

from dse.golden import Window
from dse.golden.product import Array
from dse.network import Layer, Network
from tests.golden import loops

M = 127


def rounded(value: int, shift: int) -> int:
    return (value + (1 << shift >> 1)) >> shift if shift > 0 else value << -shift


def clipped(value: int) -> int:
    return max(-M, min(M, value))


def each(tensor: Array, shift: int) -> Array:
    return np.vectorize(lambda value: clipped(rounded(int(value), shift)), otypes=[object])(tensor)


def normalised(wide: Array) -> Array:
    joined = 0
    for value in wide.ravel():
        joined |= abs(int(value))
    return each(wide, joined.bit_length() - 7 if joined else 0)


def shift_of(layer: Layer) -> int:
    inputs = layer.in_shape[0] // layer.groups * layer.kernel[0] * layer.kernel[1]
    return 7 + max(0, round(math.log2(1 / math.sqrt(6 / inputs))))


def pooled(x: Array, window: Window) -> tuple[Array, dict[tuple[int, ...], tuple[int, ...]]]:
    """Outputs, and for each the place of the pixel that it is (windows inside the map only)."""
    out = np.zeros((*x.shape[:2], *window.out_size(x.shape[2:])), object)
    places = {}
    for b, n, r, c in np.ndindex(out.shape):
        rows, columns = r * window.stride[0], c * window.stride[1]
        spots = [(b, n, rows + kr, columns + kc) for kr, kc in np.ndindex(window.kernel)]
        best = max(spots, key=lambda spot: x[spot])  # of equals the first
        out[b, n, r, c], places[b, n, r, c] = x[best], best
    return out, places


def step(network: Network, weights: dict[str, Array], x: Array, labels: Array, rate: int, state: int) -> int:
    """One iteration; ``weights`` (of objects) are changed; returns the generator's state."""
    maps, kept = [x.astype(object)], []
    for layer in network.layers[:-1]:
        if layer.op in ("conv", "fc"):
            maps[-1] = maps[-1].reshape(len(x), *layer.in_shape)
            sums = loops.forward(maps[-1].astype(np.int64), weights[layer.name].astype(np.int64), Window.of(layer))
            maps.append(each(sums, shift_of(layer)))
            kept.append(None)
        elif layer.op == "relu":
            maps.append(np.maximum(maps[-1], 0))
            kept.append(None)
        elif layer.op == "max_pool":
            out, places = pooled(maps[-1], Window.of(layer))
            maps.append(out)
            kept.append(places)
        else:
            maps.append(maps[-1].reshape(len(x), *layer.out_shape))
            kept.append(None)
    error = maps[-1].copy()
    for sample, label in enumerate(labels):
        error[sample, label, 0, 0] -= M
    error = normalised(error)
    for layer, y, before, places in list(zip(network.layers, maps[1:], maps[:-1], kept, strict=False))[::-1]:
        if layer.op in ("conv", "fc"):
            w = weights[layer.name]
            wide, gradient = loops.gradients(
                before.astype(np.int64), w.astype(np.int64), error.astype(np.int64), Window.of(layer)
            )
            error = normalised(wide)
            length = max(abs(int(g)).bit_length() for g in gradient.ravel())
            shift = length + rate - 7
            for index in np.ndindex(w.shape):
                for distance, right in ((13, False), (17, True), (5, False)):
                    state ^= state >> distance if right else state << distance & 0xFFFFFFFF
                moved = (int(gradient[index]) + (state & ((1 << shift) - 1))) >> shift if length else 0
                w[index] = clipped(w[index] - clipped(moved))
        elif layer.op == "relu":
            error = np.where((y > 0) & (y < M), error, 0)
        elif layer.op == "max_pool":
            wide = np.zeros(before.shape, object)
            for at, place in places.items():
                wide[place] += error[at]
            error = wide if layer.kernel == layer.stride else normalised(wide)
        else:
            error = error.reshape(before.shape)
    return state
