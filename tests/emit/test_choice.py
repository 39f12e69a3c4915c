"""Which point ``--cell`` and ``--point`` mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.emit import choose
from dse.errors import InputError
from dse.results import ResultSet


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
        (0, "worst", "--point: has no such form; got 'worst'; allowed: fastest, best, front-N"),
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
