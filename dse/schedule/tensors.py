"""Tensors of a training iteration as they lie in the accelerator's DRAM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dse.engine import EngineLayout, EngineParameters
from dse.errors import InputError
from dse.layout.blocked import Array
from dse.layout.rows import RowImage

__all__ = ["ALIGNMENT", "SPACES", "Tensor", "TensorMap"]

ALIGNMENT = 4096
"""Bytes: the boundary that no AXI4 burst crosses (ARM IHI 0022, section A3.4.1)."""
SPACES = ("tensors", "samples", "targets")
"""What the base address registers point to, in their order."""
MOST_SLOTS = 256
"""What a record's eight bits can name."""


@dataclass(frozen=True)
class Tensor:
    """One tensor: ``base`` in bytes from the base address of its ``space``; ``slot`` where exponent and scale are."""

    kind: str
    name: str
    layout: RowImage | EngineLayout
    base: int
    space: str = SPACES[0]
    slot: int | None = None

    @property
    def image(self) -> RowImage:
        """Rows and blocks."""
        return self.layout if isinstance(self.layout, RowImage) else self.layout.image

    @property
    def size_bytes(self) -> int:
        """Size in DRAM."""
        return self.image.size_bytes

    @property
    def elements(self) -> int:
        """Elements that fit, with the filling of blocks and rows: what an update draws numbers for."""
        return self.size_bytes // self.image.element_bytes

    def pack(self, tensor: Array) -> bytes:
        """The image of a tensor; vectors are [1, C, 1, 1]."""
        return self.layout.pack(tensor)

    def unpack(self, image: bytes) -> Array:
        """The tensor of an image."""
        found = self.layout.unpack(image)
        return found[0] if isinstance(found, list) else found

    def take(self, values: Array) -> Array:
        """The tensor of one value for each of ``elements``."""
        found = self.layout.take(values)
        return found[0] if isinstance(found, list) else found


class TensorMap:
    """Tensors in the order in which they were asked for, each space filled from 0 in steps of ``ALIGNMENT``."""

    def __init__(self, hw: EngineParameters) -> None:
        self.hw = hw
        self.slots = 0
        self._tensors: dict[tuple[str, str], Tensor] = {}
        self._ends = dict.fromkeys(SPACES, 0)

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._tensors.values())

    def __getitem__(self, key: tuple[str, str]) -> Tensor:
        return self._tensors[key]

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._tensors

    def size_bytes(self, space: str = SPACES[0]) -> int:
        """Bytes of a space."""
        return self._ends[space]

    def maps(
        self, kind: str, name: str, shape: tuple[int, int, int, int], *, wide: bool = False, slot: bool = False,
        space: str = SPACES[0],
    ) -> Tensor:  # fmt: skip
        """Feature maps [B, C, H, W]."""
        hw = self.hw
        element = hw.wide_bytes if wide else hw.operand_bytes
        return self.add(
            kind, name, RowImage.maps(shape, (hw.ub, hw.channel_block), element, hw.beat_bytes), slot, space
        )

    def vector(self, kind: str, name: str, channels: int, *, wide: bool = False, slot: bool = False) -> Tensor:
        """One number a channel, [1, C, 1, 1]: a row for each block of channels."""
        hw = self.hw
        element = hw.wide_bytes if wide else hw.operand_bytes
        image = RowImage.maps((1, channels, 1, 1), (1, hw.channel_block), element, hw.beat_bytes)
        return self.add(kind, name, image, slot)

    def add(
        self, kind: str, name: str, layout: RowImage | EngineLayout, slot: bool = False, space: str = SPACES[0]
    ) -> Tensor:
        """A tensor of any layout. Raises InputError beyond 256 slots, ValueError for a second one of a name."""
        if (kind, name) in self._tensors:
            raise ValueError(f"there is a tensor {kind} {name} already")
        if slot and self.slots == MOST_SLOTS:
            raise InputError("schedule", "has too many errors with an exponent", MOST_SLOTS + 1, MOST_SLOTS)
        tensor = Tensor(kind, name, layout, self._ends[space], space, self.slots if slot else None)
        self.slots += slot
        self._ends[space] += -(-tensor.size_bytes // ALIGNMENT) * ALIGNMENT
        self._tensors[kind, name] = tensor
        return tensor
