"""Seconds to the proven fastest accelerator, whole space, one core.

python benchmarks/proven_optimum.py
"""

from __future__ import annotations

import sys

from figures import Figure, one_core, print_figures, print_table, problem

from dse.errors import InputError
from dse.search import Limits, exact_search

LIMIT_S = 10.0
GIVE_UP = Limits(time_limit_s=60.0)
CELLS = (
    ("channel", "alexnet", "zcu102", 4),
    ("channel", "alexnet", "zcu102", 128),
    *(
        (family, "alexnet", device, 4 if device == "pynq_z1" else 128)
        for device in ("zcu102", "max5", "u250", "pynq_z1")
        for family in ("batch", "feature_map", "channel")
        if (family, device) != ("channel", "zcu102")
    ),
    *(
        (family, network, "zcu102", 4)
        for network in ("vgg16", "resnet50", "mobilenet_v2")
        for family in ("batch", "feature_map", "channel")
    ),
)


def main() -> int:
    one_core()
    rows, figures = [], []
    for family, network, device, batch_size in CELLS:
        label = [f"{family}, {network}, {device}, batch {batch_size}"]
        try:
            result = exact_search(problem(family, network, device, batch_size=batch_size), limits=GIVE_UP)
        except InputError as error:
            rows.append([*label, "", "", "", str(error), ""])
            continue
        best = f"{result.front[0, 0]:.6g}" if len(result.front) else "nothing fits"
        spent = f"{result.seconds:.2f}"
        rows.append([*label, f"{result.space_size:.3g}", f"{result.evaluated:,}", spent, result.kind, best])
        if (family, network, device) == ("channel", "alexnet", "zcu102"):
            proven = result.seconds if result.kind != "none" else float("inf")
            figures.append(Figure(label[0], proven, "s", LIMIT_S))
    print("Proven optimum of latency, fp32, one core\n")
    print_table(["cell", "space", "evaluated", "s", "proof", "s/iteration"], rows)
    print()
    return print_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
