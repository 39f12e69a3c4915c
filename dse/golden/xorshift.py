"""The random numbers of stochastic rounding: xorshift32 with shifts 13, 17, 5 (Marsaglia, J. Stat. Softw. 8(14), 2003).

The generator is linear over bits, so that any number of steps is one 32 x 32 bit matrix. Here it makes long sequences
at numpy's speed; in hardware it lets L lanes draw at once and still give the sequence of one generator: lane i starts i
steps in, and each lane steps by ``leap(L)``, a fixed network of XOR gates.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Xorshift32", "leap", "step"]

Words = NDArray[np.uint32]


def step(state: int) -> int:
    """The state, and draw, that follows ``state``."""
    state ^= state << 13 & 0xFFFFFFFF
    state ^= state >> 17
    return state ^ (state << 5 & 0xFFFFFFFF)


@cache
def leap(steps: int) -> tuple[int, ...]:
    """The matrix of ``steps`` steps: the state that each single bit 0 to 31 becomes; a state becomes their XOR."""
    if steps == 1:
        return tuple(step(1 << bit) for bit in range(32))
    half, rest = leap(steps // 2), leap(1)
    doubled = tuple(_apply(half, column) for column in half)
    return tuple(_apply(rest, column) for column in doubled) if steps % 2 else doubled


def _apply(matrix: tuple[int, ...], state: int) -> int:
    result = 0
    for bit, column in enumerate(matrix):
        if state >> bit & 1:
            result ^= column
    return result


@cache
def _tables(steps: int) -> tuple[Words, ...]:
    """``leap`` as four tables: what each value of byte 0 to 3 of the state adds to the result."""
    matrix = leap(steps)
    return tuple(
        np.array([_apply(matrix[8 * byte : 8 * byte + 8], value) for value in range(256)], np.uint32)
        for byte in range(4)
    )


class Xorshift32:
    """A running generator. ``state`` is the last draw, never 0; a seed of 0 is taken as 1."""

    def __init__(self, seed: int) -> None:
        self.state = seed & 0xFFFFFFFF or 1

    def draw(self, count: int) -> Words:
        """The next ``count`` draws, uint32 [count]."""
        if count == 0:
            return np.zeros(0, np.uint32)
        draws = np.empty(count, np.uint32)
        draws[0] = step(self.state)
        done = 1
        while done < count:
            more = min(done, count - done)
            known, tables = draws[:more], _tables(done)
            part = tables[0][known & 255]
            for byte in range(1, 4):
                part ^= tables[byte][known >> np.uint32(8 * byte) & 255]
            draws[done : done + more] = part
            done += more
        self.state = int(draws[-1])
        return draws
