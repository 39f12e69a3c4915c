"""ONNX operators that move or relabel elements, and those on two tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dse.networks.layer_spec import MAX_DIMENSION
from dse.networks.onnx_graph import Node, State
from dse.networks.onnx_layout import Map, fresh
from dse.networks.onnx_operators import Handler
from dse.networks.onnx_pairs import binary, broadcast

__all__ = ["MOVEMENT"]


def _pad(node: Node, state: State) -> Map:
    source = state.map(node)
    rank = len(source.shape)
    pads = node.integers("pads") if node.opset < 11 else tuple(state.numbers(node, 1) or ())
    axes = state.numbers(node, 3) if node.opset >= 18 else None
    if pads is None or len(pads) != 2 * (len(axes) if axes is not None else rank):
        raise node.error("has pads of the wrong length", pads, f"{2 * rank} numbers")
    both = [(0, 0)] * rank
    for position, axis in enumerate(axes if axes is not None else range(rank)):
        both[axis] = (pads[position], pads[position + len(pads) // 2])
    if not any(map(any, both)):
        return source
    source, rest = _as_image(node, state, source)
    fixed = [both[axis] for axis in range(rank) if axis not in rest]
    sides = [(0, 0)] * (2 - len(rest)) + [both[axis] for axis in rest]
    if any(map(any, fixed)) or not all(0 <= s <= MAX_DIMENSION for pair in sides for s in pair):
        raise node.error("is supported on spatial axes, with sizes of at least 0", pads)
    padding = (sides[0][0], sides[1][0], sides[0][1], sides[1][1])
    layer = state.emit(node, "pad", [source], padding=padding)
    return state.layer_map(layer, rank, source.channel, source.shape[0])


def _as_image(node: Node, state: State, source: Map) -> tuple[Map, tuple[int, ...]]:
    """``source`` with one axis of channels and at most two of pixels in order, and which those are."""
    channel = source.channel or 1
    if len(source.shape) > 4 or not source.batch_front or len(source.shape) < 2:
        raise node.error("is supported on rank 2 to 4, the batch in front", source.shape)
    source = state.with_channels(node, source, (channel,), ordered=True)
    return source, tuple(axis for axis in range(1, len(source.shape)) if axis != channel)


def _resize(node: Node, state: State) -> Map:
    source = state.map(node)
    rank = len(source.shape)
    sizes = state.numbers(node, 3) if node.opset > 10 else None
    if sizes:
        shape = tuple(sizes)
    else:
        known = state.known(node, 2 if node.opset > 10 else 1)
        factors = [] if known is None or known.values is None else np.ravel(known.values).tolist()
        shape = tuple(int(size * factor) for size, factor in zip(source.shape, factors, strict=True))
    if shape == source.shape:
        return source
    source, rest = _as_image(node, state, source)
    kept = [axis for axis in range(rank) if axis not in rest]
    if len(shape) != rank or any(shape[axis] != source.shape[axis] for axis in kept):
        raise node.error("is supported on spatial axes", shape, f"batch and channels as in {source.shape}")
    target = fresh("", shape, source.channel)
    layer = state.emit(node, "upsample", [source], shape=target.stored_shape((source.channel,)))
    return replace(target, layer=layer)


def _transpose(node: Node, state: State) -> Map:
    source = state.map(node)
    perm = node.integers("perm") or tuple(reversed(range(len(source.shape))))
    if sorted(perm) != list(range(len(source.shape))):
        raise node.error("does not permute the axes", perm)
    return source.permuted(perm)


def _flatten(node: Node, state: State) -> Map:
    source = state.map(node)
    axis = node.integer("axis", 1) % max(len(source.shape), 1)
    return state.relabel(node, source, (math.prod(source.shape[:axis]), math.prod(source.shape[axis:])))


def _reshape(node: Node, state: State) -> Map:
    source, sizes = state.map(node), state.numbers(node, 1)
    if sizes is None:
        raise node.error("needs a shape")
    shape = [
        source.shape[i] if size == 0 and not node.integer("allowzero", 0) else size for i, size in enumerate(sizes)
    ]
    total = math.prod(source.shape)
    if shape.count(-1) == 1:
        rest = math.prod(size for size in shape if size != -1)
        shape[shape.index(-1)] = total // rest if rest else 0
    if min(shape, default=0) < 1 or math.prod(shape) != total:
        raise node.error("does not keep the number of elements", (source.shape, sizes), f"{total} elements")
    return state.relabel(node, source, shape)


def _squeeze(node: Node, state: State) -> Map:
    source = state.map(node)
    rank = len(source.shape)
    given = state.numbers(node, 1) if node.opset >= 13 else node.integers("axes")
    ones = [axis for axis in range(rank) if source.shape[axis] == 1 and not source.axes[axis]]
    axes = [axis % rank for axis in given] if given is not None else ones
    if any(axis not in ones for axis in axes):
        raise node.error("removes an axis that is the batch or not of size 1", axes, ones)
    return replace(source, axes=tuple(atoms for axis, atoms in enumerate(source.axes) if axis not in axes))


def _unsqueeze(node: Node, state: State) -> Map:
    source = state.map(node)
    given = (state.numbers(node, 1) if node.opset >= 13 else node.integers("axes")) or []
    rank = len(source.shape) + len(given)
    axes = {axis % rank for axis in given}
    if len(axes) != len(given) or rank > 16:
        raise node.error("adds an axis twice", list(given))
    left = iter(source.axes)
    return replace(source, axes=tuple(() if axis in axes else next(left) for axis in range(rank)))


def _identity(node: Node, state: State) -> Map:
    return state.map(node)


def _expand(node: Node, state: State) -> Map:
    source, sizes = state.map(node), state.numbers(node, 1) or []
    rank = max(len(sizes), len(source.shape))
    wide = replace(source, axes=((),) * (rank - len(source.shape)) + source.axes)
    shape = tuple(np.broadcast_shapes(wide.shape, tuple(sizes)))
    return wide if shape == wide.shape else broadcast(node, state, wide, fresh("", shape, 1))


MOVEMENT: Mapping[str, Handler] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), binary),
    **dict.fromkeys(("Identity", "Cast"), _identity),
    "Expand": _expand,
    "Pad": _pad,
    "Resize": _resize,
    "Upsample": _resize,
    "Transpose": _transpose,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
}
"""Operator -> how it becomes layers."""
