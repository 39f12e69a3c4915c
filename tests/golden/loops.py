"""Convolution as explicit loops on Python integers or floats: slow, and plain enough to be read against the sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dse.golden import Window
from dse.golden.product import Array


def terms(x: Array, w_shape: tuple[int, ...], window: Window) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every product of the forward sum: (index of y, index of x, index of w)."""
    m, n_in_group, kernel_rows, kernel_columns = w_shape
    rows, columns = window.out_size(x.shape[2:])
    top, left = window.padding[:2]
    for b, o, r, c in np.ndindex(len(x), m, rows, columns):
        for n, kr, kc in np.ndindex(n_in_group, kernel_rows, kernel_columns):
            row = r * window.stride[0] + kr * window.dilation[0] - top
            column = c * window.stride[1] + kc * window.dilation[1] - left
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                channel = o // (m // window.groups) * n_in_group + n
                yield (b, o, r, c), (b, channel, row, column), (o, n, kr, kc)


def forward(x: Array, w: Array, window: Window) -> Array:
    """Outputs [B, M, R, C], exact (Python integers) for integers."""
    y = np.zeros((len(x), len(w), *window.out_size(x.shape[2:])), object)
    for at_y, at_x, at_w in terms(x, w.shape, window):
        y[at_y] += x[at_x].item() * w[at_w].item()
    return y


def gradients(x: Array, w: Array, e: Array, window: Window) -> tuple[Array, Array]:
    """Error of the input [B, N, H, W] and gradient of the weights [M, N / groups, KR, KC]."""
    of_x, of_w = np.zeros(x.shape, object), np.zeros(w.shape, object)
    for at_y, at_x, at_w in terms(x, w.shape, window):
        of_x[at_x] += e[at_y].item() * w[at_w].item()
        of_w[at_w] += e[at_y].item() * x[at_x].item()
    return of_x, of_w
