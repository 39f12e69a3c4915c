"""Axes cut into atoms, against numpy arrays that are reshaped and transposed likewise."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.networks.onnx_layout import Map, fresh


def stored_index(tensor: Map) -> np.ndarray:
    """For every element of the tensor its place in the layer's storage, the batch in front."""
    atoms = [atom for axis in tensor.axes for atom in axis]
    batch = [atom for atom in atoms if atom.batch]
    strides, stride = {}, 1
    for atom in reversed([*batch, *tensor.channels, *tensor.pixels]):
        strides[id(atom)] = stride
        stride *= atom.size
    index = np.zeros((), dtype=int)
    for atom in atoms:
        index = index[..., None] + np.arange(atom.size) * strides[id(atom)]
    return index.reshape(tensor.shape)


def factors(draw: st.DrawFn, total: int) -> list[int]:
    """Numbers of which ``total`` is the product, ones among them."""
    sizes = []
    while total > 1:
        size = draw(st.sampled_from([n for n in range(1, total + 1) if total % n == 0]))
        sizes.append(size)
        total //= size
        if len(sizes) == 4:
            return [*sizes, total]
    return sizes or [1]


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 3), st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=3), st.data())
def test_names_follow_the_elements(batch: int, sizes: list[int], data: st.DataObject) -> None:
    shape = [batch, *sizes]
    tensor, array = fresh("layer", shape, 1), np.arange(math.prod(shape)).reshape(shape)
    for _ in range(data.draw(st.integers(1, 6))):
        if data.draw(st.booleans()):
            order = data.draw(st.permutations(range(len(tensor.shape))))
            tensor, array = tensor.permuted(order), array.transpose(order)
        else:
            wanted = factors(data.draw, array.size)
            seen = tensor.reshaped(wanted)
            if seen is None:
                continue
            tensor, array = seen, array.reshape(wanted)
        assert tensor.shape == array.shape
        np.testing.assert_array_equal(stored_index(tensor), array)
        assert sum(atom.batch for axis in tensor.axes for atom in axis) == 1


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.data())
def test_equal_signatures_are_equal_storage(sizes: list[int], data: st.DataObject) -> None:
    """Two tensors of a shape, each named its own way: stored alike if and only if their signatures say so."""
    shape = [1, *sizes]
    made = []
    for _ in range(2):
        source = fresh("layer", shape, data.draw(st.integers(1, len(sizes))))
        order = [0, *data.draw(st.permutations(range(1, len(shape))))]
        back = source.permuted(order).reshaped([math.prod(shape)])
        made.append(back)
    assert all(one is not None for one in made)
    left, right = made
    same = np.array_equal(stored_index(left), stored_index(right))
    parts = [math.prod(atom.size for atom in one.channels) for one in made]
    assert (left.signature() == right.signature()) == (same and parts[0] == parts[1])


def test_heads_of_attention_are_names() -> None:
    joint = fresh("qkv", (2, 5, 3 * 4 * 6), 2).reshaped((2, 5, 3, 4, 6))
    assert joint is not None
    moved = joint.permuted((2, 0, 3, 1, 4))
    assert moved.shape == (3, 2, 4, 5, 6)
    assert moved.batch_axis == 1
    assert moved.stored((0, 2, 4))
    assert not moved.stored((2, 4))
    assert joint.permuted((0, 3, 2, 1, 4)).reshaped((2, 12, 30)) is not None
    assert fresh("map", (1, 6, 4), 1).reshaped((1, 8, 3)) is None
