"""Beats to cells and back, and the buffers' memory, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dse.engine.runs import row_cycles
from tests.rtl.rtl_model import RtlModel, pack, unpack

CYCLES = 6000
Build = Callable[..., RtlModel]


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
@pytest.mark.parametrize("cells", [1, 5, 13])
@pytest.mark.parametrize(
    ("data_width", "width", "small_cell", "large_cell"), [(64, 8, 4, 8), (32, 16, 3, 7), (128, 8, 1, 24), (32, 8, 1, 1)]
)
def test_unpack(
    build_model: Build, data_width: int, width: int, small_cell: int, large_cell: int, cells: int, large: bool
) -> None:
    model = build_model(
        "stream_unpack", DataWidth=data_width, ElementWidth=width, SmallCell=small_cell, LargeCell=large_cell
    )
    rng, elements, size = np.random.default_rng(cells), data_width // width, large_cell if large else small_cell
    row_beats = -(-cells * size // elements)
    values = rng.integers(0, 1 << width, (CYCLES, elements))
    valid, ready = rng.random(CYCLES) < 0.7, rng.random(CYCLES) < 0.6
    valid[-200:], ready[-200:] = False, True
    steady = {"large_i": large, "cells_i": cells, "row_beats_i": row_beats}
    out = model.run(
        {
            **{name: np.full(CYCLES, value) for name, value in steady.items()},
            "data_valid_i": valid, "data_i": pack(values, width), "cell_ready_i": ready,
        },
        before_edge=True,
    )  # fmt: skip
    taken = values[valid & (out["data_ready_o"][:, 0] != 0)]
    rows = len(taken) // row_beats
    want = taken[: rows * row_beats].reshape(rows, -1)[:, : cells * size].reshape(-1, size)
    given = out["cell_o"][(out["cell_valid_o"][:, 0] != 0) & ready]
    assert len(want) <= len(given) < len(want) + cells
    assert len(want) > 150
    np.testing.assert_array_equal(unpack(given, width, large_cell)[: len(want), :size], want)


@pytest.mark.parametrize(("run", "row"), [(3, 13), (5, 6), (12, 30), (12, 5)])
def test_the_last_cell_of_a_row_may_be_smaller(build_model: Build, run: int, row: int) -> None:
    """Rows of ``row`` elements in cells of ``run``; with a beat a cycle they take what ``row_cycles`` says."""
    model = build_model("stream_unpack", DataWidth=64, ElementWidth=8, SmallCell=1, LargeCell=run)
    cells, beats, count, ones = -(-row // run), -(-row // 8), 100, np.ones(900, np.int64)
    values = np.random.default_rng(run).integers(0, 256, (900, 8))
    out = model.run(
        {
            "large_i": ones, "cells_i": ones * cells, "row_beats_i": ones * beats, "data_valid_i": ones,
            "data_i": pack(values, 8), "cell_ready_i": ones,
        },
        before_edge=True,
    )  # fmt: skip
    taken = values[out["data_ready_o"][:, 0] != 0][: count * beats].reshape(count, -1)
    given = np.flatnonzero(out["cell_valid_o"][:, 0])[: count * cells]
    got = unpack(out["cell_o"][given], 8, run).reshape(count, -1)
    np.testing.assert_array_equal(got[:, :row], taken[:, :row])
    assert set(np.diff(given[cells - 1 :: cells])) == {row_cycles(row, run, 1, 8)}


@pytest.mark.parametrize("size", [1, 3, 8])
@pytest.mark.parametrize(("data_width", "width", "max_cell"), [(64, 8, 8), (32, 16, 8), (128, 8, 24)])
def test_pack(build_model: Build, data_width: int, width: int, max_cell: int, size: int) -> None:
    model = build_model("stream_pack", DataWidth=data_width, ElementWidth=width, MaxCell=max_cell)
    rng, elements = np.random.default_rng(size), data_width // width
    values = rng.integers(0, 1 << width, (CYCLES, max_cell))
    values[:, size:] = 0
    valid, last, ready = rng.random(CYCLES) < 0.7, rng.random(CYCLES) < 0.1, rng.random(CYCLES) < 0.6
    valid[-300:], ready[-300:] = False, True
    out = model.run(
        {
            "cell_valid_i": valid, "cell_last_i": last, "size_i": np.full(CYCLES, size),
            "cell_i": pack(values, width), "data_ready_i": ready,
        },
        before_edge=True,
    )  # fmt: skip
    taken = np.flatnonzero(valid & (out["cell_ready_o"][:, 0] != 0))
    ends = np.flatnonzero(last[taken]) + 1
    want = []
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        row = values[taken[begin:end], :size].reshape(-1)
        want.append(np.pad(row, (0, -len(row) % elements)).reshape(-1, elements))
    given = unpack(out["data_o"][(out["data_valid_o"][:, 0] != 0) & ready], width, elements)
    rows = np.concatenate(want)
    assert len(rows) > 100
    np.testing.assert_array_equal(given[: len(rows)], rows)


def test_a_beat_a_cycle_passes_through_both(build_model: Build) -> None:
    """Cells of whole beats, rows of five: nothing is lost between rows."""
    ones = np.ones(500, np.int64)
    beats = np.random.default_rng(1).integers(0, 256, (500, 8))
    unpacked = build_model("stream_unpack", DataWidth=64, ElementWidth=8, SmallCell=4, LargeCell=8).run(
        {
            "large_i": ones, "cells_i": ones * 5, "row_beats_i": ones * 5, "data_valid_i": ones,
            "data_i": pack(beats, 8), "cell_ready_i": ones,
        },
        before_edge=True,
    )  # fmt: skip
    assert unpacked["data_ready_o"].all()
    packed = build_model("stream_pack", DataWidth=64, ElementWidth=8, MaxCell=8).run(
        {
            "cell_valid_i": ones, "cell_last_i": np.arange(500) % 5 == 4, "size_i": ones * 8,
            "cell_i": pack(beats, 8), "data_ready_i": ones,
        },
        before_edge=True,
    )  # fmt: skip
    assert packed["cell_ready_o"].all()


@pytest.mark.parametrize(("cell", "moved"), [(5, "cell_valid_o"), (13, "data_ready_o")])
def test_cells_that_do_not_divide_a_beat_cost_no_cycle(build_model: Build, cell: int, moved: str) -> None:
    """Cells of 5 elements leave every cycle, of those of 13 a beat of 8 enters every cycle, also where rows meet."""
    model = build_model("stream_unpack", DataWidth=64, ElementWidth=8, SmallCell=cell, LargeCell=cell)
    ones, cells = np.ones(500, np.int64), 11
    out = model.run(
        {
            "large_i": ones, "cells_i": ones * cells, "row_beats_i": ones * -(-cells * cell // 8),
            "data_valid_i": ones, "data_i": pack(np.random.default_rng(2).integers(0, 256, (500, 8)), 8),
            "cell_ready_i": ones,
        },
        before_edge=True,
    )  # fmt: skip
    assert out[moved][1:].all()


@pytest.mark.parametrize(("lanes", "width", "depth"), [(1, 40, 2), (4, 8, 37), (9, 16, 256)])
def test_buffer_ram(build_model: Build, lanes: int, width: int, depth: int) -> None:
    model = build_model("buffer_ram", Lanes=lanes, LaneWidth=width, Depth=depth)
    rng = np.random.default_rng(depth)
    write = rng.random((CYCLES, lanes)) < 0.4
    write[:depth] = True
    write_addr, read_addr = rng.integers(0, depth, CYCLES), rng.integers(0, depth, CYCLES)
    write_addr[:depth] = np.arange(depth)
    values, enable = rng.integers(0, 1 << width, (CYCLES, lanes)), rng.random(CYCLES) < 0.7
    out = model.run(
        {
            "write_i": pack(write.astype(np.int64), 1), "write_addr_i": write_addr, "write_data_i": pack(values, width),
            "read_en_i": enable, "read_addr_i": read_addr,
        }
    )  # fmt: skip
    got = unpack(out["read_o"], width, lanes).astype(np.int64)
    memory, shown = np.zeros((depth, lanes), np.int64), got[depth]
    for cycle in range(CYCLES):
        if cycle > depth:
            shown = memory[read_addr[cycle]].copy() if enable[cycle] else shown
            np.testing.assert_array_equal(got[cycle], shown)
        memory[write_addr[cycle]] = np.where(write[cycle], values[cycle], memory[write_addr[cycle]])
