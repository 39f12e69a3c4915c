"""ONNX operators on two tensors, and those that move or relabel elements."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dse.networks.layer_spec import MAX_DIMENSION
from dse.networks.onnx_graph import Known, Map, Node, State, view
from dse.networks.onnx_operators import Handler

__all__ = ["MOVEMENT"]

_BIASED = ("Conv", "Gemm", "MatMul")


def _axis(node: Node, axis: int, rank: int) -> int:
    """``axis`` counted from the front; never the batch."""
    front = axis + rank if axis < 0 else axis
    if not 1 <= front < rank:
        raise node.error("axis is out of range, or the batch", axis, f"1 to {rank - 1}")
    return front


def _binary(node: Node, state: State) -> Map:
    left, right = state.get(node, 0), state.get(node, 1)
    if isinstance(left, Map) and isinstance(right, Map):
        return _two_maps(node, state, left, right)
    if isinstance(left, Map) and isinstance(right, Known):
        return _with_constant(node, state, left, right, 0)
    if isinstance(right, Map) and isinstance(left, Known) and node.op != "Div":
        return _with_constant(node, state, right, left, 1)
    raise node.error("is supported on two computed tensors, or one and a constant")


def _aligned(shape: tuple[int, ...], rank: int) -> tuple[int, ...]:
    return (1,) * (rank - len(shape)) + shape


def _with_constant(node: Node, state: State, source: Map, constant: Known, position: int) -> Map:
    rank, op = len(source.shape), "scale"
    shape = _aligned(constant.shape, rank)
    if math.prod(shape) != 1:
        channel = next((axis for axis in range(rank - 1, 0, -1) if shape[axis] == source.shape[axis] > 1), 0)
        if len(shape) != rank or not channel or math.prod(shape) != source.shape[channel]:
            got = (source.shape, constant.shape)
            raise node.error("with a constant of this shape is not supported", got, "one value, or one per channel")
        source = state.with_channel(node, source, channel)
        op = "bias" if node.op in ("Add", "Sub") else "channel_scale"
        name = node.inputs[position]
        maker = state.made_by.get(name)
        alone = state.readers[name] == 1 and maker is not None and maker.op in _BIASED
        if op == "bias" and alone and state.builder.add_bias(source.layer):
            return source
    elif len(constant.shape) > rank:
        raise node.error("with a constant of a higher rank is not supported", constant.shape, f"rank up to {rank}")
    return Map(state.emit(node, op, [source]), source.shape, source.channel)


def _two_maps(node: Node, state: State, left: Map, right: Map) -> Map:
    if node.op == "Div":
        raise node.error("divides by a computed tensor, which is not supported", allowed="a constant divisor")
    if len(right.shape) > len(left.shape) or math.prod(right.shape) > math.prod(left.shape):
        left, right = right, left
    if len(left.shape) != len(right.shape):
        raise node.error("broadcasts tensors of different ranks", (left.shape, right.shape), "equal ranks")
    right = state.with_channel(node, right, left.channel)
    op = {"Add": "add", "Sub": "sub", "Mul": "mul"}[node.op]
    if left.shape != right.shape:
        per_channel = state.builder.shapes[right.layer] == (view(left.shape, left.channel)[0], 1, 1)
        if per_channel and op == "mul":
            return Map(state.emit(node, "channel_mul", [left, right]), left.shape, left.channel)
        target = view(left.shape, left.channel)
        layer = state.emit(node, "upsample", [right], "_broadcast", shape=target)
        right = Map(layer, left.shape, left.channel)
    return Map(state.emit(node, op, [left, right]), left.shape, left.channel)


def _concat(node: Node, state: State) -> Map:
    maps = [state.map(node, position) for position in range(len(node.inputs))]
    rank = len(maps[0].shape)
    axis = _axis(node, node.integer("axis", 1), rank)
    maps = [state.with_channel(node, one, axis) for one in maps]
    if any(len(one.shape) != rank for one in maps):
        raise node.error("joins tensors of different ranks", [one.shape for one in maps])
    if len(maps) == 1:
        return maps[0]
    layer = state.emit(node, "concat", maps)
    total = sum(one.shape[axis] for one in maps)
    return Map(layer, (*maps[0].shape[:axis], total, *maps[0].shape[axis + 1 :]), axis)


def _cut(node: Node, state: State, source: Map, ranges: Mapping[int, tuple[int, int, int]], suffix: str = "") -> Map:
    """The elements first, first + step, ... (``count`` of them) of each axis in ``ranges``."""
    shape, start, step = list(source.shape), [0] * len(source.shape), [1] * len(source.shape)
    for axis, (first, count, by) in ranges.items():
        if count < 1 or by < 1:
            raise node.error("gives an empty or reversed tensor", (first, count, by), "a step of at least 1")
        shape[axis], start[axis], step[axis] = count, first, by
    if tuple(shape) == source.shape:
        return source
    if shape[0] != source.shape[0] or step[source.channel] != 1 or len(shape) > 4:
        raise node.error("is supported on spatial axes and, with step 1, on channels", tuple(source.shape))
    rest = source.spatial
    offsets = [start[axis] for axis in rest]
    steps = [step[axis] for axis in rest]
    offsets, steps = [0] * (2 - len(rest)) + offsets, [1] * (2 - len(rest)) + steps
    target = view(tuple(shape), source.channel)
    begin = (start[source.channel] if source.channel else 0, *offsets)
    layer = state.emit(node, "slice", [source], suffix, shape=target, start=begin, stride=tuple(steps))
    return Map(layer, tuple(shape), source.channel)


def _split(node: Node, state: State) -> list[Map]:
    source, parts = state.map(node), len(node.outputs)
    axis = _axis(node, node.integer("axis", 0), len(source.shape))
    given = state.numbers(node, 1) if len(node.inputs) > 1 else node.integers("split")
    block = -(-source.shape[axis] // parts)
    sizes = list(given) if given else [min(block, source.shape[axis] - block * i) for i in range(parts)]
    if len(sizes) != parts or sum(sizes) != source.shape[axis] or min(sizes) < 1:
        raise node.error("its parts do not add up", sizes, f"{parts} parts of {source.shape[axis]}")
    firsts = [sum(sizes[:i]) for i in range(parts)]
    return [
        _cut(node, state, source, {axis: (first, size, 1)}, f"_{i}" if i else "")
        for i, (first, size) in enumerate(zip(firsts, sizes, strict=True))
    ]


def _slice(node: Node, state: State) -> Map:
    source = state.map(node)
    rank = len(source.shape)
    if node.opset < 10:
        rows = [node.integers(name) for name in ("starts", "ends", "axes")] + [None]
    else:
        rows = [tuple(row) if (row := state.numbers(node, i)) is not None else None for i in (1, 2, 3, 4)]
    starts, ends = rows[0] or (), rows[1] or ()
    axes = rows[2] if rows[2] is not None else tuple(range(len(starts)))
    steps = rows[3] if rows[3] is not None else (1,) * len(starts)
    ranges = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        front = axis % rank
        span = range(source.shape[front])[slice(start, end, step)] if step else range(0)
        ranges[front] = (span.start, len(span), span.step)
    return _cut(node, state, source, ranges)


def _gather(node: Node, state: State) -> Map:
    source, index = state.map(node), state.known(node, 1)
    rank = len(source.shape)
    axis = _axis(node, node.integer("axis", 0), rank)
    if index is None or index.values is None or index.values.size != 1 or axis == source.channel:
        raise node.error("is supported with one constant index of an axis beside batch and channels")
    position = int(np.ravel(index.values)[0]) % source.shape[axis]
    one = _cut(node, state, source, {axis: (position, 1, 1)})
    if index.values.ndim:
        return one
    return state.relabel(node, one, one.shape[:axis] + one.shape[axis + 1 :], one.channel - (one.channel > axis))


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
    rest = source.spatial
    fixed = [both[axis] for axis in range(rank) if axis not in rest]
    sides = [(0, 0)] * (2 - len(rest)) + [both[axis] for axis in rest]
    if any(map(any, fixed)) or len(rest) > 2 or not all(0 <= s <= MAX_DIMENSION for pair in sides for s in pair):
        raise node.error("is supported on spatial axes, with sizes of at least 0", pads)
    if not any(map(any, sides)):
        return source
    padding = (sides[0][0], sides[1][0], sides[0][1], sides[1][1])
    layer = state.emit(node, "pad", [source], padding=padding)
    return state.layer_map(layer, rank, source.channel, source.shape[0])


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
    kept = [axis for axis in range(rank) if axis not in source.spatial]
    if len(shape) != rank or rank > 4 or any(shape[axis] != source.shape[axis] for axis in kept):
        raise node.error("is supported on spatial axes", shape, f"batch and channels as in {source.shape}")
    if shape == source.shape:
        return source
    layer = state.emit(node, "upsample", [source], shape=view(shape, source.channel))
    return Map(layer, shape, source.channel)


def _transpose(node: Node, state: State) -> Map:
    source = state.map(node)
    rank = len(source.shape)
    perm = node.integers("perm") or tuple(reversed(range(rank)))
    if sorted(perm) != list(range(rank)) or (rank and perm[0] != 0):
        raise node.error("must permute the axes and leave the batch in front", perm)
    shape = tuple(source.shape[axis] for axis in perm)
    channel = perm.index(source.channel) if source.channel else 0
    kept = [axis for axis in perm if axis in source.spatial and source.shape[axis] > 1]
    if kept == sorted(kept):  # only the channels change place, which is a name here and no move
        return state.relabel(node, source, shape, channel, "transpose")
    layer = state.emit(node, "transpose", [source], shape=view(shape, channel))
    return Map(layer, shape, channel)


def _flatten(node: Node, state: State) -> Map:
    source = state.map(node)
    axis = node.integer("axis", 1)
    if axis % max(len(source.shape), 1) != 1:
        raise node.error("is supported at axis 1", axis, "1")
    return state.relabel(node, source, (source.shape[0], math.prod(source.shape[1:])), 1)


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
    if shape[0] != source.shape[0]:
        raise node.error("moves elements between the batch and other axes", (source.shape, tuple(shape)))
    return state.relabel(node, source, tuple(shape), _channel_after(source, tuple(shape)))


def _channel_after(source: Map, shape: tuple[int, ...]) -> int:
    """Where the channels are after a reshape: the axis before which as many elements lie as before, else axis 1."""
    if source.channel:
        before = math.prod(source.shape[: source.channel])
        for axis in range(len(shape) - 1, 0, -1):
            if shape[axis] == source.shape[source.channel] and math.prod(shape[:axis]) == before:
                return axis
    return 1 if len(shape) > 1 else 0


def _squeeze(node: Node, state: State) -> Map:
    source = state.map(node)
    rank = len(source.shape)
    given = state.numbers(node, 1) if node.opset >= 13 else node.integers("axes")
    ones = [axis for axis in range(1, rank) if source.shape[axis] == 1]
    axes = [axis % rank for axis in given] if given is not None else ones
    if 0 in axes or any(source.shape[axis] != 1 for axis in axes):
        raise node.error("removes an axis that is the batch or not of size 1", axes, ones)
    shape = tuple(size for axis, size in enumerate(source.shape) if axis not in axes)
    return state.relabel(node, source, shape, _channel_after(source, shape))


def _unsqueeze(node: Node, state: State) -> Map:
    source = state.map(node)
    given = (state.numbers(node, 1) if node.opset >= 13 else node.integers("axes")) or []
    rank = len(source.shape) + len(given)
    axes = {axis % rank for axis in given}
    if 0 in axes or len(axes) != len(given) or rank > 16:
        raise node.error("adds an axis before the batch, or twice", list(given))
    left = iter(source.shape)
    shape = tuple(1 if axis in axes else next(left) for axis in range(rank))
    return state.relabel(node, source, shape, _channel_after(source, shape))


def _identity(node: Node, state: State) -> Map:
    return state.map(node)


MOVEMENT: Mapping[str, Handler] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _binary),
    **dict.fromkeys(("Identity", "Cast"), _identity),
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Gather": _gather,
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
