"""``dse emit``: the RTL of a point that a sweep found, with scripts for simulation and synthesis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.guard import OK
from dse.cli.options import Force, Json, whole
from dse.cli.output import print_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dse.device import Device
    from dse.emit import Choice, Design
    from dse.emit.files import Written
    from dse.network import Network
    from dse.results import ResultSet

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
    from dse.emit import choose, design_of
    from dse.emit import emit as write
    from dse.store import load

    found = load(result)
    choice = choose(found, whole("--cell", cell, 0, 10**6) if cell else None, point)
    design = design_of(choice, *_inputs(choice, found))
    written = write(design, output, force)
    if as_json:
        changed = [name for name, new in written.items() if new]
        content = {key: value for key, value in design.content().items() if key in _SHOWN}
        print_json({"design": content, "folder": str(output), "files": list(written), "written": changed})
    else:
        print(_summary(design, written, output))
    return OK


_SHOWN = ("family", "reading", "batch_size", "precision", "point", "parameters")


def check_rtl(precision: str) -> None:
    """Raises InputError, before an hour of search, for a precision that no RTL has."""
    from dse.emit.parameters import INTEGERS
    from dse.errors import InputError

    if precision not in INTEGERS:
        allowed = f"--precision {' or '.join(INTEGERS)}"
        raise InputError("--emit", "the RTL has integer lanes only", f"--precision {precision}", allowed)


def emit_winners(
    result: ResultSet, networks: Mapping[str, Network], boards: Mapping[str, Device], folder: Path
) -> dict[str, str]:
    """Write the best point of every network, board and batch size into a folder of its own; what it is -> its path."""
    from dse.emit import choose, design_of
    from dse.emit import emit as write

    tasks = dict.fromkeys((c.network, c.device, c.batch_size) for c in result.cells if c.best is not None)
    files = {}
    for network, device, batch_size in tasks:
        cells = tuple(c for c in result.cells if (c.network, c.device, c.batch_size) == (network, device, batch_size))
        target = folder / f"{network}-{device}-{batch_size}"
        design = design_of(choose(replace(result, cells=cells)), networks[network], boards[device])
        write(design, target, force=True)
        files[f"rtl {target.name}"] = str(target)
    return files


def _inputs(choice: Choice, result: ResultSet) -> tuple[Network, Device]:
    """The network and the board as they were when the sweep ran."""
    from dse.devices import load_device
    from dse.errors import InputError
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
        f"{design.title}\n  RTL        {values}\n"
        f"  files      {len(written)} in {output}, {changed} written, {len(written) - changed} unchanged\n"
        f"  next       dse verify {output}"
    )
