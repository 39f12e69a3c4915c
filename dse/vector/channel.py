"""Commands of the channel unit: operations with one number per channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.errors import InputError
from dse.layout.rows import RowImage

__all__ = ["CHANNEL_FIELDS", "CHANNEL_KINDS", "ChannelOperation", "channel_vector", "channel_words"]

CHANNEL_KINDS = ("sum", "bias", "norm_forward", "norm_backward")
"""What is done, in the order of the RTL's numbers."""

CHANNEL_FIELDS = (
    "op", "wide", "relu", "error", "shift", "channel_blocks", "channels_last", "sample_blocks", "samples_last", "rows",
    "groups", "lanes_last", "steps_last", "count", "narrow_plane", "narrow_sample",
    "narrow_block", "wide_plane", "wide_sample", "wide_block",
    "a_base", "b_base", "w_base", "in[0]", "in[1]", "in[2]", "out[0]", "out[1]",
)  # fmt: skip
"""Field of each 32-bit word, as in ``rtl_templates/vector/channel_pkg.sv``."""

_WIDE = 4
"""A wide element has this many times the width of a narrow one."""
_VECTORS: Mapping[str, tuple[int, int]] = {
    "sum": (0, 1), "bias": (1, 0), "norm_forward": (2, 2), "norm_backward": (3, 2),
}  # fmt: skip
"""Vectors read and written."""
COUNT_BITS = 24
"""``MaxCountWidth`` of the RTL."""


@dataclass(frozen=True)
class ChannelOperation:
    """One command. ``image`` is the layout of its maps [B, C, H, W] with narrow elements; bases are bytes.

    ======================  ==========  =================================  ===================  =======================
    kind                    maps a, b   vectors read                       map o                vectors written
    ======================  ==========  =================================  ===================  =======================
    sum                     e                                                                   sum (wide)
    bias                    a           bias                               y
    norm_forward            x           scale, offset                      y                    mean, inverse (wide)
    norm_backward           e, x        mean, inverse (wide), scale        error (wide)         gradients of scale and
                                                                                                offset (wide)
    ======================  ==========  =================================  ===================  =======================

    ``wide``: the elements of a ``bias`` are sums, shifted by ``shift`` (0 to 3 times the width of an element) bits.
    ``o`` is None in a ``norm_backward`` that leaves the input's error out. ``channel_vector`` is the layout of vectors.
    """

    kind: str
    image: RowImage
    a: int = 0
    b: int = 0
    o: int | None = 0
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    wide: bool = False
    relu: bool = False
    shift: int = 0

    def __post_init__(self) -> None:
        """Raise InputError for what the unit cannot do."""
        where = f"channel unit, {self.kind}"
        if self.kind not in CHANNEL_KINDS:
            raise InputError("channel unit", "has no such operation", self.kind, ", ".join(CHANNEL_KINDS))
        vectors = (len(self.reads), len(self.writes))
        if vectors != _VECTORS[self.kind]:
            raise InputError(where, "needs other vectors to read and write", vectors, _VECTORS[self.kind])
        if not 0 <= self.shift <= 3 * self.bits:
            raise InputError(f"{where}: shift", "is out of range", self.shift, f"0 to {3 * self.bits}")
        if not self.count < 1 << COUNT_BITS:
            raise InputError(where, "has too many elements a channel", self.count, f"below 2^{COUNT_BITS}")
        for base in (self.a, self.b, self.o or 0, *self.reads, *self.writes):
            if base % self.image.beat_bytes:
                raise InputError(f"{where}: base", "is not at a beat", base, f"multiples of {self.image.beat_bytes}")

    @property
    def bits(self) -> int:
        """Width of a narrow element."""
        return 8 * self.image.element_bytes

    @property
    def lanes(self) -> int:
        """Narrow elements of a beat."""
        return self.image.beat_bytes // self.image.element_bytes

    @property
    def count(self) -> int:
        """Elements of a channel."""
        batch, _, height, width = self.image.blocked.shape
        return batch * height * width

    @property
    def wide_image(self) -> RowImage:
        """The layout with wide elements."""
        return replace(self.image, element_bytes=_WIDE * self.image.element_bytes)

    @property
    def sums(self) -> bool:
        """Whether there is a pass that sums."""
        return self.kind != "bias"

    @property
    def results(self) -> bool:
        """Whether there is a pass that writes a map."""
        return self.kind != "sum" and self.o is not None

    @property
    def wide_steps(self) -> bool:
        """Whether a pass that writes a map takes a step for every beat of wide elements."""
        return self.wide or self.kind == "norm_backward"


def channel_vector(image: RowImage, wide: bool) -> RowImage:
    """Layout of a number per channel of the maps of ``image``, as a tensor [1, C, 1, 1]: a row per channel block."""
    element = image.element_bytes * (_WIDE if wide else 1)
    _, channels, _, _ = image.blocked.shape
    return RowImage.maps((1, channels, 1, 1), (1, image.blocked.block[1]), element, image.beat_bytes)


def channel_words(command: ChannelOperation) -> NDArray[np.uint32]:
    """The words of a command, uint32 [len(CHANNEL_FIELDS)]."""
    image, wide, beat = command.image, command.wide_image, command.image.beat_bytes
    batch, channels, height, _ = image.blocked.shape
    sample_blocks, channel_blocks, *_, channel_block, sample_block = image.blocked.extents
    planes = {"narrow": height * image.row_beats, "wide": height * wide.row_beats}
    reads = (*command.reads, 0, 0, 0)
    writes = (*command.writes, 0, 0)
    fields = {
        "op": CHANNEL_KINDS.index(command.kind), "wide": int(command.wide), "relu": int(command.relu),
        "error": int(command.o is not None), "shift": command.shift,
        "channel_blocks": channel_blocks, "channels_last": channels - (channel_blocks - 1) * channel_block,
        "sample_blocks": sample_blocks, "samples_last": batch - (sample_blocks - 1) * sample_block,
        "rows": height, "groups": image.row_beats,
        "lanes_last": image.row_elements - (image.row_beats - 1) * command.lanes,
        "steps_last": wide.row_beats - (image.row_beats - 1) * _WIDE, "count": command.count,
        **{f"{name}_plane": beats for name, beats in planes.items()},
        **{f"{name}_sample": beats * channel_blocks for name, beats in planes.items()},
        **{f"{name}_block": beats * (1 - channel_blocks * (sample_blocks - 1)) for name, beats in planes.items()},
        "a_base": command.a // beat, "b_base": command.b // beat, "w_base": (command.o or 0) // beat,
        **{f"in[{i}]": reads[i] // beat for i in range(3)}, **{f"out[{i}]": writes[i] // beat for i in range(2)},
    }  # fmt: skip
    for name in ("channel_blocks", "sample_blocks", "rows", "groups"):
        if fields[name] >= 1 << 16:
            raise InputError(f"channel unit, {command.kind}: {name}", "passes 16 bits", fields[name], "up to 65535")
    return np.array([fields[name] for name in CHANNEL_FIELDS], np.int64).astype(np.uint32)
