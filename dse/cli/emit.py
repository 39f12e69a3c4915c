"""``dse emit``: the RTL of a point that a sweep found, with scripts for simulation and synthesis."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.emit_text import print_ranking, summary
from dse.cli.guard import INTERRUPTED, OK
from dse.cli.options import MAX_SECONDS, Force, Json, RankLimit, whole
from dse.cli.output import print_json
from dse.cli.progress import step_bar
from dse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dse.device import Device
    from dse.emit import Ranking
    from dse.network import Network
    from dse.results import Cell, ResultSet

__all__ = ["Emitted", "check_rtl", "emit", "emit_fastest"]

FASTEST = "fastest"
"""What ``--point`` takes for the best of a ranking."""

_POINT = "fastest as RTL, best of the search, front-N, paper-N, or N, a row of the cell in points.parquet."
_CELL = "Number of the cell, from 0, where the sweep had several tasks."

Target = Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the RTL and its scripts.")]


def emit(
    result: Annotated[Path, typer.Argument(metavar="RESULT", help="Folder or result.json that dse sweep wrote.")],
    output: Target,
    point: Annotated[str, typer.Option("--point", metavar="ID", help=_POINT)] = FASTEST,
    cell: Annotated[str, typer.Option("--cell", metavar="N", help=_CELL)] = "",
    rank_limit: RankLimit = "60",
    force: Force = False,
    as_json: Json = False,
) -> int:
    """Write the RTL of a point: sources, top, file lists, scripts for Vivado, Yosys and FuseSoC, its prediction."""
    from dse.emit import choose, design_of, rank, task
    from dse.emit import emit as write
    from dse.store import load

    limit_s = whole("--rank-limit", rank_limit, 1, MAX_SECONDS)
    found = load(result)
    number = whole("--cell", cell, 0, 10**6) if cell else None
    ranking = None
    if point == FASTEST:
        cells = task(found, number)
        inputs = _inputs(cells[0], found)
        with step_bar("comparing points as RTL") as report:
            ranking = rank(cells, *inputs, limit_s=limit_s, on_progress=report)
        design = ranking.design(*inputs)
    else:
        choice = choose(found, number, point)
        design = design_of(choice, *_inputs(choice.cell, found))
    written = write(design, output, force)
    if as_json:
        changed = [name for name, new in written.items() if new]
        content = {key: value for key, value in design.content().items() if key in _SHOWN}
        content["estimated_resources"] = design.prediction["resources"]
        print_json({"design": content, "folder": str(output), "files": list(written), "written": changed})
    else:
        if ranking:
            print("".join(f"not emitted: {error}\n" for error in ranking.refused), end="")
            print_ranking(ranking)
        print(summary(design, written, output))
    return INTERRUPTED if ranking and ranking.stopped == "interrupt" else OK


_SHOWN = ("family", "reading", "batch_size", "precision", "point", "parameters", "resources", "resized", "ranking")


def check_rtl(precision: str) -> None:
    """Raises InputError, before an hour of search, for a precision that no RTL has."""
    from dse.emit.parameters import INTEGERS

    if precision not in INTEGERS:
        allowed = f"--precision {' or '.join(INTEGERS)}"
        raise InputError("--emit", "the RTL has integer lanes only", f"--precision {precision}", allowed)


@dataclass
class Emitted:
    """What ``emit_fastest`` did: task -> where its RTL is and how points were ranked, and why there is none."""

    folders: dict[str, Path] = field(default_factory=dict)
    rankings: dict[str, Ranking] = field(default_factory=dict)
    refused: list[tuple[str, InputError]] = field(default_factory=list)
    interrupted: bool = False


def emit_fastest(
    result: ResultSet,
    networks: Mapping[str, Network],
    boards: Mapping[str, Device],
    folder: Path,
    limit_s: float,
    quiet: bool,
) -> Emitted:
    """Write the fastest point as RTL of every network, board and batch size into a folder of its own."""
    from dse.emit import emit as write
    from dse.emit import rank, task

    done = Emitted()
    tasks: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in result.cells:
        if cell.best is not None:
            tasks.setdefault((cell.network, cell.device, cell.batch_size), []).append(cell)
    for (network, device, batch_size), cells in tasks.items():
        name, inputs = f"{network}-{device}-{batch_size}", (networks[network], boards[device])
        with nullcontext() if quiet else step_bar(f"{name}: comparing points as RTL") as report:
            ranking = rank(task(replace(result, cells=tuple(cells))), *inputs, limit_s=limit_s, on_progress=report)
        done.refused += [(name, error) for error in ranking.refused]
        if ranking.ranked:
            write(ranking.design(*inputs), folder / name, force=True)
            done.folders[name], done.rankings[name] = folder / name, ranking
        done.interrupted = ranking.stopped == "interrupt"
        if done.interrupted:
            break
    return done


def _inputs(cell: Cell, result: ResultSet) -> tuple[Network, Device]:
    """The network and the board as they were when the sweep ran."""
    from dse.devices import load_device
    from dse.networks import load_network

    network = load_network(cell.network_reference or cell.network)
    device = load_device(cell.device_reference or cell.device)
    for item in (network, device):
        known = result.run.inputs.get(item.name)
        if known is not None and known != item.digest:
            rule = "is not the file that the sweep read: run the sweep again"
            raise InputError(item.path or item.name, rule, item.digest[:12], known[:12])
    return network, device
