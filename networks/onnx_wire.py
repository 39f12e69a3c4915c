"""Reading an ONNX file without its weights: large tensors are cut from the protobuf before it is parsed."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dse.errors import InputError

__all__ = ["read_model"]

_SMALL = 8192
"""Bytes up to which a tensor's values are kept: shapes, axes and scalars are among them."""

Tree = Mapping[int, Any]
_TENSOR: Tree = dict.fromkeys((4, 5, 6, 7, 9, 10, 11), None)
"""Fields of TensorProto that hold values: float, int32, string, int64, raw, double, uint64."""
_SPARSE: Tree = {1: _TENSOR, 2: _TENSOR}
_GRAPH: dict[int, Any] = {5: _TENSOR, 15: _SPARSE}
_NODE: Tree = {5: {5: _TENSOR, 10: _TENSOR, 6: _GRAPH, 11: _GRAPH, 22: _SPARSE, 23: _SPARSE}}
_GRAPH[1] = _NODE
_MODEL: Tree = {7: _GRAPH, 20: {1: _GRAPH, 2: _GRAPH}, 25: {7: _NODE}}
_MAX_DEPTH = 32


def read_model(path: Path) -> Any:
    """The ``onnx.ModelProto`` at ``path``; tensors of more than a few kilobytes have dimensions but no values.

    External data are never opened. Raises InputError for a file that cannot be read or is no ONNX model.
    """
    try:
        with path.open("rb") as file:
            small = _without_weights(file.fileno())
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if small is None:
        raise InputError(str(path), "is not a valid ONNX file: its protobuf is cut short or damaged")
    return _parse(path, small)


def _parse(path: Path, content: bytes) -> Any:
    import onnx

    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as error:  # protobuf raises an error of its own, derived from Exception alone
        raise InputError(str(path), f"is not a valid ONNX file: {error}") from error
    if not model.HasField("graph"):
        raise InputError(str(path), "is not a valid ONNX file: it holds no graph")
    return model


def _without_weights(descriptor: int) -> bytes | None:
    try:
        content = mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except ValueError:  # an empty file cannot be mapped
        return b""
    with content, memoryview(content) as view:
        try:
            return b"".join(_copy(view, 0, len(view), _MODEL, _MAX_DEPTH))
        except (IndexError, RecursionError):
            return None


def _copy(view: memoryview, start: int, end: int, tree: Tree, depth: int) -> Iterator[bytes]:
    """The bytes of a message without the large fields that ``tree`` marks with None."""
    at = start
    while at < end:
        begin = at
        key, at = _varint(view, at, end)
        number, kind = key >> 3, key & 7
        if kind == 2:
            length, at = _varint(view, at, end)
            body, at = at, at + length
            if at > end:
                raise IndexError
            if length > _SMALL and number in tree and depth:
                below = tree[number]
                if below is not None:
                    parts = b"".join(_copy(view, body, at, below, depth - 1))
                    yield bytes(view[begin : begin + _varint_size(view, begin)]) + _encode(len(parts)) + parts
                continue
        else:
            at = _skip(view, at, end, kind)
        yield bytes(view[begin:at])


def _skip(view: memoryview, at: int, end: int, kind: int) -> int:
    if kind == 0:
        return _varint(view, at, end)[1]
    if kind not in (1, 5):
        raise IndexError
    at += 8 if kind == 1 else 4
    if at > end:
        raise IndexError
    return at


def _varint(view: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if at >= end:
            raise IndexError
        byte = view[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise IndexError


def _varint_size(view: memoryview, at: int) -> int:
    size = 1
    while view[at + size - 1] >= 128:
        size += 1
    return size


def _encode(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
