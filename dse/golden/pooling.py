"""Pooling in both directions, for integers and floats, on maps [B, C, H, W]."""

from __future__ import annotations

import numpy as np

from dse.golden.convolution import Window
from dse.golden.product import Array

__all__ = ["RECIPROCAL_BITS", "max_pool", "max_pool_grad", "reciprocal", "sum_pool", "sum_pool_grad"]

RECIPROCAL_BITS = 16
"""Fraction bits of the reciprocal by which an integer average multiplies."""


def reciprocal(count: int) -> int:
    """1 / ``count`` in units of 2^-16, to the nearest, ties up; exact where ``count`` is a power of two up to 2^16."""
    return ((2 << RECIPROCAL_BITS) + count) // (2 * count)


def max_pool(x: Array, window: Window) -> tuple[Array, Array]:
    """The largest of each window [B, C, R, C'] and where it was, kr * KC + kc (uint8, uint16 for large kernels).

    Of equal ones the first in row order wins; padding never does (a symmetric integer is never the type's lowest).
    """
    size = window.out_size(x.shape[2:])
    lowest = np.iinfo(x.dtype).min if np.issubdtype(x.dtype, np.integer) else -np.inf
    padded = _padded(x, window, lowest)
    index_type = np.uint8 if window.kernel[0] * window.kernel[1] <= 256 else np.uint16
    largest = np.full((*x.shape[:2], *size), lowest, x.dtype)
    index = np.zeros(largest.shape, index_type)
    for kr, kc, rows, columns in window.taps(size):
        pixels = padded[:, :, rows, columns]
        better = pixels > largest
        largest = np.where(better, pixels, largest)
        index[better] = kr * window.kernel[1] + kc
    return largest, index


def max_pool_grad(e: Array, index: Array, window: Window, size: tuple[int, int]) -> Array:
    """Error of the input [B, C, H, W]: each error goes where the largest was.

    Integers become int64 sums where windows overlap, and keep their type where they do not.
    """
    overlap = any(k > s for k, s in zip(window.kernel, window.stride, strict=True))
    padded = np.zeros((*e.shape[:2], *window.padded(size)), _wide(e) if overlap else e.dtype)
    for kr, kc, rows, columns in window.taps((e.shape[2], e.shape[3])):
        padded[:, :, rows, columns] += np.where(index == kr * window.kernel[1] + kc, e, 0)
    return _cut(padded, window, size)


def sum_pool(x: Array, window: Window) -> Array:
    """The sum of each window, padding counting as 0; int64 for integers."""
    size = window.out_size(x.shape[2:])
    padded = _padded(x, window, 0)
    total = np.zeros((*x.shape[:2], *size), _wide(x))
    for _, _, rows, columns in window.taps(size):
        total += padded[:, :, rows, columns]
    return total


def sum_pool_grad(e: Array, window: Window, size: tuple[int, int]) -> Array:
    """Error of the input: each error goes to every pixel of its window; int64 sums for integers."""
    padded = np.zeros((*e.shape[:2], *window.padded(size)), _wide(e))
    for _, _, rows, columns in window.taps((e.shape[2], e.shape[3])):
        padded[:, :, rows, columns] += e
    return _cut(padded, window, size)


def _wide(x: Array) -> np.dtype[np.generic]:
    return np.dtype(np.int64) if np.issubdtype(x.dtype, np.integer) else x.dtype


def _padded(x: Array, window: Window, value: float) -> Array:
    top, left, bottom, right = window.padding
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=value)


def _cut(padded: Array, window: Window, size: tuple[int, int]) -> Array:
    top, left = window.padding[:2]
    return padded[:, :, top : top + size[0], left : left + size[1]]
