"""Convolution in the three phases of training, for integers (exact) and floats.

Shapes: input ``x`` [B, N, H, W], weights ``w`` [M, N / groups, KR, KC], output and its error ``e`` [B, M, R, C]. A
fully connected layer is the case of 1 x 1 maps and kernels. With x padded, stride S and dilation D:

    forward      y[b, m, r, c]    = sum over n, kr, kc of w[m, n, kr, kc] * x[b, n, r S + kr D, c S + kc D]
    input_grad   the sum of w * e over all (m, r, c, kr, kc) that read the element
    weight_grad  g[m, n, kr, kc]  = sum over b, r, c of e[b, m, r, c] * x[b, n, r S + kr D, c S + kc D]

Results are int64 for integers, and of the operands' type for floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.golden.product import Array, one_thread, product_type
from dse.network import Layer

__all__ = ["Window", "forward", "input_grad", "weight_grad"]

_COLUMN_BYTES = 1 << 21
"""What the columns of the samples that are worked on together may take: about a core's share of the cache."""


@dataclass(frozen=True, slots=True)
class Window:
    """How a kernel slides: (rows, columns) each, ``padding`` (top, left, bottom, right), as in ``Layer``."""

    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1

    @classmethod
    def of(cls, layer: Layer) -> Window:
        """The window of a ``conv``, ``fc`` or pooling layer."""
        return cls(layer.kernel, layer.stride, layer.padding, layer.dilation, layer.groups)

    def out_size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of the output for an input of (height, width), rounded down."""
        padded = self.padded(size)
        extents = (d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True))
        rows, columns = ((p - e) // s + 1 for p, e, s in zip(padded, extents, self.stride, strict=True))
        return rows, columns

    def padded(self, size: tuple[int, int]) -> tuple[int, int]:
        """(height, width) with the padding."""
        top, left, bottom, right = self.padding
        return size[0] + top + bottom, size[1] + left + right

    def taps(self, out_size: tuple[int, int]) -> Iterator[tuple[int, int, slice, slice]]:
        """(kr, kc, rows, columns) for every kernel element: the pixels of the padded map that it meets."""
        for kr in range(self.kernel[0]):
            for kc in range(self.kernel[1]):
                starts = (kr * self.dilation[0], kc * self.dilation[1])
                rows, columns = (
                    slice(start, start + (count - 1) * step + 1, step)
                    for start, count, step in zip(starts, out_size, self.stride, strict=True)
                )
                yield kr, kc, rows, columns


def forward(x: Array, w: Array, window: Window) -> Array:
    """Outputs [B, M, R, C] of ``x`` [B, N, H, W] and ``w`` [M, N / groups, KR, KC]. Raises ValueError on a misfit."""
    _check(x.shape[1], w, window)
    size = window.out_size(x.shape[2:])
    kind = product_type(x, w, _terms(w))
    result = np.empty((len(x), w.shape[0], *size), _result(x, kind))
    weights = _matrices(w, window.groups).astype(kind)
    with one_thread():
        for samples in _chunks(len(x), x.shape[1], window, size, kind):
            columns = _columns(x[samples], window, size, kind)
            result[samples] = np.matmul(weights, columns).reshape(-1, w.shape[0], *size)
    return result


def input_grad(e: Array, w: Array, window: Window, size: tuple[int, int]) -> Array:
    """Error of the input [B, N, H, W], ``size`` being (H, W), from that of the output ``e`` [B, M, R, C].

    Raises ValueError where the shapes do not fit each other.
    """
    channels = w.shape[1] * window.groups
    _check(channels, w, window)
    _check_error(e, w.shape[0], window, size)
    kind = product_type(e, w, w.shape[0] // window.groups * w.shape[2] * w.shape[3])
    out = (e.shape[2], e.shape[3])
    result = np.empty((len(e), channels, *size), _result(e, kind))
    weights = _matrices(w, window.groups).swapaxes(1, 2).astype(kind)
    with one_thread():
        for samples in _chunks(len(e), channels, window, out, kind):
            errors = e[samples].astype(kind).reshape(-1, window.groups, w.shape[0] // window.groups, out[0] * out[1])
            result[samples] = _fold(np.matmul(weights, errors), window, size, out)
    return result


def weight_grad(x: Array, e: Array, window: Window) -> Array:
    """Gradient of the weights [M, N / groups, KR, KC], summed over the batch. Raises ValueError on a misfit."""
    size = (x.shape[2], x.shape[3])
    _check_error(e, e.shape[1], window, size)
    if len(x) != len(e) or x.shape[1] % window.groups or e.shape[1] % window.groups:
        raise ValueError(f"{window.groups} groups, input {x.shape} and error {e.shape} do not fit")
    out, groups, channels = (e.shape[2], e.shape[3]), window.groups, e.shape[1]
    kind = product_type(x, e, out[0] * out[1])  # one sample; the sum over samples is taken in the result's type
    result = np.zeros((groups, channels // groups, x.shape[1] // groups * window.kernel[0] * window.kernel[1]))
    result = result.astype(_result(x, kind))
    with one_thread():
        for samples in _chunks(len(x), x.shape[1], window, out, kind):
            columns = _columns(x[samples], window, out, kind)
            errors = e[samples].astype(kind).reshape(-1, groups, channels // groups, out[0] * out[1])
            result += np.matmul(errors, columns.swapaxes(2, 3)).sum(axis=0, dtype=result.dtype)
    return result.reshape(channels, x.shape[1] // groups, *window.kernel)


def _terms(w: Array) -> int:
    return int(w.shape[1] * w.shape[2] * w.shape[3])


def _result(operand: Array, kind: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.int64) if np.issubdtype(operand.dtype, np.integer) else kind


def _matrices(w: Array, groups: int) -> Array:
    return w.reshape(groups, w.shape[0] // groups, -1)


def _chunks(samples: int, channels: int, window: Window, size: tuple[int, int], kind: np.dtype[Any]) -> Iterator[slice]:
    column_bytes = channels * window.kernel[0] * window.kernel[1] * size[0] * size[1] * kind.itemsize
    step = max(1, _COLUMN_BYTES // max(column_bytes, 1))
    return (slice(start, min(start + step, samples)) for start in range(0, samples, step))


def _columns(x: Array, window: Window, size: tuple[int, int], kind: np.dtype[Any]) -> Array:
    """im2col: [B, groups, N / groups * KR * KC, R * C] of ``kind``, zeros where the window meets padding."""
    samples, channels = x.shape[:2]
    padded = np.zeros((samples, channels, *window.padded(x.shape[2:])), kind)
    top, left = window.padding[:2]
    padded[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    columns = np.empty((samples, channels, *window.kernel, *size), kind)
    for kr, kc, rows, cols in window.taps(size):
        columns[:, :, kr, kc] = padded[:, :, rows, cols]
    return columns.reshape(samples, window.groups, -1, size[0] * size[1])


def _fold(columns: Array, window: Window, size: tuple[int, int], out: tuple[int, int]) -> Array:
    """col2im: the columns of every output pixel added into the padded map, of which the padding is then cut off."""
    samples = len(columns)
    taps = columns.reshape(samples, -1, *window.kernel, *out)
    padded = np.zeros((samples, taps.shape[1], *window.padded(size)), columns.dtype)
    for kr, kc, rows, cols in window.taps(out):
        padded[:, :, rows, cols] += taps[:, :, kr, kc]
    top, left = window.padding[:2]
    return padded[:, :, top : top + size[0], left : left + size[1]]


def _check(channels: int, w: Array, window: Window) -> None:
    if w.shape[2:] != window.kernel or w.shape[0] % window.groups or w.shape[1] * window.groups != channels:
        raise ValueError(f"weights {w.shape} do not fit {channels} input channels and {window}")


def _check_error(e: Array, channels: int, window: Window, size: tuple[int, int]) -> None:
    if e.shape[1] != channels or e.shape[2:] != window.out_size(size):
        raise ValueError(f"an error of {e.shape} does not fit {channels} channels of {window.out_size(size)}")
