"""Runs of neighbouring columns: cycles of a row against a walk through the queue, and never more than cell by cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.engine import (
    COMMAND_FIELDS,
    Bases,
    Convolution,
    EngineParameters,
    command,
    command_cycles,
    fit_tiling,
    phase_nest,
)
from dse.engine.runs import feature_run, result_run, row_cycles
from dse.golden.convolution import Window
from tests.rtl.engine_layers import LAYERS

MAP = EngineParameters(um=4, un=1, ur=4, uc=8, channel_block=1, data_bits=128)


def walked(cells: int, run: int, cell_bytes: int, beat_bytes: int) -> int:
    """Cycles from a row's first beat to the next row's: a beat a cycle enters, a run that is complete leaves."""
    row = -(-cells * cell_bytes // beat_bytes) * beat_bytes
    cycle = held = came = taken = 0
    while True:
        cycle += 1
        size = min(run, cells - taken) * cell_bytes
        if held >= size:
            held, taken = held - size, taken + min(run, cells - taken)
            if taken == cells:
                return cycle - 1
        if came < row:
            held, came = held + beat_bytes, came + beat_bytes


@given(cells=st.integers(1, 300), run=st.integers(1, 40), cell=st.integers(1, 40), beat=st.sampled_from([4, 8, 16, 64]))
def test_a_row_takes_as_long_as_its_beats_and_runs(cells: int, run: int, cell: int, beat: int) -> None:
    assert row_cycles(cells, run, cell, beat) == walked(cells, run, cell, beat)


@given(
    cells=st.integers(1, 3000), run=st.integers(1, 256), cell=st.integers(1, 64), beat=st.sampled_from([4, 8, 16, 64])
)
def test_runs_are_never_slower_than_cells(cells: int, run: int, cell: int, beat: int) -> None:
    assert row_cycles(cells, run, cell, beat) <= row_cycles(cells, 1, cell, beat)


@pytest.mark.parametrize(
    ("layer", "feature", "result"),
    [("3x3", (8, 8), (8, 8)), ("3x3 stride 2", (1, 8), (8, 1)), ("1x1 padded", (8, 1), (8, 8))],
)
def test_only_neighbours_of_one_phase_are_moved_together(
    layer: str, feature: tuple[int, int], result: tuple[int, int]
) -> None:
    """(forward, input_grad): a stride keeps features apart in forward, results in input_grad."""
    nests = [phase_nest(LAYERS[layer], phase, 1) for phase in ("forward", "input_grad")]
    assert tuple(feature_run(MAP, nest) for nest in nests) == feature
    assert tuple(result_run(MAP, nest) for nest in nests) == result


def test_cells_wider_than_half_a_beat_are_moved_alone() -> None:
    assert [EngineParameters(um=n, un=n, uc=4, channel_block=n).run_cells for n in (1, 4, 5, 8)] == [4, 4, 1, 1]


def test_rows_of_a_command_are_counted_in_runs() -> None:
    nest = phase_nest(LAYERS["1x5"], "forward", 1)
    fields = command(MAP, nest, fit_tiling(MAP, nest), Bases(0, 4096, 8192))
    assert set(fields) == set(COMMAND_FIELDS)
    assert [fields[name] for name in ("a_width", "a_cells", "o_width", "o_cells")] == [9, 2, 9, 2]


def test_a_map_layer_is_no_longer_bound_to_a_cell_a_cycle() -> None:
    """A 3x3 layer of which every operand and result is more cells than the lanes have steps."""
    conv = Convolution(8, 4, 4, (16, 16), Window((3, 3), padding=(1, 1, 1, 1)))
    for phase in ("forward", "input_grad", "weight_grad"):
        nest = phase_nest(conv, phase, 1)
        assert command_cycles(MAP, nest, fit_tiling(MAP, nest)) < 8 * 4 * 16 * 16 // 2
