"""Which point ``--cell`` and ``--point`` mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import dse
from dse.emit import choose, rank, winners
from dse.errors import InputError
from dse.results import ResultSet
from tests.cli.cli_process import Outcome
from tests.cli.conftest import dse as dse_command

command = dse_command
"""The fixture that runs the command; its own name is that of the package here."""


def test_the_default_is_the_best_point_of_all_families(result: ResultSet) -> None:
    won = {cell.family: cell.best for cell in result.cells}
    best = min((c for c in won.values() if c), key=lambda c: c.objectives[0])
    chosen = choose(result)
    assert chosen.point == dict(best.point)
    assert won[chosen.cell.family] is best


@pytest.mark.parametrize("number", [0, 1])
def test_a_cell_and_its_points_are_found_by_number(result: ResultSet, number: int) -> None:
    cell = result.cells[number]
    assert choose(result, number).cell is cell
    assert choose(result, number, "front-0").point == dict(cell.pareto[0].point)
    assert choose(result, number, "paper-0").point == dict(cell.papers[0].point)
    for row in (0, len(cell.points) - 1):
        point = choose(result, number, str(row)).point
        assert point == {name: int(cell.points.iloc[row][name]) for name in point}


@pytest.mark.parametrize(
    ("cell", "point", "text"),
    [
        (2, "best", "--cell: there is no such cell; got 2; allowed: 0 to 1"),
        (0, "worst", "--point: has no such form; got 'worst'; allowed: best, front-N"),
        (0, "-1", "--point: has no such form"),
        (0, "99999", "--point: there is no such point; got '99999'; allowed: numbers 0 to"),
        (0, "front-999", "--point: there is no such point"),
    ],
)
def test_what_does_not_exist_is_said(result: ResultSet, cell: int, point: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        choose(result, cell, point)
    assert text in str(error.value)


def test_cells_of_several_tasks_need_a_choice(result: ResultSet) -> None:
    other = replace(result.cells[0], batch_size=8)
    with pytest.raises(InputError, match="--cell: is needed"):
        choose(replace(result, cells=(*result.cells, other)))


def test_without_a_winner_there_is_nothing_to_emit(result: ResultSet) -> None:
    nothing = tuple(replace(cell, best=None) for cell in result.cells)
    with pytest.raises(InputError, match="nothing is feasible"):
        choose(replace(result, cells=nothing))
    with pytest.raises(InputError, match="has no feasible point"):
        choose(replace(result, cells=nothing), 0)


def test_the_fastest_as_rtl_is_emitted_and_what_else_there_was_is_said(
    command: Callable[..., Outcome], result: ResultSet, saved: Path, tmp_path: Path
) -> None:
    """Families and RTL do not agree on who is the fastest: the schedule's prediction decides."""
    choices = winners(result)
    inputs = dse.load_network("lenet10"), dse.load_device("zcu102")
    ranking = rank(choices, lambda choice: inputs)
    times = [design.predicted_s for design in ranking.designs]
    assert len(times) == 2
    assert times == sorted(times)
    again = rank(choices[::-1], lambda choice: inputs)
    assert again.best.title == ranking.best.title
    done = command("emit", saved, "-o", tmp_path / "rtl")
    assert done.out.startswith(f"not emitted: {ranking.designs[1].family}, predicted {1e3 * times[1]:.4g} ms")
    assert ranking.best.title in done.out


def test_what_rtl_cannot_realise_comes_as_a_reason(result: ResultSet) -> None:
    pynq = dse.load_device("pynq_z1")
    ranking = rank(winners(result), lambda choice: (dse.load_network("lenet10"), pynq))
    assert all("the RTL takes more" in str(error) or "cannot realise" in str(error) for error in ranking.refused)
    assert len(ranking.refused) + len(ranking.designs) == 2
    if not ranking.designs:
        with pytest.raises(InputError):
            _ = ranking.best
