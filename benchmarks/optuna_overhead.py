"""Wall time of a sampled sweep over that of bare Optuna with a constant objective.

    python benchmarks/optuna_overhead.py

Both ask for the same number of parameters in batches of the same size, with the same sampler and seed, and take turns.
"""

from __future__ import annotations

import sys
import time
from statistics import median

import optuna
from figures import Figure, one_core, print_figures, print_table, problem

from dse.search import Problem, sampling, search_cell

TRIALS = 1000
REPEATS = 5
LIMITS = {"tpe": 1.2, "nsga2": 2.0, "random": None, "qmc": None}


def bare(sampler: str, parameters: int, seed: int) -> float:
    """Seconds of TRIALS asks and tells."""
    start = time.perf_counter()
    study = optuna.create_study(sampler=sampling._sampler(sampler, seed))
    space: dict[str, optuna.distributions.BaseDistribution] = {
        f"p{number}": optuna.distributions.FloatDistribution(0.0, 1.0) for number in range(parameters)
    }
    for done in range(0, TRIALS, sampling._BATCH[sampler]):
        asked = [study.ask(space) for _ in range(min(sampling._BATCH[sampler], TRIALS - done))]
        for trial in asked:
            study.tell(trial, 0.0)
    return time.perf_counter() - start


def swept(search: Problem, sampler: str, seed: int) -> float:
    """Seconds of a cell of TRIALS trials, from the space to the winner, without a proof."""
    start = time.perf_counter()
    search_cell(search.model, search.workload, search.device, sampler=sampler, trials=TRIALS, seed=seed, prove=False)
    return time.perf_counter() - start


def main() -> int:
    one_core()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = problem("batch", "vgg_cifar10", "max5", precision="int8")
    parameters = sum(len(p.values) > 1 for p in search.space.parameters)
    rows, figures = [], []
    for sampler, limit in LIMITS.items():
        pairs = [(swept(search, sampler, seed), bare(sampler, parameters, seed)) for seed in range(REPEATS)]
        ours, theirs = (median(column) for column in zip(*pairs, strict=True))
        ratio = median(mine / other for mine, other in pairs)
        rows.append([sampler, f"{ours:.3f}", f"{theirs:.3f}", f"{TRIALS / ours:.0f}", f"{ratio:.3f}"])
        figures.append(Figure(f"{sampler}: sweep over bare Optuna", ratio, "x", limit))
    print(f"{TRIALS} trials, batch, vgg_cifar10, max5, int8; medians of {REPEATS} turns, one core\n")
    print_table(["sampler", "sweep s", "bare s", "trials/s", "ratio"], rows)
    print()
    return print_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
