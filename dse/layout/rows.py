"""A blocked tensor as hardware moves it: each row filled with zeros to whole beats, so that it starts a burst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.layout.blocked import Array, BlockedLayout

__all__ = ["RowImage"]


@dataclass(frozen=True)
class RowImage:
    """``sets`` blocked tensors of one shape in rows of ``row_elements``; ``element_bytes`` are 1, 2, 4 or 8.

    A row of a feature map has its columns times the block; a row of weights is a whole (m, n) block of kernels.
    """

    blocked: BlockedLayout
    row_elements: int
    element_bytes: int
    beat_bytes: int
    sets: int = 1

    @classmethod
    def maps(
        cls, shape: tuple[int, int, int, int], block: tuple[int, int], element_bytes: int, beat_bytes: int
    ) -> RowImage:
        """Feature maps [B, C, H, W] in blocks of (bb, nb); a row is one row of one block."""
        blocked = BlockedLayout(shape, block)
        return cls(blocked, shape[3] * block[0] * block[1], element_bytes, beat_bytes)

    @property
    def row_beats(self) -> int:
        """Beats of a row."""
        return -(-self.row_elements * self.element_bytes // self.beat_bytes)

    @property
    def rows(self) -> int:
        """Rows in all."""
        return self.sets * self.blocked.elements // self.row_elements

    @property
    def beats(self) -> int:
        """Beats in all."""
        return self.rows * self.row_beats

    @property
    def size_bytes(self) -> int:
        """Size in DRAM."""
        return self.beats * self.beat_bytes

    def pack(self, *tensors: Array) -> bytes:
        """The image of ``sets`` tensors. Raises ValueError on another shape or number."""
        if len(tensors) != self.sets:
            raise ValueError(f"{len(tensors)} tensors for an image of {self.sets}")
        stored = np.concatenate([self.blocked.pack(tensor) for tensor in tensors])
        rows = stored.astype(f"<i{self.element_bytes}").reshape(self.rows, self.row_elements).view(np.uint8)
        filled = np.zeros((self.rows, self.row_beats * self.beat_bytes), np.uint8)
        filled[:, : rows.shape[1]] = rows
        return filled.tobytes()

    def unpack(self, image: bytes) -> list[Array]:
        """The tensors of an image of ``size_bytes`` bytes; what fills rows and blocks is left out."""
        return self.take(np.frombuffer(image, f"<i{self.element_bytes}"))

    def take(self, values: Array) -> list[Array]:
        """The tensors from one value, of any type, for each element that the image has room for, filling included."""
        rows = values.reshape(self.rows, -1)
        stored = np.ascontiguousarray(rows[:, : self.row_elements]).reshape(self.sets, -1)
        return [self.blocked.unpack(part) for part in stored]
