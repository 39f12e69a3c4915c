"""``dse emit``: the RTL of a point that a sweep found, with scripts for simulation and synthesis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.guard import OK
from dse.cli.options import Force, Json, whole
from dse.cli.output import print_json
from dse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dse.device import Device
    from dse.emit import Choice, Design, Ranking
    from dse.emit.files import Written
    from dse.network import Network
    from dse.results import Cell, ResultSet

__all__ = ["check_rtl", "emit", "emit_winners"]

_POINT = "best, front-N, paper-N, or N, a row of the cell in points.parquet."
_CELL = "Number of the cell, from 0, where the sweep had several tasks."

Target = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the RTL and its scripts.")]


def emit(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder or result.json that dse sweep wrote.")],
    output: Target,
    point: Annotated[str, typer.Option("--point", metavar="ID", help=_POINT)] = "best",
    cell: Annotated[str, typer.Option("--cell", metavar="N", help=_CELL)] = "",
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Write the RTL of a point: sources, top, file lists, scripts for Vivado, Yosys and FuseSoC, its prediction."""
    from dse.emit import Ranking, choose, design_of, rank, winners
    from dse.emit import emit as write
    from dse.store import load

    found = load(result)
    if cell or point != "best":
        choice = choose(found, whole("--cell", cell, 0, 10**6) if cell else None, point)
        ranking = Ranking((design_of(choice, *_inputs(choice, found)),), ())
    else:
        ranking = rank(winners(found), lambda choice: _inputs(choice, found))
    design = ranking.best
    written = write(design, output, force)
    if as_json:
        changed = [name for name, new in written.items() if new]
        content = {key: value for key, value in design.content().items() if key in _SHOWN}
        content["estimated_resources"] = design.prediction["resources"]
        print_json({"design": content, "folder": str(output), "files": list(written), "written": changed})
    else:
        print(_others(ranking) + _summary(design, written, output))
    return OK


def _others(ranking: Ranking) -> str:
    """What else could have been emitted, and why not: a line each."""
    lines = [f"not emitted: {error}" for error in ranking.refused]
    ours = 1e3 * ranking.best.predicted_s
    for design in ranking.designs[1:]:
        theirs = 1e3 * design.predicted_s
        lines.append(
            f"not emitted: {design.family}, predicted {theirs:.4g} ms an iteration as RTL, against {ours:.4g} ms"
        )
    return "".join(f"{line}\n" for line in lines)


_SHOWN = ("family", "reading", "batch_size", "precision", "point", "parameters", "resources", "resized")


def check_rtl(precision: str) -> None:
    """Raises InputError, before an hour of search, for a precision that no RTL has."""
    from dse.emit.parameters import INTEGERS

    if precision not in INTEGERS:
        allowed = f"--precision {' or '.join(INTEGERS)}"
        raise InputError("--emit", "the RTL has integer lanes only", f"--precision {precision}", allowed)


def emit_winners(
    result: ResultSet, networks: Mapping[str, Network], boards: Mapping[str, Device], folder: Path
) -> tuple[dict[str, str], list[InputError]]:
    """Write a winner of every network, board and batch size into a folder of its own: the fastest as RTL.

    Returns what was written -> its path, and why better points were not.
    """
    from dse.emit import emit as write
    from dse.emit import rank, winners

    files: dict[str, str] = {}
    refused: list[InputError] = []
    tasks: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in result.cells:
        if cell.best is not None:
            tasks.setdefault((cell.network, cell.device, cell.batch_size), []).append(cell)
    for (network, device, batch_size), cells in tasks.items():
        choices = winners(replace(result, cells=tuple(cells)))
        ranking = rank(choices, lambda choice: (networks[choice.cell.network], boards[choice.cell.device]))
        refused += ranking.refused
        if ranking.designs:
            name = f"{network}-{device}-{batch_size}"
            write(ranking.best, folder / name, force=True)
            files[f"rtl {name}"] = str(folder / name)
    return files, refused


def _inputs(choice: Choice, result: ResultSet) -> tuple[Network, Device]:
    """The network and the board as they were when the sweep ran."""
    from dse.devices import load_device
    from dse.networks import load_network

    cell = choice.cell
    network = load_network(cell.network_reference or cell.network)
    device = load_device(cell.device_reference or cell.device)
    for item in (network, device):
        known = result.run.inputs.get(item.name)
        if known is not None and known != item.digest:
            rule = "is not the file that the sweep read: run the sweep again"
            raise InputError(item.path or item.name, rule, item.digest[:12], known[:12])
    return network, device


def _summary(design: Design, written: Written, output: Path) -> str:
    values = ", ".join(f"{name}={value}" for name, value in design.parameters.items())
    changed = sum(written.values())
    return (
        f"{design.title}\n  RTL        {values}\n{_resources(design)}{_training(design)}"
        f"  files      {len(written)} in {output}, {changed} written, {len(written) - changed} unchanged\n"
        f"  next       dse verify {output}{' --train 50' if design.schedule else ''}"
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
