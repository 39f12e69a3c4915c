"""Tensors as the engine finds them in DRAM: the blocked layout with every row (of weights: block) in whole beats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.engine.hardware import EngineParameters
from dse.engine.nest import Convolution
from dse.layout.blocked import Array, BlockedLayout
from dse.layout.rows import RowImage

__all__ = ["EngineLayout"]


@dataclass(frozen=True)
class EngineLayout:
    """One operand or result of ``conv``: its ``image``, and for weights how groups are put into sets.

    Raw sums have ``EngineParameters.wide_bytes`` an element.
    """

    image: RowImage
    conv: Convolution
    is_weight: bool = False
    group_set: int = 1

    @classmethod
    def features(cls, hw: EngineParameters, conv: Convolution, of_output: bool, raw: bool = False) -> EngineLayout:
        """Of the input of ``conv`` (and its error), or of the output."""
        shape = (conv.batch, *((conv.m, *conv.out_size) if of_output else (conv.n, *conv.size)))
        element = hw.wide_bytes if raw else hw.operand_bytes
        return cls(RowImage.maps(shape, (hw.ub, hw.channel_block), element, hw.beat_bytes), conv)

    @classmethod
    def weights(cls, hw: EngineParameters, conv: Convolution, raw: bool = False) -> EngineLayout:
        """Of the weights of ``conv`` (and their gradient): dense inside a set of groups, zero off the diagonal."""
        group_set, sets = conv.group_sets(hw.channel_block)
        kernel, block = conv.window.kernel, hw.channel_block
        blocked = BlockedLayout((group_set * conv.group_m, group_set * conv.group_n, *kernel), (block, block))
        element = hw.wide_bytes if raw else hw.operand_bytes
        row = kernel[0] * kernel[1] * block * block
        return cls(RowImage(blocked, row, element, hw.beat_bytes, sets), conv, True, group_set)

    @property
    def blocked(self) -> BlockedLayout:
        """The layout of one set."""
        return self.image.blocked

    @property
    def row_beats(self) -> int:
        """Beats of a row."""
        return self.image.row_beats

    @property
    def size_bytes(self) -> int:
        """Size in DRAM."""
        return self.image.size_bytes

    def pack(self, tensor: Array) -> bytes:
        """The image of ``tensor``: features [B, C, H, W], or weights [M, N / groups, KR, KC] in their own shape."""
        return self.image.pack(*self._split(tensor))

    def unpack(self, image: bytes) -> Array:
        """The tensor of an image of ``size_bytes`` bytes; filling and zeros off the diagonal are left out."""
        return self._join(self.image.unpack(image))

    def take(self, values: Array) -> Array:
        """The tensor from one value for each element that the image has room for, filling included."""
        return self._join(self.image.take(values))

    def _split(self, tensor: Array) -> list[Array]:
        if not self.is_weight or self.group_set == self.conv.window.groups == 1:
            return [tensor]
        dense = np.zeros((self.image.sets, *self.blocked.shape), tensor.dtype)
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
