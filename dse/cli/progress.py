"""How far a sweep has come: a bar with the time left on a terminal, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

Report = Callable[[int, int, str], None]
"""(done, total, what is being done) -> None."""


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Report | None]:
    """A function to report progress to, which draws on stderr; None where stderr is no terminal or ``quiet``."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("sweep", total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)
