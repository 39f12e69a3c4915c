"""What a file says about one layer, before any shape is known, and how each key of it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dse.fields import Fields

__all__ = ["AXES", "MAX_DIMENSION", "LayerSpec", "Padding", "read_attributes"]

MAX_DIMENSION = 2**24
"""Largest channel count, height, width, kernel, stride, padding, dilation or group count."""

Padding = tuple[int, int, int, int] | Literal["same"]
"""(top, left, bottom, right) in pixels, or "same"."""


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """One layer as written: its operation, the names of the layers it reads and its attributes.

    ``out_channels`` is 0 for an operation that has none. ``kernel``, ``stride`` and ``dilation`` are (rows, columns);
    a ``stride`` of None is the operation's own default: the kernel for pooling, 1 otherwise. ``padding`` "same" gives
    ceil(size / stride) outputs, with the odd pixel at the bottom and the right. ``shape`` is the output's and ``start``
    the first element taken, both (channels, height, width); ``slopes`` counts the slopes of a ``prelu``, ``rows`` those
    of an embedding's table, ``table_rows`` those of the table that a learned map is a part of. ``axis`` is the one
    along which a concat joins; ``transpose`` says that a matmul's second input has the channels of the first.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    out_channels: int = 0
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] | None = None
    padding: Padding = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    bias: bool = False
    shape: tuple[int, int, int] | None = None
    start: tuple[int, int, int] = (0, 0, 0)
    slopes: int = 1
    rows: int = 1
    table_rows: int = 0
    axis: str = "channels"
    transpose: bool = False
    output_padding: tuple[int, int] = (0, 0)


AXES = ("channels", "rows", "columns", "pixels")
"""Along what a concat may join; pixels of maps of any height and width follow each other in one row."""


def _positive(fields: Fields, key: str) -> int:
    return fields.integer(key, minimum=1, maximum=MAX_DIMENSION)


def _positive_pair(fields: Fields, key: str) -> tuple[int, int]:
    rows, columns = fields.integers(key, 2, minimum=1, maximum=MAX_DIMENSION)
    return rows, columns


def _pair(fields: Fields, key: str) -> tuple[int, int]:
    rows, columns = fields.integers(key, 2, maximum=MAX_DIMENSION)
    return rows, columns


def _axis(fields: Fields, key: str) -> str:
    return fields.string(key, choices=AXES)


def _shape(fields: Fields, key: str) -> tuple[int, int, int]:
    channels, height, width = fields.integers(key, 3, minimum=1, maximum=MAX_DIMENSION)
    return channels, height, width


def _start(fields: Fields, key: str) -> tuple[int, int, int]:
    channels, height, width = fields.integers(key, 3, maximum=MAX_DIMENSION)
    return channels, height, width


def _padding(fields: Fields, key: str) -> Padding:
    """A number (all four sides), [rows, columns], [top, left, bottom, right] or "same"."""
    value = fields.raw(key)
    if value == "same":
        return "same"
    if isinstance(value, str) or (isinstance(value, list) and len(value) not in (2, 4)):
        allowed = '"same", a whole number, [rows, columns] or [top, left, bottom, right]'
        raise fields.error(key, "is no padding", value, allowed)
    count = len(value) if isinstance(value, list) else 1
    sides = fields.integers(key, count, maximum=MAX_DIMENSION)
    top, left, bottom, right = sides * (4 // count)
    return top, left, bottom, right


_READERS: Mapping[str, Callable[[Fields, str], Any]] = {
    "out_channels": _positive,
    "kernel": _positive_pair,
    "stride": _positive_pair,
    "padding": _padding,
    "dilation": _positive_pair,
    "groups": _positive,
    "bias": Fields.boolean,
    "shape": _shape,
    "start": _start,
    "slopes": _positive,
    "rows": _positive,
    "table_rows": _positive,
    "axis": _axis,
    "transpose": Fields.boolean,
    "output_padding": _pair,
}
_REQUIRED_KEYS = ("out_channels", "kernel", "shape", "rows")


def read_attributes(fields: Fields, keys: Iterable[str]) -> dict[str, Any]:
    """The values of those ``keys`` that are written, as keyword arguments of ``LayerSpec``.

    Raises InputError for a value out of form or range, and where ``out_channels``, ``kernel``, ``shape`` or ``rows`` is
    among ``keys`` but missing.
    """
    absent = [key for key in keys if key not in fields and key not in _REQUIRED_KEYS]
    for key in absent:
        fields.raw(key, None)  # known to the table, so that a misspelt key is told about it
    return {key: _READERS[key](fields, key) for key in keys if key not in absent}
