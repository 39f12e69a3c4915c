"""Many cells, one after the other or in worker processes, with the same result."""

from __future__ import annotations

import multiprocessing
import queue
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from dse.results import Cell
from dse.search.cell import Settings, run_cell
from dse.search.problem import Problem

__all__ = ["OnCell", "run_cells"]

OnCell = Callable[[int, str, int, int], None]
"""Called with (cell number, stage, done, total)."""

_POLL_S = 0.1


def run_cells(
    problems: Sequence[Problem], settings: Settings, *, jobs: int = 1, on_progress: OnCell | None = None
) -> tuple[list[Cell], bool]:
    """Search every problem; returns the cells in the order of ``problems`` and whether Ctrl-C ended the run.

    Then the cells are those that finished, and what was found of those under way. With ``jobs`` > 1 cells run in
    spawned processes, so a script that calls this needs the usual ``if __name__ == "__main__":``.
    """
    if jobs == 1 or len(problems) == 1:
        return _in_turn(problems, settings, on_progress)
    return _in_pool(problems, settings, min(jobs, len(problems)), on_progress)


def _in_turn(problems: Sequence[Problem], settings: Settings, on_progress: OnCell | None) -> tuple[list[Cell], bool]:
    cells: list[Cell] = []
    try:
        for number, problem in enumerate(problems):
            cell, interrupted = run_cell(problem, settings, on_progress=_numbered(on_progress, number))
            if interrupted:
                return [*cells, *_worth_keeping(cell)], True
            cells.append(cell)
    except KeyboardInterrupt:
        return cells, True
    return cells, False


def _numbered(on_progress: OnCell | None, number: int) -> Callable[[str, int, int], None] | None:
    if on_progress is None:
        return None
    return lambda stage, done, total: on_progress(number, stage, done, total)


def _worth_keeping(cell: Cell) -> list[Cell]:
    return [cell] if cell.evaluated else []


# Worker processes --------------------------------------------------------------------------------------------------

_worker: dict[str, Any] = {}
"""In a worker: ``events``, the queue of progress reports, and ``stop``, set when the run is to end."""


def _start_worker(events: Any, stop: Any) -> None:
    """Ctrl-C goes to every process of a terminal; here it is the parent that decides, through ``stop``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker.update(events=events, stop=stop)


def _work(number: int, problem: Problem, settings: Settings) -> tuple[Cell | None, bool]:
    if _worker["stop"].is_set():
        return None, True
    last = [0.0]

    def report(stage: str, done: int, total: int) -> None:
        if _worker["stop"].is_set():
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - last[0] >= _POLL_S or done == total:
            last[0] = now
            _worker["events"].put((number, stage, done, total))

    return run_cell(problem, settings, on_progress=report)


def _in_pool(
    problems: Sequence[Problem], settings: Settings, jobs: int, on_progress: OnCell | None
) -> tuple[list[Cell], bool]:
    context = multiprocessing.get_context("spawn")
    events, stop = context.Queue(), context.Event()
    interrupted = False
    with ProcessPoolExecutor(jobs, context, _start_worker, (events, stop)) as pool:
        futures: list[Future[tuple[Cell | None, bool]]] = []
        try:
            with _workers_without_interrupts():
                futures += [pool.submit(_work, number, problem, settings) for number, problem in enumerate(problems)]
            _follow(futures, events, on_progress)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            stop.set()
            for future in futures:
                future.cancel()
            wait(futures)
            _drain(events, None)
    cells: list[Cell] = []
    for future in futures:
        if future.cancelled() or (interrupted and isinstance(future.exception(), BrokenProcessPool)):
            continue
        cell, ended = future.result()
        if cell is not None:
            cells += _worth_keeping(cell) if ended else [cell]
    return cells, interrupted


@contextmanager
def _workers_without_interrupts() -> Iterator[None]:
    """Processes started within are deaf to Ctrl-C from their first moment on; it is not lost here."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow(futures: Sequence[Future[tuple[Cell | None, bool]]], events: Any, on_progress: OnCell | None) -> None:
    """Pass progress on until every future is done; raises what a worker raised."""
    pending = set(futures)
    while pending:
        finished, pending = wait(pending, timeout=_POLL_S)
        _drain(events, on_progress)
        for future in finished:
            future.result()


def _drain(events: Any, on_progress: OnCell | None) -> None:
    while True:
        try:
            event = events.get_nowait()
        except queue.Empty:
            return
        if on_progress is not None:
            on_progress(*event)
