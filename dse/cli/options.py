"""Flags and the checks of their values. The aliases are what typer reads; several verbs share some of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from dse.errors import InputError, did_you_mean

__all__ = [
    "MAX_BATCH",
    "MAX_JOBS",
    "MAX_SECONDS",
    "MAX_SEED",
    "MAX_TRIALS",
    "BatchSize",
    "BatchSizes",
    "DeviceName",
    "DeviceNames",
    "Emit",
    "FamilyName",
    "FamilyNames",
    "Force",
    "Jobs",
    "Json",
    "Method",
    "NetworkName",
    "NetworkNames",
    "NoProve",
    "Objectives",
    "OptimiserName",
    "Output",
    "PrecisionName",
    "ProofLimit",
    "Quiet",
    "RankLimit",
    "Reading",
    "SamplerName",
    "Seed",
    "Settings",
    "TilingFile",
    "Trials",
    "checked",
    "fraction",
    "parameters",
    "whole",
]

_NETWORK = "A name that `dse list networks` shows, or the path of a TOML, ONNX or Darknet .cfg file."
_DEVICE = "A name that `dse list devices` shows, or the path of a TOML file."

MAX_BATCH = 2**20
MAX_TRIALS = 10**8
MAX_SEED = 2**32 - 1
MAX_JOBS = 1024
MAX_SECONDS = 10**7

NetworkName = Annotated[str, typer.Option("--network", "-n", metavar="NET", help=_NETWORK)]
NetworkNames = Annotated[list[str], typer.Option("--network", "-n", metavar="NET...", help=_NETWORK)]
DeviceName = Annotated[str, typer.Option("--device", "-d", metavar="DEV", help=_DEVICE)]
DeviceNames = Annotated[list[str], typer.Option("--device", "-d", metavar="DEV...", help=_DEVICE)]
FamilyName = Annotated[
    str, typer.Option("--family", "-m", metavar="FAMILY", help="A family that `dse list families` shows.")
]
FamilyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--family", "-m", metavar="FAMILY...", help="Families to search; default: all that have the precision."
    ),
]
BatchSize = Annotated[str, typer.Option("--batch", "-b", metavar="BATCH", help="Samples per iteration.")]
BatchSizes = Annotated[
    list[str] | None, typer.Option("--batch", "-b", metavar="BATCH...", help="Samples per iteration; default: 128.")
]
PrecisionName = Annotated[
    str, typer.Option("--precision", metavar="P", help="Number format: int8, int16, bf16 or fp32.")
]
OptimiserName = Annotated[
    str, typer.Option("--optimiser", metavar="O", help="What updates the weights: sgd, momentum or adam.")
]
Reading = Annotated[
    str,
    typer.Option("--reading", metavar="R", help="Setting of the model's formulas, e.g. published; default: its first."),
]
Objectives = Annotated[
    list[str] | None,
    typer.Option(
        "--objective",
        metavar="O...",
        help="What to minimise: latency, energy, dsp, bram or bandwidth; several give a front. Default: latency.",
    ),
]
Method = Annotated[str, typer.Option("--search", metavar="optuna|exhaustive", help="How to search.")]
SamplerName = Annotated[str, typer.Option("--sampler", metavar="S", help="Optuna sampler, see `dse list samplers`.")]
Trials = Annotated[str, typer.Option("--trials", metavar="N", help="Points that Optuna tries in a cell.")]
Seed = Annotated[str, typer.Option("--seed", metavar="N", help="Seed of the sampler.")]
Jobs = Annotated[str, typer.Option("--jobs", "-j", metavar="N", help="Processes that search cells.")]
NoProve = Annotated[bool, typer.Option("--no-prove", help="Leave the proof of optimality out.")]
ProofLimit = Annotated[
    str,
    typer.Option("--proof-limit", metavar="S", help="Seconds after which the proof of a cell is given up."),
]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for report.html, result.json and the tables.")
]
Force = Annotated[bool, typer.Option("--force", help="Write into an output folder that is not empty.")]
Emit = Annotated[bool, typer.Option("--emit", help="Write the fastest RTL of each task into DIR/rtl.")]
RankLimit = Annotated[
    str,
    typer.Option("--rank-limit", metavar="S", help="Seconds after which the best point as RTL so far is taken."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=N...", help="A hardware parameter, e.g. tm=16; those not set are searched for."
    ),
]
TilingFile = Annotated[
    Path | None, typer.Option("--tiling", metavar="FILE", help="TOML file that fixes tiles of named layers and phases.")
]


def checked(flag: str, value: str, choices: Iterable[str]) -> str:
    """``value`` if it is one of ``choices``. Raises InputError naming ``flag``, value, near miss, choices."""
    known = list(choices)
    if value not in known:
        raise InputError(flag, "unknown value", value, did_you_mean(value, known))
    return value


def whole(flag: str, text: str, minimum: int, maximum: int) -> int:
    """``text`` as a whole number. Raises InputError naming ``flag``, the text and the range."""
    try:
        value = int(text)
    except ValueError:
        value = minimum - 1
    if not minimum <= value <= maximum:
        raise InputError(flag, "must be a whole number", text, f"{minimum} to {maximum}")
    return value


def fraction(flag: str, text: str, minimum: float, maximum: float) -> float:
    """``text`` as a number that may have decimals. Raises InputError naming ``flag``, the text and the range."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not minimum <= value <= maximum:
        raise InputError(flag, "must be a number", text, f"{minimum:g} to {maximum:g}")
    return value


def parameters(settings: Sequence[str]) -> dict[str, int]:
    """``["tm=16", "tn=8"]`` as ``{"tm": 16, "tn": 8}``. Raises InputError for another form or a name given twice."""
    out: dict[str, int] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        try:
            value = int(text)
        except ValueError:
            value = -1
        if not name or not equals or value < 0:
            raise InputError("--set", "must be NAME=NUMBER with a whole number >= 0", setting, "for example tm=16")
        if name in out:
            raise InputError(f"--set {name}", "is given twice", f"{out[name]} and {value}")
        out[name] = value
    return out
