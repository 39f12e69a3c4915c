"""Commands of the pool unit: max and average pooling of one layer, forward or backward."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.errors import InputError
from dse.golden.convolution import Window
from dse.golden.pooling import reciprocal
from dse.layout.blocked import BlockedLayout
from dse.layout.rows import RowImage
from dse.vector.pool_hardware import PoolParameters

__all__ = ["POOL_FIELDS", "POOL_MODES", "PoolAxis", "Pooling", "pool_words"]

POOL_MODES = ("max", "max_index", "average", "max_grad", "max_grad_wide", "average_grad")
"""What is done, in the order of the RTL's numbers."""

_AXIS = ("outputs", "sources", "first", "last", "phase", "stride", "tap", "tap_top")

POOL_FIELDS: tuple[str, ...] = (
    "mode", "reciprocal", "maps", *(f"row.{name}" for name in _AXIS), "row.tap_unit", "row.tap_stride",
    *(f"col.{name}" for name in _AXIS), "ring_start", "ring_step", "ring_map", "a_base", "b_base", "y_base",
    "index_base", "a_row", "a_beats", "w_beats",
)  # fmt: skip
"""Field of each 32-bit word, as in ``rtl_templates/vector/pool_pkg.sv``."""

_LARGEST = 32767
"""Coordinates are signed and have 16 bits."""


