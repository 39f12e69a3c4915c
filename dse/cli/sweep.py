"""``dse sweep``: the best accelerator of every network, device, family and batch size, with its proof."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.cli.folder import check_output
from dse.cli.guard import INTERRUPTED, NOTHING_FEASIBLE, OK
from dse.cli.options import (
    MAX_BATCH,
    MAX_JOBS,
    MAX_SEED,
    MAX_TRIALS,
    BatchSizes,
    DeviceNames,
    FamilyNames,
    Force,
    Jobs,
    Json,
    Method,
    NetworkNames,
    NoProve,
    Objectives,
    Output,
    PrecisionName,
    Quiet,
    Reading,
    SamplerName,
    Seed,
    Trials,
    checked,
    whole,
)
from dse.cli.output import print_json
from dse.cli.progress import progress_bar
from dse.cli.sweep_text import cell_text, shortage_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dse.device import Device
    from dse.results import ResultSet

__all__ = ["sweep"]


def sweep(
    network: NetworkNames,
    device: DeviceNames,
    family: FamilyNames = None,
    batch: BatchSizes = None,
    precision: PrecisionName = "fp32",
    objective: Objectives = None,
    method: Method = "optuna",
    sampler: SamplerName = "tpe",
    trials: Trials = "500",
    seed: Seed = "0",
    jobs: Jobs = "1",
    reading: Reading = "",
    no_prove: NoProve = False,
    output: Output = Path("dse-out"),
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Search networks x devices x families x batch sizes, prove the winners, write a report; exit 1 if nothing fits."""
    from dse.devices import load_device
    from dse.estimate import OBJECTIVES
    from dse.networks import load_network
    from dse.registry import families
    from dse.search import METHODS, SAMPLERS
    from dse.sweep import sweep as search_grid
    from dse.workload import PRECISIONS

    sizes = [whole("--batch", size, 1, MAX_BATCH) for size in batch or ["128"]]
    limits = {"--trials": (trials, 1, MAX_TRIALS), "--seed": (seed, 0, MAX_SEED), "--jobs": (jobs, 1, MAX_JOBS)}
    numbers = {flag: whole(flag, *limit) for flag, limit in limits.items()}
    checked("--precision", precision, PRECISIONS)
    checked("--search", method, METHODS)
    checked("--sampler", sampler, SAMPLERS)
    chosen = [families()[checked("--family", name, families())] for name in family or ()]
    objectives = [checked("--objective", name, OBJECTIVES) for name in objective or ["latency"]]
    networks = [load_network(name) for name in network]
    boards = [load_device(name) for name in device]
    check_output(output, force)
    with progress_bar(quiet) as report:
        result = search_grid(
            networks,
            boards,
            chosen or None,
            batch_sizes=sizes,
            precision=precision,
            objectives=objectives,
            search=method,
            sampler=sampler,
            trials=numbers["--trials"],
            seed=numbers["--seed"],
            jobs=numbers["--jobs"],
            reading=reading,
            prove=not no_prove,
            on_progress=report,
        )
    content = _save(result, output, {board.name: board for board in boards})
    if as_json:
        print_json(content)
    elif not quiet:
        _print(result, content["files"], {board.name: board for board in boards})
    return _exit_code(result)


def _save(result: ResultSet, output: Path, boards: Mapping[str, Device]) -> dict[str, Any]:
    """Write everything into the folder; the JSON object of the verb."""
    from dse.reports import write_report
    from dse.store import save

    content = save(result, output)
    write_report(result, output / "report.html", boards)
    return content


def _print(result: ResultSet, files: Mapping[str, str], boards: Mapping[str, Device]) -> None:
    for cell in result.cells:
        print(cell_text(cell, boards[cell.device]), end="\n\n")
    for path in files.values():
        print(path)


def _exit_code(result: ResultSet) -> int:
    """Says on stderr why it is not 0, since stdout may be JSON or nothing."""
    if result.run.interrupted:
        print("interrupted: what was found so far is saved", file=sys.stderr)
        return INTERRUPTED
    if any(cell.best for cell in result.cells):
        return OK
    short = "; ".join(dict.fromkeys(shortage_text(cell) for cell in result.cells))
    print(f"error: nothing feasible: {short}", file=sys.stderr)
    return NOTHING_FEASIBLE
