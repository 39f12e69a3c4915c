"""``dse sweep``: the best accelerator of every network, device, family and batch size, with its proof."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import typer

from dse.cli.emit import Emitted, check_rtl, emit_fastest
from dse.cli.emit_text import print_ranking
from dse.cli.folder import check_output
from dse.cli.guard import INTERRUPTED, NOTHING_FEASIBLE, OK
from dse.cli.options import (
    MAX_BATCH,
    MAX_JOBS,
    MAX_SECONDS,
    MAX_SEED,
    MAX_TRIALS,
    BatchSizes,
    DeviceNames,
    Emit,
    FamilyNames,
    Force,
    Jobs,
    Json,
    Method,
    NetworkNames,
    NoProve,
    Objectives,
    OptimiserName,
    Output,
    PrecisionName,
    ProofLimit,
    Quiet,
    RankLimit,
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
    context: typer.Context,
    network: NetworkNames,
    device: DeviceNames,
    family: FamilyNames = None,
    batch: BatchSizes = None,
    precision: PrecisionName = "fp32",
    optimiser: OptimiserName = "sgd",
    objective: Objectives = None,
    method: Method = "optuna",
    sampler: SamplerName = "tpe",
    trials: Trials = "500",
    seed: Seed = "0",
    jobs: Jobs = "1",
    reading: Reading = "",
    no_prove: NoProve = False,
    proof_limit: ProofLimit = "300",
    output: Output = Path("dse-out"),
    force: Force = False,
    emit: Emit = False,
    rank_limit: RankLimit = "60",
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Search networks x devices x families x batch sizes, prove the winners, write a report; exit 1 if nothing fits."""
    from dse.devices import load_device
    from dse.networks import load_network
    from dse.sweep import sweep as search_grid

    options = _Options(
        families=family,
        batch_sizes=[whole("--batch", size, 1, MAX_BATCH) for size in batch or ["128"]],
        precision=precision,
        optimiser=optimiser,
        objectives=objective or ["latency"],
        search=method,
        sampler=sampler,
        trials=whole("--trials", trials, 1, MAX_TRIALS),
        seed=whole("--seed", seed, 0, MAX_SEED),
        jobs=whole("--jobs", jobs, 1, MAX_JOBS),
        reading=reading,
        prove=not no_prove,
        proof_limit_s=whole("--proof-limit", proof_limit, 1, MAX_SECONDS),
    )
    limit_s = whole("--rank-limit", rank_limit, 1, MAX_SECONDS)
    _check_names(options)
    networks = [load_network(name) for name in network]
    boards = {board.name: board for board in map(load_device, device)}
    if emit:
        check_rtl(options["precision"])
    check_output(output, force)
    with progress_bar(quiet) as report:
        result = search_grid(networks, list(boards.values()), on_progress=report, **options)
    result = replace(result, run=replace(result.run, argv=("dse", *context.obj)))
    files = _save(result, output, boards)
    emitted = Emitted()
    if emit:
        emitted = emit_fastest(result, {n.name: n for n in networks}, boards, output / "rtl", limit_s, quiet or as_json)
        files |= {f"rtl {name}": str(folder) for name, folder in emitted.folders.items()}
    if as_json:
        from dse.store import result_json

        rankings = {name: ranking.content() for name, ranking in emitted.rankings.items()}
        print_json({**result_json(result), "files": files, **({"rankings": rankings} if emit else {})})
    elif not quiet:
        for cell in result.cells:
            print(cell_text(cell, boards[cell.device], options["trials"]), end="\n\n")
        for name, ranking in emitted.rankings.items():
            print(name)
            print_ranking(ranking)
            print()
        print("\n".join(files.values()))
    for name, error in emitted.refused:
        print(f"not emitted: {name}: {error}", file=sys.stderr)
    if emitted.refused and not emitted.folders:
        raise emitted.refused[0][1]
    return INTERRUPTED if emitted.interrupted else _exit_code(result)


class _Options(TypedDict):
    """What ``dse.sweep`` takes by name."""

    families: list[str] | None
    batch_sizes: list[int]
    precision: str
    optimiser: str
    objectives: list[str]
    search: str
    sampler: str
    trials: int
    seed: int
    jobs: int
    reading: str
    prove: bool
    proof_limit_s: float


def _check_names(options: _Options) -> None:
    """Names whose error should say the flag and not the argument."""
    from dse.estimate import OBJECTIVES
    from dse.registry import families
    from dse.search import METHODS, SAMPLERS
    from dse.workload import OPTIMISERS, PRECISIONS

    checked("--precision", options["precision"], PRECISIONS)
    checked("--optimiser", options["optimiser"], OPTIMISERS)
    checked("--search", options["search"], METHODS)
    checked("--sampler", options["sampler"], SAMPLERS)
    for name in options["families"] or ():
        checked("--family", name, families())
    for name in options["objectives"]:
        checked("--objective", name, OBJECTIVES)


def _save(result: ResultSet, output: Path, boards: Mapping[str, Device]) -> dict[str, str]:
    """Write everything into the folder; what it is -> its path, the report first."""
    from dse.reports import write_report
    from dse.store import save

    report = output / "report.html"
    data = save(result, output)
    write_report(result, report, boards)
    return {"report": str(report), **{key: str(path) for key, path in data.items()}}


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
