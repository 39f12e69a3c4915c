"""The hybrid family against the best of the families that it contains, and against EF-Train's Table 6.

python benchmarks/hybrid.py [NETWORK ...]

Every cell is searched exactly, hybrid for at most LIMIT_S seconds, a family that it contains for as long as hybrid
spends on that part. "gain" is how much less time an iteration takes on the best hybrid point than on the best other.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from figures import Figure, one_core, print_figures, print_table, problem

from dse.devices import load_device
from dse.models.lanes import streaming_dsp
from dse.network import Network
from dse.networks import list_networks, load_network
from dse.networks.graph import INPUT, build_network
from dse.networks.layer_spec import LayerSpec
from dse.registry import family_named
from dse.search import Limits, Problem, exact_search
from dse.workload import Workload, precision_named

BOARDS = ("zcu102", "max5", "u250", "pynq_z1")
BATCHES = (1, 4, 16, 128)
PURE = ("batch", "feature_map", "channel")
LIMIT_S = 60.0
PART_S = 0.2 * LIMIT_S
TABLE_6_CYCLES = 69_295_691
"""EF-Train Table 6, "Our Model": AlexNet's convolutions, batch 4, fp32, 16 x 16 lanes on a ZCU102."""
TABLE_6_DSP = 1280
"""EF-Train section 6.1: five DSP blocks for each of 256 lanes."""


def best(search: Problem, seconds: float) -> tuple[float, str]:
    """Seconds of the best point found (infinite where none fits), and the kind of proof."""
    found = exact_search(search, limits=Limits(time_limit_s=seconds))
    return (float(found.front[0, 0]) if len(found.front) else float("inf")), found.kind


def cell(network: str, board: str, batch_size: int) -> tuple[list[str], float]:
    """The row of one cell, and best hybrid over best pure time (NaN where nothing fits)."""
    times, kinds = zip(
        *(best(problem(family, network, board, batch_size=batch_size), PART_S) for family in PURE),
        best(problem("hybrid", network, board, batch_size=batch_size), LIMIT_S),
        strict=True,
    )
    label = f"{network}, {board}, batch {batch_size}"
    if not np.isfinite(min(times)):
        return [label, *([""] * 5), "nothing fits"], float("nan")
    ratio = times[-1] / min(times[:-1])
    shown = [f"{1e3 * t:.4g}" if np.isfinite(t) else "-" for t in times]
    return [label, *shown, f"{100 * (1 - ratio):.1f} %", " ".join(kinds)], ratio


def convolutions(network: Network) -> Network:
    """The convolutions of a chain and the pooling between them."""
    specs: list[LayerSpec] = []
    for layer in network.layers:
        if layer.op in ("conv", "max_pool"):
            before = specs[-1].name if specs else INPUT
            channels = layer.out_shape[0] if layer.op == "conv" else None
            specs.append(
                LayerSpec(
                    layer.name, layer.op, (before,), out_channels=channels, kernel=layer.kernel, stride=layer.stride,
                    padding=layer.padding,
                )
            )  # fmt: skip
    return build_network(f"{network.name}_convolutions", network.source, network.input_shape, specs, "benchmark")


def table_6() -> list[Figure]:
    """Cycles of AlexNet's convolutions at Table 6's DSPs, against that table."""
    workload = Workload(convolutions(load_network("alexnet")), 4, precision_named("fp32"))
    board = load_device("zcu102")
    width = np.asarray(board.dma_port_bits // workload.precision.bits)
    board = replace(board, dsp=TABLE_6_DSP + int(streaming_dsp(board, workload.precision, width)))
    figures = []
    for reading in ("exact", "prefetch"):
        for name in ("channel", "hybrid"):
            family = family_named(name)
            search = Problem.of(family, workload, board, reading=reading)
            found = exact_search(search, limits=Limits(time_limit_s=LIMIT_S))
            detail = search.evaluate({key: column[:1] for key, column in found.points.items()}, detail=True)
            assert detail.layers is not None
            convs = [number for number, layer in enumerate(workload.network.layers) if layer.op == "conv"]
            below = 1 - float(detail.layers.cycles[0, convs].sum()) / TABLE_6_CYCLES
            limit = 22.0 if (reading, name) == ("exact", "hybrid") else None
            point = " ".join(f"{key}={int(column[0])}" for key, column in found.points.items())
            what = f"cycles below Table 6: {name}, {reading}, {found.kind} ({point})"
            figures.append(Figure(what, 100 * below, "%", limit, at_least=True))
    return figures


def main() -> int:
    one_core()
    rows, ratios = [], []
    for network in sys.argv[1:] or sorted(list_networks()):
        for board in BOARDS:
            for batch_size in BATCHES:
                row, ratio = cell(network, board, batch_size)
                print("  ".join(row), file=sys.stderr, flush=True)
                rows.append(row)
                ratios.append(ratio)
    print("Best time of an iteration in ms, fp32, one core\n")
    print_table(["cell", *PURE, "hybrid", "gain", "proofs"], rows)
    known = np.array(ratios)[np.isfinite(ratios)]
    figures = [
        Figure("largest hybrid time over best other", float(known.max()), "", 1.0),
        Figure("median gain", 100 * float(1 - np.median(known)), "%"),
        Figure("largest gain", 100 * float(1 - known.min()), "%"),
        Figure("cells", float(len(known)), ""),
    ]
    print()
    return print_figures([*figures, *table_6()])


if __name__ == "__main__":
    sys.exit(main())
