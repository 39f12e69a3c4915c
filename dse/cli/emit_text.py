"""What ``dse emit`` prints: how points compare as RTL, which one was taken, and what was written."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.output import Table, point_text, print_tables

if TYPE_CHECKING:
    from dse.emit import Choice, Design, Ranking
    from dse.emit.files import Written

__all__ = ["print_ranking", "summary"]

_COLUMNS = ("rank", "family", "point", "id", "family [ms]", "RTL [ms]")
_STOPPED = {"time": "the time limit ended it", "interrupt": "interrupted"}


def print_ranking(ranking: Ranking) -> None:
    """A table of the best points and the families' winners, and what the first one gains."""
    rows = [(str(place), *_row(item.choice, _ms(item.predicted_s))) for place, item in ranking.shown()]
    rows += [("", *_row(item.choice, f"over {_ms(item.least_s)}")) for item in ranking.beaten]
    print_tables(Table(_title(ranking), _COLUMNS, rows, "rlllrr"))
    print(_taken(ranking))


def _title(ranking: Ranking) -> str:
    title = f"points by the predicted schedule of their RTL: {len(ranking.ranked):,} predicted"
    if ranking.excluded:
        title += f", {ranking.excluded:,} excluded by a lower bound"
    if ranking.stopped:
        title += f", {_STOPPED[ranking.stopped]} with {ranking.open:,} open"
    return title


def _row(choice: Choice, ours: str) -> tuple[str, str, str, str, str]:
    return choice.cell.family, point_text(choice.point), choice.name, _ms(choice.family_s), ours


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.4g}" if math.isfinite(seconds) else "unknown"


def _taken(ranking: Ranking) -> str:
    best, winner = ranking.best, ranking.winner
    if not math.isfinite(best.predicted_s):
        return "taken: the families' best, as no schedule can be predicted"
    if winner is None:
        return f"taken: {best.choice.cell.family}, {_ms(best.predicted_s)} ms an iteration as RTL; no winner can be RTL"
    if winner is best:
        return f"taken: the winner of {best.choice.cell.family}, no other point is known to be faster as RTL"
    return (
        f"taken: {point_text(best.choice.point)} of {best.choice.cell.family}, {_ms(best.predicted_s)} ms an iteration"
        f" as RTL: {100 * ranking.gain:.1f} % less than the best winner, that of {winner.choice.cell.family}"
    )


def summary(design: Design, written: Written, output: Path) -> str:
    """The lines on a folder that was emitted."""
    values = ", ".join(f"{name}={value}" for name, value in design.parameters.items())
    changed = sum(written.values())
    return (
        f"{design.title}\n  RTL        {values}\n{_resources(design)}{_training(design)}"
        f"  files      {len(written)} in {output}, {changed} written, {len(written) - changed} unchanged\n"
        f"  next       dse verify {output}{_train_options(design)}"
    )


def _train_options(design: Design) -> str:
    """What trains the design in simulation: on drawn shapes where the network has room and kinds, else on samples."""
    from dse.golden.shapes import drawable

    if design.schedule is None:
        return ""
    network = design.workload.network
    return " --train 50" + (
        "" if drawable(network.input_shape, network.layers[-1].in_shape[0]) else " --data SAMPLES.npz"
    )


def _training(design: Design) -> str:
    schedule = design.schedule
    if schedule is None:
        return f"  training   single layers only: {design.unscheduled}\n"
    steps, words, cycles = len(schedule.steps), len(schedule.words()), schedule.cycles
    return (
        f"  training   {steps} steps, {words:,} words; predicted {cycles:,} cycles an iteration with an ideal memory\n"
    )


def _resources(design: Design) -> str:
    """What the RTL takes of the chip, what the family estimated for the whole design, and whose depths are others."""
    used, capacity = design.resources, design.device.capacity
    blocks = ", ".join(f"{name.upper()} {used[name]:,}" for name in ("ramb36", "ramb18", "m20k") if name in used)
    ours = f"dsp {_of(used['dsp'], capacity['dsp'])}, bram36 {_of(used['bram36'], capacity['bram36'])} ({blocks})"
    estimated = design.prediction["resources"]
    theirs = ", ".join(f"{name} {estimated[name]:,.10g}" for name in ("dsp", "bram36", "uram288"))
    others = "".join(f"  buffers    {buffer}\n" for buffer in design.resized)
    return f"  takes      {ours}, uram288 {used['uram288']:,}\n  estimated  {theirs}\n{others}"


def _of(used: float, capacity: float) -> str:
    return f"{used:,.10g} of {capacity:,.10g}"
