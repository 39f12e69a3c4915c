"""MatMul of two computed tensors as a ``matmul`` layer, stored so that as little as possible is moved for it."""

from __future__ import annotations

import math

from dse.networks.onnx_graph import Node, State
from dse.networks.onnx_layout import Map

__all__ = ["two_maps"]


def two_maps(node: Node, state: State, left: Map, right: Map) -> Map:
    """left [..., M, K] times right [..., K, N]; the axes in front are the batch and the groups.

    The operand that has the axis K as channels (of all groups) is the streamed one; the other takes the weights' place,
    in which it may have either of its axes as channels. Raises InputError where the shapes do not fit.
    """
    rank = len(left.shape)
    if rank != len(right.shape) or rank < 3 or left.shape[:-2] != right.shape[:-2] or left.shape[-1] != right.shape[-2]:
        raise node.error("multiplies tensors that do not fit", (left.shape, right.shape), "(..., M, K) and (..., K, N)")
    if max(left.batch_axis, right.batch_axis) >= rank - 2 or left.batch_axis != right.batch_axis:
        raise node.error("multiplies over the batch, which is not supported", (left.shape, right.shape))
    groups = tuple(axis for axis in left.others() if axis < rank - 2)
    over_left, over_right = (*groups, rank - 1), (*groups, rank - 2)
    rows, columns = (*groups, rank - 2), (*groups, rank - 1)
    if not left.stored(over_left) and not right.stored(over_right):
        left = state.with_channels(node, left, over_left)
    if left.stored(over_left):
        first, second, summed, kept = left, right, over_right, columns
    else:
        first, second, summed, kept = right, left, over_left, rows
    if not second.stored(summed) and not second.stored(kept):
        second = state.with_channels(node, second, summed)
    count = math.prod(atom.size for atom in first.sample(*groups))
    layer = state.emit(node, "matmul", [first, second], groups=count, transpose=second.stored(summed))
    axes = (*first.axes[:-2], left.axes[-2], right.axes[-1])
    return Map(layer, axes, first.sample(*groups) + second.sample(kept[-1]), first.pixels)