@dataclass(frozen=True)
class PoolAxis:
    """One axis of a pooling layer: ``result`` and ``operand`` pixels, and the kernel's elements, stride and padding."""

    result: int
    operand: int
    kernel: int
    stride: int
    padding: int
    backward: bool

    def window(self, pixel: int) -> range:
        """Operand pixels that a result pixel reads, cut to the map."""
        if self.backward:
            at = pixel + self.padding
            return range(max(0, -((self.kernel - 1 - at) // self.stride)), min(at // self.stride, self.operand - 1) + 1)
        first = pixel * self.stride - self.padding
        return range(max(first, 0), min(first + self.kernel, self.operand))

    def fields(self, unit: int) -> dict[str, int]:
        """Fields of a command; taps in multiples of ``unit``."""
        backward = {"first": 0, "last": self.padding // self.stride, "phase": self.padding % self.stride}
        forward = {"first": -self.padding, "last": self.kernel - 1 - self.padding, "phase": 0}
        return {
            "outputs": self.result, "sources": self.operand, **(backward if self.backward else forward),
            "stride": self.stride, "tap": self.padding * unit, "tap_top": (self.kernel - 1) * unit,
            "tap_unit": unit, "tap_stride": self.stride * unit,
        }  # fmt: skip


@dataclass(frozen=True)
class Pooling:
    """One command. ``shape`` [B, C, H, W] is the layer's input, bases are bytes.

    ``a``: x, or the error of the output (``backward``); ``b``: the indexes that max backward reads; ``y``: the result;
    ``index``: where max forward writes indexes, None: nowhere. Raises InputError for a window that is none.
    """

    kind: str
    window: Window
    shape: tuple[int, int, int, int]
    a: int = 0
    b: int = 0
    y: int = 0
    index: int | None = None
    backward: bool = False

    def __post_init__(self) -> None:
        window = self.window
        if self.kind not in ("max", "average"):
            raise InputError("pooling", "is of no such kind", self.kind, "max, average")
        if window.dilation != (1, 1):
            raise InputError("pooling", "has no dilation", window.dilation, "(1, 1)")
        for axis, kernel in enumerate(window.kernel):
            before, after = window.padding[axis], window.padding[axis + 2]
            if max(before, after) >= kernel:
                raise InputError("pooling", "pads by less than the kernel", window.padding, f"below {window.kernel}")
        if min(window.out_size(self.shape[2:])) < 1:
            raise InputError("pooling", "has a kernel larger than the padded map", window.kernel, f"for {self.shape}")

    @property
    def out_shape(self) -> tuple[int, int, int, int]:
        """Shape [B, C, R, C'] of the layer's output."""
        return (*self.shape[:2], *self.window.out_size(self.shape[2:]))

    @property
    def without_addresses(self) -> Pooling:
        """The same work where bursts begin at boundaries of them, as tensors do: it takes as long."""
        return replace(self, a=0, b=0, y=0, index=None if self.index is None else 0)

    @property
    def overlaps(self) -> bool:
        """Whether windows have pixels in common."""
        return any(k > s for k, s in zip(self.window.kernel, self.window.stride, strict=True))

    @property
    def mode(self) -> str:
        """One of ``POOL_MODES``."""
        if self.kind == "average":
            return "average_grad" if self.backward else "average"
        if self.backward:
            return "max_grad_wide" if self.overlaps else "max_grad"
        return "max" if self.index is None else "max_index"

    @property
    def wide(self) -> bool:
        """Whether results are wide."""
        return self.mode in ("max_grad_wide", "average_grad")

    def axes(self) -> tuple[PoolAxis, PoolAxis]:
        """Rows and columns."""
        inner, outer = self.shape[2:], self.out_shape[2:]
        result, operand = (inner, outer) if self.backward else (outer, inner)
        w = self.window
        rows, columns = (
            PoolAxis(result[i], operand[i], w.kernel[i], w.stride[i], w.padding[i], self.backward) for i in (0, 1)
        )
        return rows, columns

    @property
    def window_cells(self) -> int:
        """Cells in the operand's rows under the largest window: the least depth of the ring; a stride more overlaps."""
        rows, columns = self.axes()
        return max(1, *(len(rows.window(pixel)) for pixel in range(rows.result))) * columns.operand

    def operand_image(self, hw: PoolParameters) -> RowImage:
        """How the operand (and the indexes that are read) lie in DRAM."""
        shape = self.out_shape if self.backward else self.shape
        return RowImage.maps(shape, (hw.ub, hw.channel_block), hw.operand_bytes, hw.beat_bytes)

    def result_image(self, hw: PoolParameters) -> RowImage:
        """How the result (and the indexes that are written, which are narrow as it is) lie in DRAM."""
        shape = self.shape if self.backward else self.out_shape
        width = hw.wide_bytes if self.wide else hw.operand_bytes
        return RowImage.maps(shape, (hw.ub, hw.channel_block), width, hw.beat_bytes)

    def maps(self, hw: PoolParameters) -> int:
        """Maps of cells: blocks of samples times blocks of channels."""
        extents = BlockedLayout(self.shape, (hw.ub, hw.channel_block)).extents
        return extents[0] * extents[1]


def pool_words(hw: PoolParameters, command: Pooling) -> NDArray[np.uint32]:
    """The words of a command, uint32 [len(POOL_FIELDS)]; negative values in two's complement.

    Raises InputError where a window does not fit the ring, a row of indexes its queue, an index its element, a size
    16 bits, or where a base is not at a beat.
    """
    _check(hw, command)
    rows, columns = command.axes()
    kernel = command.window.kernel
    step = 1 if command.backward else rows.stride
    start = 0 if command.backward else -rows.padding
    operand, result = command.operand_image(hw), command.result_image(hw)
    beat = hw.beat_bytes
    axes = {
        **{f"row.{name}": value for name, value in rows.fields(kernel[1]).items()},
        **{f"col.{name}": value for name, value in columns.fields(1).items()},
    }
    fields = {
        "mode": POOL_MODES.index(command.mode),
        "reciprocal": reciprocal(math.prod(kernel)) if command.kind == "average" else 1,
        "maps": command.maps(hw), **axes,
        "ring_start": start * columns.operand % hw.depth, "ring_step": step * columns.operand % hw.depth,
        "ring_map": rows.operand * columns.operand % hw.depth,
        "a_base": command.a // beat, "b_base": command.b // beat, "y_base": command.y // beat,
        "index_base": (command.index or 0) // beat, "a_row": operand.row_beats, "a_beats": operand.beats,
        "w_beats": result.row_beats if command.mode == "max_index" else result.beats,
    }  # fmt: skip
    return np.array([fields[name] for name in POOL_FIELDS], np.int64).astype(np.uint32)


def _check(hw: PoolParameters, command: Pooling) -> None:
    columns = command.axes()[1]
    if command.window_cells > hw.depth:
        raise InputError(
            "pool unit parameter depth", "is too small for the rows of a window", hw.depth, f">= {command.window_cells}"
        )
    if command.mode == "max_index" and columns.result > hw.row_depth:
        raise InputError(
            "pool unit parameter row_depth", "is too small for a row of indexes", hw.row_depth, f">= {columns.result}"
        )
    taps = math.prod(command.window.kernel)
    most = 1 << hw.operand_bits if command.mode in ("max_index", "max_grad", "max_grad_wide") else 1 << 16
    if taps > most:
        raise InputError("pooling", "has a kernel of too many elements", taps, f"up to {most}")
    strides = max(command.window.stride[0] * command.window.kernel[1], command.window.stride[1])
    extent = max(*command.shape[2:], *command.out_shape[2:]) + max(command.window.padding)
    if max(strides, extent) > _LARGEST:
        raise InputError("pooling", "has a size beyond 16 bits", max(strides, extent), f"up to {_LARGEST}")
    for name in ("a", "b", "y", "index"):
        base = getattr(command, name) or 0
        if base % hw.beat_bytes:
            raise InputError(f"pooling base {name}", "is not at a beat", base, f"multiples of {hw.beat_bytes}")
