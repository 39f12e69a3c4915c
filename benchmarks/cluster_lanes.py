"""DSP blocks of all engines at a throughput with divisors as lanes, lanes of any number, and lanes along rows too.

``python benchmarks/cluster_lanes.py``: on NADA's boards, each layer's engine by itself, as cheap as RAM would allow.
"""

from __future__ import annotations

from figures import print_table

from dse.cluster.planner import demand_table
from dse.cluster.unrolling import frontier

CASES = (
    ("vgg16", 20), ("nada_example", 1140), ("resnet50", 50), ("mobilenet_v2", 400), ("bert_base", 20),
    ("resnet18", 100), ("alexnet", 100), ("lenet10", 9000), ("cnn_1x", 1000),
)  # fmt: skip
KINDS = {"any number": (1, 1, True), "and 8 rows": (8, 1, True), "and 4 frames": (8, 4, True)}
"""Title -> rows, frames, and whether lanes may have any number."""


def blocks(network: str, fps: float, rows: int, samples: int, hybrid: bool) -> float:
    """DSP blocks of all layers with multiply-accumulates at ``fps``."""
    table = demand_table(network, "nada", nodes=1)[1]
    total, limit = 0.0, table.cluster.nodes[0].clock_hz / fps
    for bounds in table.bounds.values():
        found = frontier(bounds, table.operators[0], rows, samples, hybrid=hybrid)
        total += float(found.dsp[found.at(limit)])
    return total


def main() -> None:
    rows = []
    for network, fps in CASES:
        divisors = blocks(network, fps, 1, 1, False)
        cells = [f"{blocks(network, fps, *kind) / divisors - 1:+.1%}" for kind in KINDS.values()]
        rows.append((network, f"{fps:,}", f"{divisors:,.0f}", *cells))
    print_table(("network", "fps", "divisors", *KINDS), rows)


if __name__ == "__main__":
    main()
