"""How fast training steps are scheduled, and how near to the bound the search ends: ResNet-50's tasks, on one core.

python benchmarks/offload_schedule.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from figures import Figure, one_core, print_figures

from dse.networks import load_network
from dse.offload import Platform, check_schedule, list_schedule, load_profile, simulate
from dse.offload.gpu_model import load_gpu
from dse.offload.scenario import training_scenario
from dse.workload import Workload, precision_named


def seconds_of(work: Callable[[], object], times: int) -> float:
    work()
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def main() -> int:
    one_core()
    workload = Workload(load_network("resnet50"), 256, precision_named("fp32"))
    graph = training_scenario(workload, load_gpu("v100"), load_profile("hype_table1")).graph
    machine = Platform(fpga_idle_w=13.0)
    offloaded = graph.candidates[::2]
    schedule = list_schedule(graph, machine, offloaded)
    assert schedule is not None
    one = seconds_of(lambda: list_schedule(graph, machine, offloaded), 30)
    path = seconds_of(lambda: graph.critical_path(offloaded), 10)
    check = seconds_of(lambda: check_schedule(graph, machine, schedule), 3)
    free = Platform(fpga_idle_w=13.0, link_bytes_per_s=float("inf"))
    found = [simulate(graph, free, evaluations=count) for count in (200, 1000)]
    gaps = [s.plan.schedule.energy_j / s.bound.energy_j - 1 for s in found if s.plan.schedule is not None]
    return print_figures(
        [
            Figure("tasks", len(graph.tasks), ""),
            Figure("a schedule", one * 1e3, "ms"),
            Figure("a schedule over the longest path", one / path, "", 5.0),
            Figure("a check over a schedule", check / one, "", 5.0),
            Figure("energy above the bound, 200 assignments", 100 * gaps[0], "%", 20.0),
            Figure("energy above the bound, 1000 assignments", 100 * gaps[1], "%", 15.0),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
