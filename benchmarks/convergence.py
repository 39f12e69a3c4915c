"""How far sampled searches end above the proven optimum.

    python benchmarks/convergence.py [--seeds 10]

Each figure is of searches of that many trials, which start with the papers' designs.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median

from figures import Figure, one_core, print_figures, print_table, problem

from dse.search import SAMPLERS, Problem, exact_search, front_gap, optuna_search

TRIALS = (50, 100, 200, 500)
LIMIT = 0.01
CELLS = (
    ("channel", "alexnet", "zcu102", 4, "fp32"),
    ("feature_map", "cnn_1x", "zcu102", 128, "fp32"),
    ("batch", "vgg_cifar10", "max5", 128, "int8"),
    ("hybrid", "lenet10", "pynq_z1", 16, "fp32"),
    ("hybrid", "cnn_1x", "zcu102", 4, "fp32"),
)


def gaps(search: Problem, sampler: str, trials: int, seeds: int) -> list[float]:
    """found / optimum - 1 for each seed."""
    optimum = exact_search(search).front
    found = [optuna_search(search, sampler=sampler, trials=trials, seed=seed) for seed in range(seeds)]
    return [front_gap(result.values[result.feasible], optimum) for result in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="searches for each figure")
    seeds = parser.parse_args().seeds
    one_core()
    figures = []
    for family, network, device, batch_size, precision in CELLS:
        search = problem(family, network, device, batch_size=batch_size, precision=precision)
        rows = []
        for sampler in SAMPLERS:
            row = [sampler]
            for trials in TRIALS:
                found = gaps(search, sampler, trials, seeds)
                row.append(f"{median(found):.2%} ({max(found):.2%})")
            rows.append(row)
            if sampler == "tpe":
                what = (
                    f"{family}, {network}, {device}: seeds within {LIMIT:.0%} by tpe in {TRIALS[-1]} trials, of {seeds}"
                )
                close = sum(gap <= LIMIT for gap in found)
                limit = None if family == "hybrid" else 0.9 * seeds  # its spaces are too large to enumerate
                figures.append(Figure(what, close, "", limit, at_least=True))
        print(f"{family}, {network}, {device}, {precision}, batch {batch_size}: median (worst) gap of {seeds} seeds\n")
        print_table(["sampler", *(f"{trials} trials" for trials in TRIALS)], rows)
        print()
    return print_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
