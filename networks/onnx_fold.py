"""Folding: nodes whose inputs are all constants, as exporters write them to compute a shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.networks.onnx_graph import MAX_VALUES, Known, Node, State
from dse.networks.onnx_layout import Map

__all__ = ["fold", "initializer", "tensor"]

Array = NDArray[Any]
_BINARY: Mapping[str, Callable[[Array, Array], Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Mod": np.mod, "Pow": np.power,
    "Equal": np.equal, "Less": np.less, "Greater": np.greater, "And": np.logical_and, "Or": np.logical_or,
}  # fmt: skip
_UNARY: Mapping[str, Callable[[Array], Any]] = {
    "Neg": np.negative, "Floor": np.floor, "Ceil": np.ceil, "Abs": np.abs, "Not": np.logical_not, "Sqrt": np.sqrt,
    "Identity": np.asarray,
}  # fmt: skip
_SAME_SHAPE = {*_UNARY, "Cast", "QuantizeLinear", "DequantizeLinear", "Relu", "Exp", "Reciprocal", "CastLike"}


def initializer(proto: Any) -> Known:
    """A tensor of the graph that may be learned: one of floating-point numbers."""
    known, floats = tensor(proto), (1, 10, 11, 16)
    return replace(known, elements=math.prod(known.shape) if proto.data_type in floats else 0)


def tensor(proto: Any) -> Known:
    """A TensorProto's dimensions, and its values where it holds a few."""
    from onnx import numpy_helper

    shape = tuple(int(size) for size in proto.dims)
    if any(size < 0 for size in shape):
        raise ValueError(f"tensor {proto.name[:100]} has a negative dimension")
    if math.prod(shape) > MAX_VALUES or proto.data_location or proto.external_data:
        return Known(shape)
    try:
        return Known(shape, np.asarray(numpy_helper.to_array(proto)))
    except Exception:  # values that are cut off or of a type numpy lacks: only the dimensions are needed
        return Known(shape)


def fold(node: Node, state: State) -> Known | None:
    """The output of ``node`` where it is a constant; None where it depends on the network's input."""
    inputs = [state.get(node, position) for position in range(len(node.inputs))]
    if node.op == "Shape" and inputs and inputs[0] is not None:
        shape = inputs[0].shape[slice(node.integer("start", 0), node.integer("end", len(inputs[0].shape)))]
        return Known((len(shape),), np.array(shape, dtype=np.int64))
    if node.op == "Size" and inputs and inputs[0] is not None:
        return Known((), np.array(math.prod(inputs[0].shape), dtype=np.int64))
    if node.op == "Constant":
        return _constant(node)
    if not inputs or any(isinstance(value, Map) for value in inputs):
        return None
    known = [value for value in inputs if isinstance(value, Known)]
    values = [value.values for value in known]
    elements = sum(value.elements for value in known)
    if any(value is None for value in values) or len(known) < len(inputs):
        return replace(_shape_only(node, known, state), elements=elements)
    with np.errstate(all="ignore"):
        out = _evaluate(node, [np.asarray(value) for value in values], state)
    if out is None:
        return replace(_shape_only(node, known, state), elements=elements)
    return Known(out.shape, out if out.size <= MAX_VALUES else None, elements)


def _constant(node: Node) -> Known:
    for name in node.attribute_names():
        proto = node.attribute(name)
        if name == "value":
            return tensor(proto.t)
        if name in ("value_int", "value_float"):
            return Known((), np.array(proto.i if name == "value_int" else proto.f))
        if name in ("value_ints", "value_floats"):
            items = np.array(proto.ints if name == "value_ints" else proto.floats)
            return Known(items.shape, items)
    raise node.error("has no value that is supported", node.attribute_names(), "value, value_int(s), value_float(s)")


