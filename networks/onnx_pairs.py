"""ONNX operators on two tensors element by element, and what is learned beside weights: biases, embeddings, tokens."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dse.network import Shape
from dse.networks.onnx_graph import Known, Node, State
from dse.networks.onnx_layout import Map, fresh

__all__ = ["binary", "broadcast", "embedding", "learned_part"]

_BIASED = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def binary(node: Node, state: State) -> Map:
    """Add, Sub, Mul or Div of two computed tensors, or of one and a constant."""
    left, right = state.get(node, 0), state.get(node, 1)
    if isinstance(left, Map) and isinstance(right, Map):
        return _two_maps(node, state, left, right)
    if isinstance(left, Map) and isinstance(right, Known):
        return _with_constant(node, state, left, right, 0)
    if isinstance(right, Map) and isinstance(left, Known) and node.op != "Div":
        return _with_constant(node, state, right, left, 1)
    raise node.error("is supported on two computed tensors, or one and a constant")


def _wide(source: Map, rank: int) -> Map:
    return replace(source, axes=((),) * (rank - len(source.shape)) + source.axes)


def _with_constant(node: Node, state: State, source: Map, constant: Known, position: int) -> Map:
    rank = max(len(source.shape), len(constant.shape))
    shape = (1,) * (rank - len(constant.shape)) + constant.shape
    source = _wide(source, rank)
    if math.prod(shape) == 1:
        return replace(source, layer=state.emit(node, "scale", [source]))
    spread = [axis for axis in range(rank) if shape[axis] > 1]
    if any(shape[axis] != source.shape[axis] or any(a.batch for a in source.axes[axis]) for axis in spread):
        got = (source.shape, constant.shape)
        raise node.error("with a constant of this shape is not supported", got, "one that broadcasts to the input's")
    if len(spread) == 1:
        return _per_channel(node, state, source, spread[0], position)
    if node.op in ("Add", "Sub") and constant.elements:
        shape_ = state.builder.shapes[source.layer]
        added = _parameter(node, state, shape_, constant.elements)
        if added is not None:
            return replace(source, layer=state.builder.emit(node.name, "add", [source.layer, added], node.where))
    state.builder.note(f"{node.name}: a constant of shape {constant.shape} is taken as fixed, not learned")
    return replace(source, layer=state.emit(node, "scale", [source]))


def _per_channel(node: Node, state: State, source: Map, axis: int, position: int) -> Map:
    source = state.with_channels(node, source, (axis,))
    op, name = "bias" if node.op in ("Add", "Sub") else "channel_scale", node.inputs[position]
    maker = state.made_by.get(name)
    alone = state.readers[name] == 1 and maker is not None and maker.op in _BIASED
    if op == "bias" and alone and state.builder.add_bias(source.layer):
        return source
    return replace(source, layer=state.emit(node, op, [source]))


def _parameter(node: Node, state: State, shape: Shape, elements: int) -> str | None:
    """A learned map of ``shape``, of the tensor of ``elements`` that it is a part of; None where that cannot be."""
    rows, rest = divmod(elements, shape[0])
    if rest:
        return None
    extra = {} if elements == math.prod(shape) else {"table_rows": rows}
    return state.builder.emit(f"{node.name}_learned", "parameter", (), node.where, shape=shape, **extra)


def learned_part(node: Node, state: State, beside: Map, axis: int, value: Known | Map, along: str) -> Map:
    """A constant that is joined to computed tensors (a class token), as a learned map stored as ``beside`` is."""
    assert isinstance(value, Known)
    size, (channels, height, width) = value.shape[axis], state.builder.shapes[beside.layer]
    fits = all(a in (axis, beside.batch_axis) or s == beside.shape[a] for a, s in enumerate(value.shape))
    sizes = {
        "channels": (size, height, width), "pixels": (channels, 1, size), "rows": (channels, size, width),
        "columns": (channels, height, size),
    }  # fmt: skip
    if not fits or not value.elements:
        raise node.error("joins a constant of this shape", value.shape, f"a learned tensor that fits {beside.shape}")
    made = _parameter(node, state, sizes[along], value.elements)
    if made is None:
        raise node.error("joins a constant of which only a part is used", value.shape)
    part = fresh("", (1, size), 1).channels
    return Map(made, (*beside.axes[:axis], part, *beside.axes[axis + 1 :]), beside.channels, beside.pixels)


def embedding(node: Node, state: State) -> Map:
    """Gather of a table's rows by numbers that depend on the input. Raises InputError for another form."""
    table, rows = state.known(node, 0), state.map(node, 1)
    if table is None or len(table.shape) != 2 or node.integer("axis", 0) != 0:
        raise node.error("is supported on the rows of a table", table.shape if table else None, "a matrix, axis 0")
    layer = state.emit(node, "embedding", [rows], rows=table.shape[0], out_channels=table.shape[1])
    features = fresh(layer, (1, table.shape[1]), 1).channels
    return Map(layer, (*rows.axes, features), features, rows.channels + rows.pixels)


def _two_maps(node: Node, state: State, left: Map, right: Map) -> Map:
    if node.op == "Div":
        raise node.error("divides by a computed tensor, which is not supported", allowed="a constant divisor")
    rank = max(len(left.shape), len(right.shape))
    left, right = _wide(left, rank), _wide(right, rank)
    if math.prod(right.shape) > math.prod(left.shape):
        left, right = right, left
    op = {"Add": "add", "Sub": "sub", "Mul": "mul"}[node.op]
    if left.shape != right.shape:
        channels, _, _ = state.builder.shapes[left.layer]
        per_channel = right.signature() == (left.signature()[0], ()) and math.prod(right.shape[1:]) == channels
        if per_channel and op == "mul":
            return replace(left, layer=state.emit(node, "channel_mul", [left, right]))
        right = broadcast(node, state, right, left)
    else:
        right = state.alike(node, right, left)
    return replace(left, layer=state.emit(node, op, [left, right]))


def broadcast(node: Node, state: State, source: Map, target: Map) -> Map:
    """``source`` repeated to the shape of ``target`` and stored as it. Raises InputError where it does not fit."""
    if np.broadcast_shapes(source.shape, target.shape) != target.shape:
        raise node.error("broadcasts tensors that do not fit", (source.shape, target.shape))
    if source.batch_axis != target.batch_axis:
        raise node.error("broadcasts the batch, which is not supported", (source.shape, target.shape))
    shape = state.builder.shapes[target.layer] if target.layer else target.stored_shape((target.channel,))
    part = source
    if state.builder.shapes[source.layer][0] != shape[0]:
        kept = [axis for axis in range(len(target.axes)) if source.sample(axis)]
        part = state.with_channels(node, source, kept)
    layer = state.emit(node, "upsample", [part], "_broadcast", shape=shape)
    return Map(layer, target.axes, target.channels, target.pixels)
