"""ONNX operators that join and cut tensors: in the place where they are stored, if the axis is one of its parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dse.networks.onnx_graph import Known, Node, State
from dse.networks.onnx_layout import Axis, Map, fresh
from dse.networks.onnx_operators import Handler
from dse.networks.onnx_pairs import embedding, learned_part

__all__ = ["CUTS"]


def _axis(node: Node, axis: int, source: Map) -> int:
    """``axis`` counted from the front; never the batch."""
    rank = len(source.shape)
    front = axis + rank if axis < 0 else axis
    if not 0 <= front < rank or any(atom.batch for atom in source.axes[front]):
        raise node.error("axis is out of range, or the batch", axis, f"1 to {rank - 1}")
    return front


def _concat(node: Node, state: State) -> Map:
    values = [state.get(node, position) for position in range(len(node.inputs))]
    first = next((value for value in values if isinstance(value, Map)), None)
    if first is None:
        raise node.error("joins no computed tensor")
    axis = _axis(node, node.integer("axis", 1), first)
    sizes = [len(value.shape) for value in values if value is not None]
    if set(sizes) != {len(first.shape)} or len(sizes) < len(values):
        raise node.error("joins tensors of different ranks", [value.shape for value in values if value is not None])
    if len(values) == 1:
        return first
    maps = [value for value in values if isinstance(value, Map)]
    along = _along(state, first, axis)
    if not along or any(_along(state, one, axis) != along or _beside(state, one, axis) != _beside(state, first, axis)
                        for one in maps):  # fmt: skip
        along = "channels"
    if along == "channels":
        maps = [state.with_channels(node, one, (axis,)) for one in maps]
        if len({(one.signature()[1], state.builder.shapes[one.layer][1:]) for one in maps}) > 1:
            maps = [state.with_channels(node, one, (axis,), ordered=True) for one in maps]
        first = maps[0]
    rest = iter(maps)
    joined = [
        next(rest) if isinstance(value, Map) else learned_part(node, state, first, axis, value, along)
        for value in values
        if value is not None
    ]
    layer = state.emit(node, "concat", joined, axis=along)
    total = fresh("", (1, sum(one.shape[axis] for one in joined)), 1).channels
    axes = (*first.axes[:axis], total, *first.axes[axis + 1 :])
    if along == "channels":
        return Map(layer, axes, total, first.pixels)
    return Map(layer, axes, first.channels, _exchanged(first.pixels, first.sample(axis), total))


def _exchanged(atoms: Axis, old: Axis, new: Axis) -> Axis:
    """``atoms`` with ``old``, with which they begin or end, replaced by ``new``."""
    if atoms[: len(old)] == old:
        return new + atoms[len(old) :]
    return atoms[: -len(old)] + new


def _beside(state: State, source: Map, axis: int) -> object:
    """What must agree where maps are joined along an axis: the storage of the others."""
    return [[place for place in part if place[0] != axis] for part in source.signature()]


def _along(state: State, source: Map, axis: int) -> str:
    """How the storage of ``source`` sees the axis: as its channels, all its pixels, its rows, its columns; or "".

    An axis of size 1 is a row of pixels where nothing else is.
    """
    atoms, (_, height, width) = source.sample(axis), state.builder.shapes[source.layer]
    size = math.prod(atom.size for atom in atoms)
    if atoms and atoms == source.channels:
        return "channels"
    if atoms == source.pixels:
        return "pixels"
    if atoms and atoms == source.pixels[: len(atoms)] and size == height:
        return "rows"
    return "columns" if atoms and atoms == source.pixels[-len(atoms) :] and size == width else ""


def _cut(
    node: Node, state: State, source: Map, axis: int, first: int, count: int, step: int = 1, suffix: str = ""
) -> Map:
    """The elements first, first + step, ... (``count`` of them) of an axis."""
    if count < 1 or step < 1:
        raise node.error("gives an empty or reversed tensor", (first, count, step), "a step of at least 1")
    if count == source.shape[axis]:
        return source
    atoms = source.sample(axis)
    leading = step == 1 and atoms == source.channels[: len(atoms)]
    if not leading and not _along(state, source, axis):
        source = state.with_channels(node, source, (axis,))
        leading = step == 1
    if not leading and step > 1 and source.channels == atoms:
        raise node.error("is supported with step 1 on channels", step)
    shape, start, stride = list(state.builder.shapes[source.layer]), [0, 0, 0], [1, 1, 1]
    if leading:
        inner = math.prod(atom.size for atom in source.channels[len(atoms) :])
        place, shape[0], start[0] = 0, count * inner, first * inner
    else:
        along = _along(state, source, axis)
        if along == "pixels" and shape[1] > 1 and shape[2] > 1:
            flat = (shape[0], 1, shape[1] * shape[2])
            source = replace(source, layer=state.emit(node, "reshape", [source], "_row", shape=flat))
            shape = list(flat)
        place = 1 if along == "rows" or (along == "pixels" and shape[2] == 1) else 2
        shape[place], start[place], stride[place] = count, first, step
    layer = state.emit(
        node, "slice", [source], suffix, shape=tuple(shape), start=tuple(start), stride=(stride[1], stride[2])
    )
    part = fresh("", (1, count), 1).channels
    axes = (*source.axes[:axis], part, *source.axes[axis + 1 :])
    if place == 0:
        return Map(layer, axes, part + source.channels[len(atoms) :], source.pixels)
    return Map(layer, axes, source.channels, _exchanged(source.pixels, atoms, part))


def _split(node: Node, state: State) -> list[Map]:
    source, parts = state.map(node), len(node.outputs)
    axis = _axis(node, node.integer("axis", 0), source)
    given = state.numbers(node, 1) if len(node.inputs) > 1 else node.integers("split")
    block = -(-source.shape[axis] // parts)
    sizes = list(given) if given else [min(block, source.shape[axis] - block * i) for i in range(parts)]
    if len(sizes) != parts or sum(sizes) != source.shape[axis] or min(sizes) < 1:
        raise node.error("its parts do not add up", sizes, f"{parts} parts of {source.shape[axis]}")
    firsts = [sum(sizes[:i]) for i in range(parts)]
    return [
        _cut(node, state, source, axis, first, size, suffix=f"_{i}" if i else "")
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
    return _cut_all(node, state, source, ranges)


def _cut_all(node: Node, state: State, source: Map, ranges: Mapping[int, tuple[int, int, int]]) -> Map:
    """Several axes cut, in one layer where they are those of an image."""
    cut = {axis: given for axis, given in ranges.items() if given[1] != source.shape[axis]}
    if any(atom.batch for axis in cut for atom in source.axes[axis]):
        raise node.error("cuts the batch, which is not supported", source.shape)
    channel = source.channel
    rest = source.others(channel)
    if len(cut) < 2 or not channel or len(rest) > 2 or cut.get(channel, (0, 0, 1))[2] != 1:
        for number, (axis, (first, count, step)) in enumerate(sorted(cut.items())):
            source = _cut(node, state, source, axis, first, count, step, f"_{number}" if number else "")
        return source
    source = state.with_channels(node, source, (channel,), ordered=True)
    whole = {axis: (0, source.shape[axis], 1) for axis in (channel, *rest)} | cut
    if any(count < 1 or step < 1 for _, count, step in whole.values()):
        raise node.error("gives an empty or reversed tensor", list(cut.values()), "a step of at least 1")
    places = [whole[channel], *[(0, 1, 1)] * (2 - len(rest)), *(whole[axis] for axis in rest)]
    starts, shape, steps = zip(*places, strict=True)
    layer = state.emit(node, "slice", [source], start=starts, shape=shape, stride=steps[1:])
    return fresh(layer, [whole[axis][1] if axis in whole else size for axis, size in enumerate(source.shape)], channel)


def _gather(node: Node, state: State) -> Map:
    if isinstance(state.get(node, 0), Known):
        return embedding(node, state)
    source, index = state.map(node), state.known(node, 1)
    axis = _axis(node, node.integer("axis", 0), source)
    if index is None or index.values is None or index.values.size != 1:
        raise node.error("is supported with one constant index, or on a table with a row number for each position")
    position = int(np.ravel(index.values)[0]) % source.shape[axis]
    one = _cut(node, state, source, axis, position, 1)
    if index.values.ndim:
        return one
    return replace(one, axes=one.axes[:axis] + one.axes[axis + 1 :])


CUTS: Mapping[str, Handler] = {"Concat": _concat, "Split": _split, "Slice": _slice, "Gather": _gather}
"""Operator -> how it becomes layers."""