def _shape_only(node: Node, known: list[Known], state: State) -> Known:
    """Shapes of constants whose values are not kept: weights that are moved, cast or scaled."""
    first = known[0].shape if known else ()
    if node.op in _SAME_SHAPE:
        return Known(first)
    if node.op == "Transpose":
        perm = node.integers("perm") or tuple(reversed(range(len(first))))
        return Known(tuple(first[axis] for axis in perm))
    if node.op in ("Reshape", "Unsqueeze", "Squeeze", "Slice", "Gather", "Expand"):
        empty = np.broadcast_to(np.int8(0), first)  # takes no memory
        more = [np.asarray(one.values) for one in known[1:] if one.values is not None]
        if node.op == "Expand":
            return Known(np.broadcast_shapes(first, tuple(int(size) for size in np.ravel(more[0]))))
        if node.op == "Gather":
            axis = node.integer("axis", 0) % len(first)
            return Known((*first[:axis], *known[1].shape, *first[axis + 1 :]))
        shaped = _move(node, empty, more)
        return Known(first if shaped is None else shaped.shape)
    if node.op in ("Add", "Sub", "Mul", "Div", "Pow"):
        return Known(np.broadcast_shapes(*(one.shape for one in known)))
    if node.op == "Concat" and known:
        axis = node.integer("axis", 0) % len(first)
        total = sum(one.shape[axis] for one in known)
        return Known((*first[:axis], total, *first[axis + 1 :]))
    raise node.error("on constants is not folded", allowed="operators on shapes, and moves of weights")


def _evaluate(node: Node, values: list[Array], state: State) -> Array | None:
    op = node.op
    if op in _BINARY:
        return np.asarray(_BINARY[op](values[0], values[1]))
    if op in _UNARY:
        return np.asarray(_UNARY[op](values[0]))
    if op == "Div":
        whole = np.issubdtype(values[0].dtype, np.integer)
        return np.asarray(values[0] // values[1] if whole else values[0] / values[1])
    if op == "Cast":
        whole = node.integer("to", 1) in (2, 3, 4, 5, 6, 7, 12, 13)
        return values[0].astype(np.int64 if whole else np.float64)
    if op in ("Min", "Max"):
        return np.asarray(values[0] if len(values) == 1 else getattr(np, f"{op.lower()}imum")(*values[:2]))
    if op == "Where":
        return np.where(values[0], values[1], values[2])
    if op == "ReduceProd":
        return np.atleast_1d(np.prod(values[0])) if node.integer("keepdims", 1) else np.asarray(np.prod(values[0]))
    return _made(node, values) if op in ("ConstantOfShape", "Range", "Expand") else _move(node, values[0], values[1:])


def _made(node: Node, values: list[Array]) -> Array | None:
    """Constants made to a size, which is looked at before they are."""
    if node.op == "Range":
        start, limit, delta = (float(np.ravel(value)[0]) for value in values)
        if delta == 0 or not abs((limit - start) / delta) <= MAX_VALUES:
            raise node.error("gives too many values", (start, limit, delta), f"up to {MAX_VALUES}")
        return np.arange(start, limit, delta).astype(values[0].dtype)
    shape = tuple(int(size) for size in np.ravel(values[-1]))
    if node.op == "Expand":
        return np.broadcast_to(values[0], np.broadcast_shapes(values[0].shape, shape))
    proto = node.attribute("value")
    fill = tensor(proto.t).values if proto is not None else None
    return np.broadcast_to(np.ravel(fill)[0] if fill is not None else np.float32(0), shape)


def _move(node: Node, value: Array, more: list[Array]) -> Array | None:
    op = node.op
    axes = [int(i) for i in np.ravel(more[0])] if more else list(node.integers("axes") or ())
    if op == "Unsqueeze":
        return np.expand_dims(value, tuple(axes))
    if op == "Squeeze":
        return np.squeeze(value, tuple(axes) if axes else None)
    if op == "Reshape":
        return value.reshape([value.shape[i] if size == 0 else size for i, size in enumerate(axes)])
    if op == "Transpose":
        return value.transpose(node.integers("perm"))
    if op == "Flatten":
        axis = node.integer("axis", 1)
        return value.reshape(math.prod(value.shape[:axis]), -1)
    if op == "Concat":
        return np.concatenate([value, *more], axis=node.integer("axis", 0))
    if op == "Gather":
        return np.take(value, more[0].astype(np.int64), axis=node.integer("axis", 0))
    return _slice(node, value, more) if op == "Slice" else None


def _slice(node: Node, value: Array, more: list[Array]) -> Array:
    rows = [[int(i) for i in np.ravel(one)] for one in more]
    starts = rows[0] if rows else list(node.integers("starts") or ())
    ends = rows[1] if rows else list(node.integers("ends") or ())
    axes = rows[2] if len(rows) > 2 else list(node.integers("axes") or range(len(starts)))
    steps = rows[3] if len(rows) > 3 else [1] * len(starts)
    index = [slice(None)] * value.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[axis] = slice(start, end, step)
    return value[tuple(index)]
