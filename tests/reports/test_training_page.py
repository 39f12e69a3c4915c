"""The page of a training run: its sentences, its figures' data, and that it is the same again."""

from __future__ import annotations

from dataclasses import replace

from dse.reports.theme import PHASE_STYLES
from dse.reports.training import _answers, _cycles_figure, _loss_figure, render_training
from tests.reports.made_up_training import LOSSES, made_up_training


def test_the_answers() -> None:
    run = made_up_training()
    exact, cycles, loss, accuracy = _answers(run)
    assert exact == "3 of 3 iterations bit-exact with the golden model."
    total, predicted = run.rows[-1].cycles, run.schedule.cycles
    assert cycles == f"{total:,} cycles an iteration; predicted {predicted:,} ({100 * (predicted / total - 1):+.2f} %)."
    assert loss == "Loss 2.5000 at first, 0.5000 at last."
    assert accuracy == "Accuracy on test samples: 25.0 % before, 75.0 % after."
    differs = replace(run.rows[-1], differences=("weight fc: 1 of 6 elements",))
    assert _answers(replace(run, rows=(*run.rows[:-1], differs)))[0].startswith("2 of 3 iterations")


def test_the_figures_have_every_iteration_and_every_cycle() -> None:
    run = made_up_training()
    (line,) = _loss_figure(run).data
    assert (tuple(line.x), tuple(line.y)) == ((1, 2, 3), LOSSES)
    figure = _cycles_figure(run.layers())
    assert [bar.name for bar in figure.data] == [title for title, _ in PHASE_STYLES.values()]
    assert sum(sum(bar.x) for bar in figure.data) == run.rows[-1].cycles
    assert sum(sum(bar.customdata) for bar in figure.data) == run.schedule.cycles


def test_the_same_run_gives_the_same_page_and_one_without_iterations_has_one_too() -> None:
    assert render_training(made_up_training()) == render_training(made_up_training())
    empty = render_training(made_up_training(rows=0))
    assert "0 of 0 iterations bit-exact" in empty
    assert "Loss " not in empty.split("<h3>")[0]
