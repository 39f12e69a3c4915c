"""Tensors as the engine finds them in DRAM: the blocked layout with every row (of weights: block) in whole beats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dse.engine.hardware import EngineParameters
from dse.engine.nest import Convolution
from dse.layout.blocked import Array, BlockedLayout

__all__ = ["EngineLayout"]


@dataclass(frozen=True)
class EngineLayout:
    """One tensor in DRAM: ``sets`` blocked tensors of one shape, each row of cells filled with zeros to whole beats.

    A row is a row of a feature map, or the block of (m, n) weights; ``element_bytes`` is 4 for raw sums.
    """

    blocked: BlockedLayout
    element_bytes: int
    beat_bytes: int
    is_weight: bool
    conv: Convolution
    group_set: int
    sets: int

    @classmethod
    def features(cls, hw: EngineParameters, conv: Convolution, of_output: bool, raw: bool = False) -> EngineLayout:
        """Of the input of ``conv`` (and its error), or of the output."""
        shape = (conv.batch, *((conv.m, *conv.out_size) if of_output else (conv.n, *conv.size)))
        blocked = BlockedLayout(shape, (hw.ub, hw.channel_block))
        return cls(blocked, 4 if raw else hw.operand_bytes, hw.beat_bytes, False, conv, 1, 1)

    @classmethod
    def weights(cls, hw: EngineParameters, conv: Convolution, raw: bool = False) -> EngineLayout:
        """Of the weights of ``conv`` (and their gradient): dense inside a set of groups, zero off the diagonal."""
        group_set, sets = conv.group_sets(hw.channel_block)
        shape = (group_set * conv.group_m, group_set * conv.group_n, *conv.window.kernel)
        blocked = BlockedLayout(shape, (hw.channel_block, hw.channel_block))
        return cls(blocked, 4 if raw else hw.operand_bytes, hw.beat_bytes, True, conv, group_set, sets)

    @property
    def row_elements(self) -> int:
        """Elements of a row, without its filling."""
        _, _, rows, columns, nb, bb = self.blocked.extents
        return (rows if self.is_weight else 1) * columns * nb * bb

    @property
    def row_beats(self) -> int:
        """Beats of a row."""
        return -(-self.row_elements * self.element_bytes // self.beat_bytes)

    @cached_property
    def rows(self) -> int:
        """Rows in all."""
        return self.sets * self.blocked.elements // self.row_elements

    @property
    def size_bytes(self) -> int:
        """Size in DRAM."""
        return self.rows * self.row_beats * self.beat_bytes

    def pack(self, tensor: Array) -> bytes:
        """The image of ``tensor``: features [B, C, H, W], or weights [M, N / groups, KR, KC] in their own shape."""
        parts = [self.blocked.pack(part) for part in self._split(tensor)]
        kind = np.dtype(f"<i{self.element_bytes}")
        rows = np.concatenate(parts).astype(kind).reshape(self.rows, self.row_elements).view(np.uint8)
        filled = np.zeros((self.rows, self.row_beats * self.beat_bytes), np.uint8)
        filled[:, : rows.shape[1]] = rows
        return filled.tobytes()

    def unpack(self, image: bytes) -> Array:
        """The tensor of an image of ``size_bytes`` bytes; filling and zeros off the diagonal are left out."""
        filled = np.frombuffer(image, np.uint8).reshape(self.rows, -1)
        used = np.ascontiguousarray(filled[:, : self.row_elements * self.element_bytes])
        stored = used.view(f"<i{self.element_bytes}").reshape(self.sets, -1)
        return self._join([self.blocked.unpack(part) for part in stored])

    def _split(self, tensor: Array) -> list[Array]:
        if not self.is_weight or self.group_set == self.conv.window.groups == 1:
            return [tensor]
        dense = np.zeros((self.sets, *self.blocked.shape), tensor.dtype)
        for group, (part, m, n) in enumerate(self._diagonal()):
            dense[part, m, n] = tensor[group * self.conv.group_m : (group + 1) * self.conv.group_m]
        return list(dense)

    def _join(self, parts: list[Array]) -> Array:
        if not self.is_weight or self.group_set == self.conv.window.groups == 1:
            return parts[0]
        return np.concatenate([parts[part][m, n] for part, m, n in self._diagonal()])

    def _diagonal(self) -> list[tuple[int, slice, slice]]:
        """(set, output channels, input channels) of every group."""
        conv, found = self.conv, []
        for group in range(conv.window.groups):
            part, place = divmod(group, self.group_set)
            m, n = place * conv.group_m, place * conv.group_n
            found.append((part, slice(m, m + conv.group_m), slice(n, n + conv.group_n)))
        return found
