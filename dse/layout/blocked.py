"""The blocked DRAM layout of feature maps and weights, in which every tile that a training phase moves is one burst.

Features [B, C, H, W] are stored as [b / bb][c / nb][row][column][nb][bb], weights [M, N, KR, KC] as
[m / mb][n / nb][kr][kc][nb][mb]: the last index fastest, edges filled with zeros up to the block. That is one layout of
four-dimensional tensors, whose first two dimensions are cut into blocks that become the two innermost. DarkFPGA's CHWB
(Luo et al., FCCM 2019, section IV) is nb = 1, bb = B; EF-Train's reshaped layout (Tang et al., ACM TODAES 27(5), 2022,
section 4) is bb = 1, nb = mb = Tm = Tn. Plain row-major order is the block (1, 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "BlockedLayout", "Burst"]

Array = NDArray[Any]


class Burst(NamedTuple):
    """A contiguous stretch of a stored tensor, in elements: where it starts, and its length."""

    start: int
    elements: int


@dataclass(frozen=True, slots=True)
class BlockedLayout:
    """Storage of a tensor of ``shape`` (B, C, H, W) or (M, N, KR, KC) in blocks of ``block`` = (bb, nb) or (mb, nb).

    With groups, N counts the input channels of one group, as in the weights' own shape.
    """

    shape: tuple[int, int, int, int]
    block: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        """Raise ValueError for a size or block below 1."""
        if min(self.shape + self.block) < 1:
            raise ValueError(f"sizes and blocks must be at least 1; got {self.shape} in blocks of {self.block}")

    @property
    def extents(self) -> tuple[int, int, int, int, int, int]:
        """Extents in DRAM, slowest first: blocks of dimension 0, of dimension 1, rows, columns, nb, bb (or mb)."""
        first, second, rows, columns = self.shape
        return -(-first // self.block[0]), -(-second // self.block[1]), rows, columns, self.block[1], self.block[0]

    @property
    def elements(self) -> int:
        """Elements stored, filling included."""
        return math.prod(self.extents)

    def pack(self, tensor: Array) -> Array:
        """The stored elements [elements] of ``tensor``, of its type. Raises ValueError on another shape."""
        if tensor.shape != self.shape:
            raise ValueError(f"a tensor of {tensor.shape} does not fit a layout of {self.shape}")
        f, s, rows, columns, inner_second, inner_first = self.extents
        filling = [(0, f * inner_first - self.shape[0]), (0, s * inner_second - self.shape[1]), (0, 0), (0, 0)]
        split = np.pad(tensor, filling).reshape(f, inner_first, s, inner_second, rows, columns)
        return np.ascontiguousarray(split.transpose(0, 2, 4, 5, 3, 1)).reshape(-1)

    def unpack(self, stored: Array) -> Array:
        """The tensor of ``stored`` [elements]; what fills the edges is ignored. Raises ValueError on another length."""
        f, s, rows, columns, inner_second, inner_first = self.extents
        split = stored.reshape(self.extents).transpose(0, 5, 1, 4, 2, 3)
        whole = split.reshape(f * inner_first, s * inner_second, rows, columns)
        return np.ascontiguousarray(whole[: self.shape[0], : self.shape[1]])

    def element(self, first: int, second: int, row: int, column: int) -> int:
        """Where the element at these indices of the tensor is stored, in elements from the base."""
        _, blocks, rows, columns, inner_second, inner_first = self.extents
        block = first // inner_first * blocks + second // inner_second
        pixel = (block * rows + row) * columns + column
        return (pixel * inner_second + second % inner_second) * inner_first + first % inner_first

    def burst(self, first_block: int, second_block: int, row: int = 0, rows: int | None = None) -> Burst:
        """The stretch that holds ``rows`` whole rows (default: up to the last) of one block: a tile, or its kernels.

        Raises ValueError where there are no such rows or no such block.
        """
        f, s, height, columns, inner_second, inner_first = self.extents
        rows = height - row if rows is None else rows
        if not (0 <= first_block < f and 0 <= second_block < s and row >= 0 and 1 <= rows <= height - row):
            raise ValueError(f"no {rows} rows from {row} in block {first_block, second_block} of {self.extents}")
        row_elements = columns * inner_second * inner_first
        return Burst(((first_block * s + second_block) * height + row) * row_elements, rows * row_elements)
