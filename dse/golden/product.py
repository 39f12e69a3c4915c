"""Matrix products of integers that are exact, at the speed of the floating-point library where sums are small enough.

A float holds every integer up to 2^24 (single) or 2^53 (double). A product of matrices whose sums of magnitudes stay
within that bound is exact in that format, whatever the order of its additions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

__all__ = ["Array", "magnitude", "one_thread", "product", "product_type"]

Array = NDArray[Any]

_EXACT: tuple[tuple[type[np.floating[Any]], int], ...] = ((np.float32, 1 << 24), (np.float64, 1 << 53))
"""Format -> the bound up to which it holds all integers (IEEE 754-2019, table 3.5: precision 24 and 53)."""


def magnitude(values: Array) -> int:
    """The largest magnitude in ``values`` (0 where there are none), as a Python integer."""
    return max(-int(values.min()), int(values.max()), 0) if values.size else 0


def product_type(a: Array, b: Array, terms: int) -> np.dtype[Any]:
    """The fastest format in which sums of ``terms`` products of an element of ``a`` and one of ``b`` are exact.

    Floats keep their common type. Integers give float32, float64 or, where neither is wide enough, int64. Raises
    OverflowError where not even int64 holds every sum.
    """
    if not (np.issubdtype(a.dtype, np.integer) and np.issubdtype(b.dtype, np.integer)):
        return np.result_type(a, b)
    bound = magnitude(a) * magnitude(b) * terms
    for kind, limit in _EXACT:
        if bound <= limit:
            return np.dtype(kind)
    if bound >= 1 << 63:
        raise OverflowError(f"sums of {terms} products may reach {bound}, more than 64 bits hold")
    return np.dtype(np.int64)


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrix products on the calling thread alone: many small ones wait for helpers far longer than they compute."""
    with _threads().limit(limits=1, user_api="blas"):
        yield


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def product(a: Array, b: Array) -> Array:
    """``a @ b`` ([..., i, k] times [..., k, j]): int64 and exact for integers, of their common type for floats."""
    kind = product_type(a, b, a.shape[-1])
    result: Array = np.matmul(a.astype(kind, copy=False), b.astype(kind, copy=False))
    return result.astype(np.int64) if np.issubdtype(a.dtype, np.integer) else result
