from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

import dse.sweep  # noqa: F401  (the package attribute ``dse.sweep`` is the function)
from dse.errors import InputError
from dse.results import Proof
from dse.store import load, save
from dse.sweep import Progress, sweep
from tests.search.search_fakes import DARK_BOARD, DEVICE, FEW_DSP, NETWORK, Buffered, Plain

MODELS = (Plain(), Buffered(seed=3))


def run(**changes):
    keywords = {"networks": NETWORK, "devices": [DEVICE, FEW_DSP], "families": MODELS, "batch_sizes": (2, 4)}
    keywords |= {"sampler": "random", "trials": 30, "seed": 5}
    return sweep(**keywords | changes)


def without_times(cell):
    return dataclasses.replace(cell, search_s=0.0, proof=dataclasses.replace(cell.proof, seconds=0.0))


def same(first, second):
    """Equal cells, times aside; NaN equals NaN."""
    return [repr(without_times(c)) for c in first.cells] == [repr(without_times(c)) for c in second.cells] and all(
        a.points.equals(b.points) for a, b in zip(first.cells, second.cells, strict=True)
    )


@pytest.fixture(scope="module")
def result():
    return run()


def test_the_grid_is_in_the_order_given(result):
    assert [(c.device, c.batch_size, c.family) for c in result.cells] == [
        (device, size, family) for device in ("board", "few_dsp") for size in (2, 4) for family in ("plain", "buffered")
    ]
    assert [c.best is not None for c in result.cells] == [True] * 4 + [False] * 4
    assert not result.run.interrupted
    assert result.run.inputs == {"tiny": "0" * 64, "board": "1" * 64, "few_dsp": "1" * 64}
    assert set(result.run.packages) >= {"python", "numpy", "optuna"}
    assert len(result.to_frame()) == 8


def test_two_processes_give_what_one_gives(result):
    events = []
    assert same(run(jobs=2, on_progress=events.append), result)
    assert {event.cell for event in events} <= set(range(8))


def test_progress_names_the_cell():
    events = []
    run(on_progress=events.append)
    assert events[0] == Progress(0, 8, "tiny on board, plain, batch 2", "search", 30, 30)
    assert {event.stage for event in events} == {"search", "proof"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_returns_the_cells_so_far(jobs):
    def stop(event):
        if event.cell >= 1:
            raise KeyboardInterrupt

    partial = run(jobs=jobs, on_progress=stop, devices=DEVICE, trials=300)
    assert partial.run.interrupted
    assert 1 <= len(partial.cells) <= 4
    assert partial.cells[0].family == "plain"


def test_readings_apply_to_the_families_that_have_them():
    cells = run(reading="published", devices=DEVICE, batch_sizes=(2,)).cells
    assert [cell.reading for cell in cells] == ["published", "exact"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"networks": []}, "network: at least one"),
        ({"networks": "alexnett"}, "did you mean 'alexnet'"),
        ({"networks": [NETWORK, NETWORK]}, "network: is given twice"),
        ({"devices": "zcu10"}, "did you mean 'zcu10"),
        ({"families": ["chanel"]}, "did you mean 'channel'"),
        ({"families": []}, "family: at least one"),
        ({"families": [Plain(), Plain()]}, "family: is given twice"),
        ({"batch_sizes": (0,)}, "batch size"),
        ({"batch_sizes": (2, 2)}, "batch size: is given twice"),
        ({"batch_sizes": ()}, "batch size: at least one"),
        ({"precision": "int8"}, "family plain lacks it"),
        ({"precision": "fp33"}, "did you mean 'fp32'"),
        ({"objectives": ("latency", "speed")}, "unknown objective"),
        ({"objectives": ("energy",), "devices": [DEVICE, DARK_BOARD]}, "device dark has no published power"),
        ({"search": "brute"}, "unknown method"),
        ({"jobs": 0}, "jobs"),
        ({"reading": "publishedd"}, "did you mean 'published'"),
    ],
)
def test_bad_input_is_refused_before_any_search(changes, message):
    def never(event):
        raise AssertionError("the search began")

    with pytest.raises(InputError, match=message) as caught:
        run(**changes, on_progress=never)
    assert "\n" not in str(caught.value)


def test_saved_results_come_back_as_they_were(result, tmp_path):
    files = save(result, tmp_path / "out", argv=("dse", "sweep"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["pareto.csv", "points.parquet", "result.json"]
    assert all(path.is_file() for path in files.values())
    for source in (tmp_path / "out", files["result"]):
        back = load(source)
        assert back.run == dataclasses.replace(result.run, argv=("dse", "sweep"))
        assert [repr(cell) for cell in back.cells] == [repr(cell) for cell in result.cells]
        for cell, other in zip(result.cells, back.cells, strict=True):
            pd.testing.assert_frame_equal(other.points, cell.points, check_like=True)


def test_the_json_form_is_plain_and_has_the_promised_keys(result, tmp_path):
    content = json.loads(save(result, tmp_path)["result"].read_text(), parse_constant=pytest.fail)
    assert content["schema_version"] == 1
    first, last = content["cells"][0], content["cells"][-1]
    assert {"network", "device", "family", "batch_size", "precision", "evaluated", "search_s"} <= set(first)
    assert {"kind", "gap", "evaluated", "space_size", "seconds", "optimum", "floor"} == set(first["proof"])
    assert set(first["best"]) == {"point", "estimate", "origin", "objectives"}
    assert last["best"] is None
    assert last["proof"]["gap"] is None
    assert last["diagnosis"]["smallest_board"] == "pynq_z1"


def test_the_same_seed_gives_the_same_bytes_times_aside(result, tmp_path):
    timeless = [
        dataclasses.replace(
            r, cells=tuple(map(without_times, r.cells)), run=dataclasses.replace(result.run, created="")
        )
        for r in (result, run())
    ]
    first, second = (save(r, tmp_path / str(number)) for number, r in enumerate(timeless))
    for key in first:
        assert first[key].read_bytes() == second[key].read_bytes()


def test_a_front_in_the_csv_has_a_row_per_point(tmp_path):
    found = run(devices=DEVICE, batch_sizes=(2,), objectives=("latency", "dsp"))
    table = pd.read_csv(save(found, tmp_path)["pareto"])
    assert len(table) == sum(len(cell.pareto) for cell in found.cells)
    assert {"network", "device", "family", "origin", "t", "a_words", "objective_latency", "bram36"} <= set(table)


def test_infinite_and_unknown_gaps_survive(result, tmp_path):
    gaps = (np.inf, np.nan)
    cells = [
        dataclasses.replace(result.cells[0], proof=Proof(kind, gap, 1, 2, 0.5, (1.0,)))
        for kind, gap in zip(("bound", "none"), gaps, strict=True)
    ]
    save(dataclasses.replace(result, cells=tuple(cells)), tmp_path)
    back = [cell.proof.gap for cell in load(tmp_path).cells]
    assert back[0] == np.inf
    assert np.isnan(back[1])


def test_nothing_is_left_where_writing_fails(result, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    with pytest.raises(InputError, match="No space left"):
        save(result, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_an_interrupted_sweep_of_nothing_is_saved_too(result, tmp_path):
    empty = dataclasses.replace(result, cells=())
    save(empty, tmp_path)
    assert load(tmp_path).cells == ()


@pytest.mark.parametrize("content", ["", "[]", '{"schema_version": 1}', '{"schema_version": 99}', '"x"'])
def test_what_is_no_result_is_refused(result, tmp_path, content):
    save(result, tmp_path)
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(InputError, match="result"):
        load(tmp_path)


def test_a_missing_result_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path)
