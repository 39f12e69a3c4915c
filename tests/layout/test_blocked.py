"""Packing and unpacking are inverses, elements lie where the formula says, and tiles are single stretches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.layout import BlockedLayout

SIZES = st.integers(1, 5)
LAYOUTS = st.builds(BlockedLayout, st.tuples(SIZES, SIZES, SIZES, SIZES), st.tuples(SIZES, SIZES))


@settings(deadline=None)
@given(LAYOUTS, st.sampled_from(["<i1", "<i2", "<i4"]))
def test_unpack_is_the_inverse_of_pack(layout: BlockedLayout, dtype: str) -> None:
    tensor = np.random.default_rng(0).integers(-100, 100, layout.shape).astype(dtype)
    stored = layout.pack(tensor)
    assert stored.shape == (layout.elements,)
    assert stored.dtype == tensor.dtype
    np.testing.assert_array_equal(layout.unpack(stored), tensor)
    np.testing.assert_array_equal(layout.pack(layout.unpack(stored)), stored)


@settings(deadline=None)
@given(LAYOUTS)
def test_each_element_has_an_address_of_its_own_and_the_rest_is_zero(layout: BlockedLayout) -> None:
    tensor = np.arange(1, np.prod(layout.shape) + 1).reshape(layout.shape)
    stored = layout.pack(tensor)
    for index in np.ndindex(layout.shape):
        assert stored[layout.element(*index)] == tensor[index]
    assert np.count_nonzero(stored) == tensor.size


@settings(deadline=None)
@given(LAYOUTS, st.data())
def test_a_tile_of_whole_rows_is_one_burst(layout: BlockedLayout, data: st.DataObject) -> None:
    """The elements of the tile, and nothing but filling besides them, lie in one stretch."""
    first_blocks, second_blocks, rows, _, inner_second, inner_first = layout.extents
    f, s = data.draw(st.integers(0, first_blocks - 1)), data.draw(st.integers(0, second_blocks - 1))
    row = data.draw(st.integers(0, rows - 1))
    count = data.draw(st.integers(1, rows - row))
    tensor = np.arange(1, np.prod(layout.shape) + 1).reshape(layout.shape)
    tile = tensor[f * inner_first : (f + 1) * inner_first, s * inner_second : (s + 1) * inner_second, row : row + count]
    burst = layout.burst(f, s, row, count)
    stretch = layout.pack(tensor)[burst.start : burst.start + burst.elements]
    assert len(stretch) == burst.elements
    assert sorted(stretch[stretch > 0]) == sorted(tile.ravel())


def test_the_published_layouts() -> None:
    tensor = np.arange(2 * 6 * 3 * 2).reshape(2, 6, 3, 2)
    chwb = BlockedLayout(tensor.shape, (2, 1)).pack(tensor)
    np.testing.assert_array_equal(chwb, tensor.transpose(1, 2, 3, 0).ravel())
    reshaped = BlockedLayout(tensor.shape, (1, 3)).pack(tensor)
    np.testing.assert_array_equal(reshaped, tensor.reshape(2, 2, 3, 3, 2).transpose(0, 1, 3, 4, 2).ravel())
    np.testing.assert_array_equal(BlockedLayout(tensor.shape).pack(tensor), tensor.ravel())


def test_whole_blocks_follow_each_other() -> None:
    layout = BlockedLayout((5, 7, 4, 3), (2, 4))
    bursts = [layout.burst(f, s) for f in range(3) for s in range(2)]
    assert [burst.start for burst in bursts] == [number * 4 * 3 * 8 for number in range(6)]
    assert sum(burst.elements for burst in bursts) == layout.elements


def test_what_does_not_exist_is_refused() -> None:
    layout = BlockedLayout((2, 3, 4, 5), (2, 2))
    for block in ((1, 0), (0, 2), (0, 0, 4), (0, 0, 0, 0), (0, 0, 2, 3), (-1, 0), (0, 0, -1)):
        with pytest.raises(ValueError, match="rows"):
            layout.burst(*block)
    with pytest.raises(ValueError, match="does not fit a layout"):
        layout.pack(np.zeros((2, 3, 5, 4)))
    with pytest.raises(ValueError, match="reshape"):
        layout.unpack(np.zeros(7))
    with pytest.raises(ValueError, match="at least 1"):
        BlockedLayout((1, 0, 1, 1))
    with pytest.raises(ValueError, match="at least 1"):
        BlockedLayout((1, 1, 1, 1), (0, 1))
