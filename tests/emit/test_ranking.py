"""Points are ranked by the schedules of their RTL, and what a lower bound leaves out is no faster."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.device import Device
from dse.emit import Ranking, design_of, finalists, load_design, rank, task, winners
from dse.emit.design import workload_of
from dse.emit.near import NEAR, near
from dse.emit.ranking import _Search
from dse.errors import InputError
from dse.network import Network
from dse.registry import family_named
from dse.results import ResultSet
from dse.store import save
from tests.cli.cli_process import Outcome
from tests.cli.conftest import dse as dse_command

command = dse_command
"""The fixture that runs the command; its own name is that of the package here."""

Parts = tuple[Network, Device]


@pytest.fixture(scope="module")
def parts() -> Parts:
    return dse.load_network("shapes_cnn"), dse.load_device("zcu102")


@pytest.fixture(scope="module")
def result(parts: Parts) -> ResultSet:
    """Of a small network, whose schedules are soon predicted."""
    families = ["channel", "hybrid", "batch"]
    return dse.sweep(*parts, families, batch_sizes=[4], precision="int8", trials=12, prove=False)


@pytest.fixture(scope="module")
def saved(result: ResultSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranked")
    save(result, folder)
    return folder


@pytest.fixture(scope="module")
def ranking(result: ResultSet, parts: Parts) -> Ranking:
    return rank(task(result), *parts, climbs=False)


def test_the_best_of_all_finalists_is_found_without_predicting_each(
    result: ResultSet, parts: Parts, ranking: Ranking
) -> None:
    cells = task(result)
    times = []
    for choice in (choice for cell in cells for choice in finalists(cell, 100)):
        try:
            times.append(design_of(choice, *parts).predicted_s)
        except InputError:
            continue
    assert len(times) > 12
    assert ranking.best.predicted_s == min(times)
    assert ranking.excluded > 0
    assert len(ranking.ranked) < len(times)
    engines = [item.design.engine for item in ranking.ranked]
    assert len(set(engines)) == len(engines)
    assert not ranking.stopped


def test_a_winner_that_another_beats_for_certain_is_not_predicted(
    result: ResultSet, parts: Parts, ranking: Ranking
) -> None:
    assert [item.choice.cell.family for item in ranking.beaten] == ["batch"]
    for item in ranking.beaten:
        assert ranking.best.predicted_s <= item.least_s <= design_of(item.choice, *parts).predicted_s
    families = {item.choice.cell.family for item in (*ranking.ranked, *ranking.beaten) if item.choice.name == "best"}
    assert families == {cell.family for cell in result.cells}


def test_finalists_are_the_fastest_feasible_points_once_each(result: ResultSet) -> None:
    for cell in result.cells:
        found = finalists(cell, 100)
        points = cell.points[cell.points["feasible"]]
        assert found[0].family_s == cell.best.estimate["iteration_s"]
        assert [choice.family_s for choice in found] == sorted(points["iteration_s"])
        assert len({tuple(choice.point.values()) for choice in found}) == len(found)
        assert finalists(cell, 3) == found[:3]
        doubled = replace(cell, points=cell.points.loc[[*cell.points.index, *cell.points.index]].reset_index(drop=True))
        assert len(finalists(doubled, 100)) == len(found)


def test_the_neighbours_of_the_best_are_tried_until_none_is_better(
    result: ResultSet, parts: Parts, ranking: Ranking
) -> None:
    further = rank(task(result), *parts)
    assert further.best.predicted_s < ranking.best.predicted_s
    assert further.best.choice.name == NEAR
    around = near(further.best.choice, *parts)
    assert around
    for choice in around:
        model, workload = family_named(choice.cell.family), workload_of(choice.cell, parts[0])
        assert model.space(workload, parts[1]).contains(choice.point)
        try:
            assert design_of(choice, *parts).predicted_s >= further.best.predicted_s
        except InputError:
            continue


def test_both_times_and_the_gain_are_kept_with_the_design(result: ResultSet, parts: Parts) -> None:
    ranking = rank(task(result), *parts)
    design = ranking.design(*parts)
    first, *_ = design.content()["ranking"]["points"]
    assert first["schedule_s"] == pytest.approx(design.schedule.cycles / parts[1].clock_hz)
    assert first["family_s"] == design.prediction["iteration_s"]
    won = min(design_of(choice, *parts).predicted_s for choice in winners(task(result)))
    assert ranking.gain == pytest.approx(1 - first["schedule_s"] / won)


def test_a_time_limit_leaves_the_best_winner_and_says_so(result: ResultSet, parts: Parts) -> None:
    ranking = rank(task(result), *parts, limit_s=0)
    assert ranking.stopped == "time"
    assert ranking.best is ranking.winner
    assert {item.choice.name for item in ranking.ranked} == {"best"}
    assert ranking.gain == 0
    assert ranking.open >= sum(len(finalists(cell, 100)) for cell in result.cells)


def test_ctrl_c_leaves_the_best_so_far(result: ResultSet, parts: Parts) -> None:
    def report(done: int, total: int) -> None:
        assert 0 < done <= total
        raise KeyboardInterrupt

    ranking = rank(task(result), *parts, on_progress=report)
    assert ranking.stopped == "interrupt"
    assert ranking.open > 0
    assert not ranking.excluded


def test_ctrl_c_before_there_is_anything_is_passed_on(
    result: ResultSet, parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Search, "measure", interrupt)
    with pytest.raises(KeyboardInterrupt):
        rank(task(result), *parts)


def test_another_first_objective_keeps_the_order_of_the_winners(result: ResultSet, parts: Parts) -> None:
    cells = [replace(cell, objectives=("dsp",)) for cell in reversed(task(result))]
    ranking = rank(cells, *parts)
    assert [item.choice.cell.family for item in ranking.ranked] == [cell.family for cell in cells]
    times = [item.predicted_s for item in ranking.ranked]
    assert times != sorted(times)


def test_without_a_schedule_the_winners_order_stays(result: ResultSet, parts: Parts) -> None:
    cells = [replace(cell, optimiser="adam") for cell in task(result)]
    ranking = rank(cells, *parts)
    assert [item.choice for item in ranking.ranked] == winners(cells)
    assert math.isinf(ranking.best.predicted_s)
    assert math.isnan(ranking.gain)
    assert ranking.design(*parts).content()["ranking"]["points"][0]["schedule_s"] is None


def test_what_rtl_cannot_realise_comes_as_a_reason(result: ResultSet, parts: Parts) -> None:
    ranking = rank(task(result), parts[0], dse.load_device("pynq_z1"))
    assert ranking.refused
    assert all("the RTL takes more" in str(error) or "cannot realise" in str(error) for error in ranking.refused)
    nothing = Ranking((), ranking.refused)
    with pytest.raises(InputError):
        _ = nothing.best


def test_emit_shows_the_ranking_and_takes_the_first(
    command: Callable[..., Outcome], result: ResultSet, parts: Parts, saved: Path, tmp_path: Path
) -> None:
    best = rank(task(result), *parts).best
    done = command("emit", saved, "-o", tmp_path / "rtl")
    assert done.code == 0
    assert best.design.title in done.out
    assert "excluded by a lower bound" in done.out
    (first,) = [line for line in done.out.splitlines() if line.split()[:1] == ["1"]]
    assert first.split()[-2:] == [f"{1e3 * best.choice.family_s:.4g}", f"{1e3 * best.predicted_s:.4g}"]
    assert "ms an iteration as RTL" in done.out
    kept = load_design(tmp_path / "rtl")[0]
    assert kept.ranking == json.loads((tmp_path / "rtl" / "design.json").read_text())["ranking"]
    asked = command("emit", saved, "--point", "best", "-o", tmp_path / "best", "--json").json["design"]
    assert asked["ranking"] is None
    assert asked["point"] == dict(min((cell.best for cell in result.cells), key=lambda won: won.objectives[0]).point)


def test_an_interrupted_emit_writes_the_best_so_far(
    command: Callable[..., Outcome], saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Search, "climb", interrupt)
    done = command("emit", saved, "-o", tmp_path / "rtl")
    assert done.code == 130
    assert "interrupted with 0 open" in done.out
    assert load_design(tmp_path / "rtl")[0].ranking["stopped"] == "interrupt"


def test_the_limit_of_a_ranking_is_checked(command: Callable[..., Outcome], saved: Path, tmp_path: Path) -> None:
    error = command("emit", saved, "-o", tmp_path / "rtl", "--rank-limit", "0").error
    assert "--rank-limit: must be a whole number; got '0'" in error
