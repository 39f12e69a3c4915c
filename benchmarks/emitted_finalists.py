"""What is gained by ranking evaluated points by their schedules, and not the families' winners alone; int8.

python benchmarks/emitted_finalists.py [--prove] [--trials N] [--batch N] [--together] [--board BOARD ...] [NETWORK ...]

Of every family, and of all together (--together: of these only): milliseconds of an iteration by the schedule of the
winner that is the fastest so, and the share of them that is left with 8, 32, 128 and 512 points of a family, and with
the neighbours of the best. All are predictions for an ideal memory, which `dse verify --train` compares with
simulation. Exits 1 if a share is above 1.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence

from figures import print_table

import dse
from dse.emit import rank, task
from dse.errors import InputError
from dse.results import Cell, ResultSet

NETWORKS = (
    "cnn_1x", "lenet10", "shapes_cnn", "shapes_residual", "shapes_separable", "resnet20_cifar10", "nada_demo",
)  # fmt: skip
BOARDS = ("zcu102", "pynq_z1", "ultra96")
COUNTS = (8, 32, 128, 512)
HEAD = (
    "network", "board", "family", "winner ms", *map(str, COUNTS), "with near", "predicted", "excluded", "open", "s",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", default=NETWORKS)
    parser.add_argument("--board", nargs="+", default=BOARDS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--prove", action="store_true")
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--together", action="store_true")
    arguments = parser.parse_args()
    worse = False
    for network in arguments.networks:
        for board in arguments.board:
            result = dse.sweep(
                [network], [board], batch_sizes=[arguments.batch], precision="int8", jobs=arguments.jobs,
                prove=arguments.prove, trials=arguments.trials,
            )  # fmt: skip
            rows = compared(result, arguments.together)
            print_table(HEAD, [[text(value) for value in row] for row in rows])
            worse |= any(share > 1 for row in rows for share in row[4 : 5 + len(COUNTS)] if isinstance(share, float))
    return int(worse)


def compared(result: ResultSet, together: bool) -> list[list[object]]:
    """A row for all families, and unless ``together`` one for each."""
    try:
        cells = task(result)
    except InputError as error:
        return [["", "", "none", str(error), *[""] * (len(HEAD) - 4)]]
    groups = [*((cell.family, [cell]) for cell in cells if not together), ("all", cells)]
    return [row(family, group) for family, group in groups]


def row(family: str, cells: Sequence[Cell]) -> list[object]:
    network, device = dse.load_network(cells[0].network), dse.load_device(cells[0].device)
    shares = []
    for count in COUNTS:
        found = rank(cells, network, device, finalists_per_family=count, climbs=False)
        shares.append(1 - found.gain)
    started = time.perf_counter()
    found = rank(cells, network, device)
    seconds = time.perf_counter() - started
    winner = 1e3 * found.winner.predicted_s if found.winner else math.nan
    counts = (len(found.ranked), found.excluded, found.open)
    return [network.name, device.name, family, winner, *shares, 1 - found.gain, *counts, seconds]


def text(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
