"""``dse verify``: an emitted accelerator, simulated against the golden model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.guard import INTERRUPTED, NOTHING_FEASIBLE, OK
from dse.cli.options import MAX_SEED, Json, Quiet, whole
from dse.cli.output import Table, number, percent, print_json, print_tables
from dse.errors import InputError

if TYPE_CHECKING:
    from dse.verify.run import Verification, Verified

__all__ = ["verify"]

MAX_CYCLES = 10**9
_DEFAULTS = {"--max-cycles": "100000", "--data": "shapes", "--rate-shift": "4"}
MAX_LATENCY = 10**5

Layers = Annotated[list[str] | None, typer.Option("--layer", metavar="NAME...", help="Layers to run; default: all.")]
MaxCycles = Annotated[
    str, typer.Option("--max-cycles", metavar="N", help="Scale a layer down until no phase of it takes more cycles.")
]
Latency = Annotated[str, typer.Option("--latency", metavar="N", help="Cycles of latency of the simulated DRAM.")]
Stall = Annotated[str, typer.Option("--stall", metavar="PERCENT", help="Chance of a stall per channel and cycle.")]
SeedOption = Annotated[str, typer.Option("--seed", metavar="N", help="Seed of operands and stalls.")]
Train = Annotated[str, typer.Option("--train", metavar="N", help="Train N whole iterations instead of single layers.")]
TrainData = Annotated[
    str, typer.Option("--data", metavar="FILE|shapes", help="--train: a .npz file with x and y, or drawn shapes.")
]
RateShift = Annotated[
    str, typer.Option("--rate-shift", metavar="N", help="--train: largest step of a weight, 2^-N of its range.")
]
OtherNetwork = Annotated[
    str, typer.Option("--network", "-n", metavar="NET", help="--train: another network on the same RTL.")
]


def verify(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that dse emit wrote.")],
    layer: Layers = None,
    max_cycles: MaxCycles = _DEFAULTS["--max-cycles"],
    latency: Latency = "1",
    stall: Stall = "0",
    seed: SeedOption = "1",
    train: Train = "",
    data: TrainData = _DEFAULTS["--data"],
    rate_shift: RateShift = _DEFAULTS["--rate-shift"],
    network: OtherNetwork = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Check, lint, build and simulate emitted RTL, bit for bit against the golden model; exit 1 where it differs."""
    from dse.verify.dram import Dram

    _check_together(
        train,
        {"--layer": " ".join(layer or ()), "--max-cycles": max_cycles},
        {
            "--data": data,
            "--rate-shift": rate_shift,
            "--network": network,
        },
    )
    if train:
        from dse.cli.verify_train import verify_train

        dram = Dram(latency=whole("--latency", latency, 1, MAX_LATENCY), stall=whole("--stall", stall, 0, 95) / 100)
        return verify_train(folder, train, data, dram, rate_shift, seed, network, as_json=as_json, quiet=quiet)
    from dse.verify.run import REPORT, Settings
    from dse.verify.run import verify as run
    from dse.verify.toolchain import ToolError

    settings = Settings(
        layers=tuple(layer or ()),
        max_cycles=whole("--max-cycles", max_cycles, 1, MAX_CYCLES),
        dram=Dram(latency=whole("--latency", latency, 1, MAX_LATENCY), stall=whole("--stall", stall, 0, 95) / 100),
        seed=whole("--seed", seed, 0, MAX_SEED),
    )
    try:
        with _progress(quiet) as report:
            result = run(folder, settings, report)
    except ToolError as error:
        print(f"error: {folder}: a tool ended with an error:\n{error}", file=sys.stderr)
        return NOTHING_FEASIBLE
    written = {"report": str(folder / REPORT), **_write_pages(result, folder)}
    if as_json:
        print_json({**result.content(), **written})
    elif not quiet:
        _print(result)
        print("\n".join(written.values()))
    if result.interrupted:
        print("interrupted: what was found so far is saved", file=sys.stderr)
        return INTERRUPTED
    return OK if result.exact else NOTHING_FEASIBLE


def _check_together(train: str, without: Mapping[str, str], beside: Mapping[str, str]) -> None:
    """Raise InputError for an option that would do nothing: ``without`` those without --train, ``beside`` with it."""
    rule, allowed = ("does nothing beside --train", "no --train") if train else ("does nothing alone", "with --train N")
    for name, value in (without if train else beside).items():
        if value != _DEFAULTS.get(name, ""):
            raise InputError(name, rule, value, allowed)


def _write_pages(result: Verification, folder: Path) -> dict[str, str]:
    """The page of a verification, and the report of the sweep that emitted the folder, which shows it too."""
    from dse.reports.verification import write_verification_report

    page = folder / "verify.html"
    try:
        write_verification_report(result.content(), page)
        return {"page": str(page), **_write_sweep_report(folder)}
    except OSError as error:
        raise InputError(str(error.filename or page), f"cannot be written: {error.strerror or error}") from error


def _write_sweep_report(folder: Path) -> dict[str, str]:
    from dse.reports import write_report
    from dse.reports.panels import boards_of
    from dse.store import load
    from dse.verify.saved import sweep_folder, verifications

    sweep = sweep_folder(folder)
    if sweep is None:
        return {}
    result = load(sweep)
    path = sweep / "report.html"
    write_report(result, path, boards_of(result), verifications(sweep))
    return {"sweep_report": str(path)}


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar with the name of the step on a terminal; nothing anywhere else."""
    from dse.cli.progress import named_bar

    if quiet:
        yield None
        return
    with named_bar("start") as update:
        yield update


def _print(result: Verification) -> None:
    columns = ("layer", "phase", "size", "simulated", "predicted", "off by", "model", "off by", "lanes", "DRAM")
    rows = [_row(row) for row in result.rows]
    print_tables(Table(f"{result.design.title}: cycles", columns, rows, "lllrrrrrrl"))
    wrong = [row for row in result.rows if not row.outcome.exact]
    for row in wrong:
        print(f"{row.layer} {row.phase}: {row.outcome.difference}", file=sys.stderr)
    total, predicted, model = (
        sum(cycles)
        for cycles in zip(
            *((r.outcome.cycles, r.outcome.predicted_cycles, r.model_cycles) for r in result.rows), strict=True
        )
    )
    print(f"\n{len(result.rows) - len(wrong)} of {len(result.rows)} phases bit-exact")
    print(f"{total:,} cycles simulated; off by: predicted {_off(predicted, total)}, model {_off(model, total)}")


def _row(row: Verified) -> tuple[str, ...]:
    conv, outcome = row.conv, row.outcome
    size = f"{conv.batch} x {conv.n}->{conv.m} {conv.size[0]}x{conv.size[1]}{' scaled' if row.is_scaled else ''}"
    return (
        row.layer,
        row.phase,
        size,
        number(outcome.cycles),
        number(outcome.predicted_cycles),
        _off(outcome.predicted_cycles, outcome.cycles),
        number(row.model_cycles, 0),
        _off(row.model_cycles, outcome.cycles),
        percent(row.utilisation, 1.0),
        "bit-exact" if outcome.exact else "differs",
    )


def _off(model: float, simulated: int) -> str:
    return f"{100 * (model / simulated - 1):+.2f} %" if simulated and model == model else "unknown"
