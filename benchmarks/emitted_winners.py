"""Which winners of a sweep become RTL: every network that the engine can run, three boards, all families, int8.

python benchmarks/emitted_winners.py [--jobs N] [--no-prove] [--trials N] [NETWORK ...]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace

from figures import print_table

import dse
from dse.emit import choose, design_of
from dse.engine.layers import engine_layers
from dse.errors import InputError
from dse.networks import list_networks
from dse.results import Cell, ResultSet

BOARDS = ("zcu102", "max5", "pynq_z1")
BATCH_SIZES = (4, 16)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="default: all that the engine can run")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--no-prove", action="store_true")
    parser.add_argument("--trials", type=int, default=500)
    arguments = parser.parse_args()
    counts: Counter[tuple[str, str, str]] = Counter()
    for network in arguments.networks or runnable():
        result = dse.sweep(
            [network], BOARDS, batch_sizes=BATCH_SIZES, precision="int8", jobs=arguments.jobs,
            prove=not arguments.no_prove, trials=arguments.trials,
        )  # fmt: skip
        for cell in result.cells:
            outcome, detail = emitted(result, cell)
            counts[cell.family, cell.device, outcome] += 1
            print(f"{network:16}{cell.device:9}{cell.family:13}{cell.batch_size:3}  {outcome:12}{detail}", flush=True)
    outcomes = sorted({outcome for _, _, outcome in counts})
    groups = sorted({(family, board) for family, board, _ in counts})
    rows = [[*group, *(str(counts[*group, outcome]) for outcome in outcomes)] for group in groups]
    print()
    print_table(["family", "board", *outcomes], rows)
    return 0


def runnable() -> list[str]:
    """Shipped networks whose multiplying layers the engine has."""
    names = []
    for name in list_networks():
        try:
            engine_layers(dse.load_network(name), 1)
        except InputError as error:
            print(f"{name}: {error}", flush=True)
        else:
            names.append(name)
    return names


def emitted(result: ResultSet, cell: Cell) -> tuple[str, str]:
    """What becomes of a cell's winner, and how or why."""
    if cell.best is None:
        return "no winner", "nothing fits the board"
    try:
        choice = choose(replace(result, cells=(cell,)))
        design = design_of(choice, dse.load_network(cell.network), dse.load_device(cell.device))
    except InputError as error:
        return "refused", str(error)
    changes = "; ".join(map(str, design.resized))
    return ("resized", changes) if changes else ("as it is", "")


if __name__ == "__main__":
    sys.exit(main())
