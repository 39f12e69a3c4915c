"""How far a sweep has come: a bar with the time left on a terminal, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.sweep import Progress

Bar = Callable[..., Any]
"""Takes ``completed``, ``total`` and ``description``."""

__all__ = ["named_bar", "progress_bar", "status_line", "step_bar"]


@contextmanager
def _bar(description: str) -> Iterator[Bar]:
    """A bar on stderr that goes away when it is done."""
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    )
    # What the verb prints meanwhile goes above the bar where stdout is the terminal too, else where it was sent.
    on_terminal = sys.stdout.isatty()
    with progress.Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=on_terminal) as bar:
        task = bar.add_task(description, total=None)
        yield partial(bar.update, task)


@contextmanager
def step_bar(description: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function to report (done, total) to, which draws on stderr; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _bar(description) as update:
        yield lambda done, total: update(completed=done, total=total)


@contextmanager
def named_bar(description: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """Likewise for (what is being done, done, total)."""
    if not sys.stderr.isatty():
        yield None
        return
    with _bar(description) as update:
        yield lambda name, done, total: update(description=name, completed=done, total=total)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[Progress], None] | None]:
    """A function to report progress to, which draws on stderr; None where stderr is no terminal or ``quiet``."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _bar("starting") as update:
        shares: dict[int, float] = {}

        def report(now: Progress) -> None:
            half = now.done / max(now.total, 1) / 2
            shares[now.cell] = half if now.stage == "search" else 0.5 + half
            text = f"{now.label}, {now.stage} ({now.cell + 1} of {now.cells})"
            update(completed=sum(shares.values()), total=now.cells, description=text)

        yield report


@contextmanager
def status_line(quiet: bool) -> Iterator[Callable[[str], None] | None]:
    """A function to say what is being done, which draws on stderr; None where stderr is no terminal or ``quiet``."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    with _bar("starting") as update:
        yield lambda text: update(description=text)
