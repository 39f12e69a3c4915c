"""The chosen assignment against every assignment, and list scheduling against every order of small graphs."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import pytest

from dse.errors import InputError
from dse.offload import Cost, Platform, Task, TaskGraph, check_schedule, choose, list_schedule
from dse.offload.assignment import EXHAUSTIVE, cost_key, gpu_only
from tests.offload.made_graphs import random_graph, random_machine


def every_assignment(graph: TaskGraph, machine: Platform, goal: str) -> tuple[float, float, float]:
    """The least key of all assignments."""
    baseline = gpu_only(graph, machine)
    limit = baseline.seconds if baseline is not None else math.inf
    names = graph.candidates
    subsets = itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(len(names) + 1))
    return min(cost_key(goal, list_schedule(graph, machine, chosen), limit) for chosen in subsets)


@pytest.mark.parametrize("goal", ["energy", "cap"])
def test_small_graphs_get_the_best_of_all_assignments(goal: str) -> None:
    for seed in range(40):
        graph, machine = random_graph(seed, 8), random_machine(seed)
        plan = choose(graph, machine, goal)
        assert plan.proof == "exhaustive"
        baseline = plan.baseline.seconds if plan.baseline else math.inf
        assert cost_key(goal, plan.schedule, baseline) == pytest.approx(every_assignment(graph, machine, goal))


def test_larger_graphs_come_near_the_best_of_all_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hill climbing on graphs that exhaustive search can still check: 9 of 10 within 1 %."""
    monkeypatch.setattr("dse.offload.assignment.EXHAUSTIVE", 0)
    gaps = []
    for seed in range(40):
        graph, machine = random_graph(seed, 9), dataclasses.replace(random_machine(seed), cap_w=math.inf)
        plan = choose(graph, machine)
        assert plan.proof == "none" or not graph.candidates
        assert plan.schedule is not None
        assert plan.baseline is not None
        found = cost_key("energy", plan.schedule, plan.baseline.seconds)
        best = every_assignment(graph, machine, "energy")
        assert found[0] == best[0]
        gaps.append(found[1] / best[1] - 1 if best[1] else 0.0)
    assert sorted(gaps)[36] <= 0.01
    assert max(gaps) <= 0.10


def serial_optimum(graph: TaskGraph, machine: Platform) -> float:
    """The shortest step over every assignment and every order of starting tasks, transfers free.

    Every active schedule is the serial one of some order, and one of them is optimal.
    """
    best = math.inf
    names = [task.name for task in graph.tasks]
    for size in range(len(graph.candidates) + 1):
        for chosen in map(set, itertools.combinations(graph.candidates, size)):
            for order in itertools.permutations(names):
                best = min(best, _serial(graph, machine, chosen, order))
    return best


def _serial(graph: TaskGraph, machine: Platform, chosen: set[str], order: tuple[str, ...]) -> float:
    free = {"gpu": 0.0, "fpga": 0.0}
    ends = dict.fromkeys(graph.resident, 0.0)
    for name in order:
        task = graph.by_name[name]
        if any(source not in ends for source in task.inputs):
            return math.inf
        kind = "fpga" if name in chosen else "gpu"
        seconds = task.costs[kind].seconds / (machine.contention if kind == "gpu" and chosen else 1)
        start = max([free[kind], *(ends[source] for source in task.inputs)])
        free[kind] = ends[name] = start + seconds
    return max(free.values())


def test_list_scheduling_against_every_order() -> None:
    """Six tasks, every order and assignment: list scheduling is optimal in most cases and never far."""
    ratios = []
    for seed in range(25):
        graph = random_graph(seed, 5, both=0.6)
        machine = Platform(link_bytes_per_s=math.inf, contention=1.2 if seed % 2 else 1.0)
        plan = choose(graph, machine, "cap")
        assert plan.schedule is not None
        optimum = serial_optimum(graph, machine)
        assert plan.schedule.seconds >= optimum * (1 - 1e-9)
        ratios.append(plan.schedule.seconds / optimum if optimum else 1.0)
    assert sum(ratio <= 1 + 1e-9 for ratio in ratios) >= 22
    assert max(ratios) <= 1.1


def test_energy_is_never_bought_with_time() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        graph = random_graph(seed, 20, gpus=draw.randint(1, 2))
        machine = dataclasses.replace(random_machine(seed, 2), cap_w=math.inf)
        plan = choose(graph, machine, evaluations=60)
        assert plan.schedule is not None
        assert plan.baseline is not None
        assert check_schedule(graph, machine, plan.schedule) == []
        if plan.baseline.seconds:
            assert plan.throughput_ratio >= 1 - 1e-6
        assert plan.evaluated <= (2**EXHAUSTIVE if plan.proof == "exhaustive" else 61)


def test_a_cap_below_what_the_gpu_needs_forces_work_to_the_fpga() -> None:
    graph = TaskGraph(
        (
            Task("hot", {"gpu": Cost(1.0, 280, 300), "fpga": Cost(2.0, 60, 60)}),
            Task("cold", {"gpu": Cost(1.0, 90, 100)}, ("hot",)),
        )
    )
    plan = choose(graph, Platform(cap_w=200.0), "cap")
    assert plan.baseline is None
    assert plan.schedule is not None
    assert plan.schedule.offloaded == {"hot"}
    assert math.isnan(plan.throughput_ratio)
    nothing = choose(graph, Platform(cap_w=90.0), "cap")
    assert nothing.schedule is None


def test_without_fpgas_the_plan_is_the_baseline() -> None:
    graph = random_graph(3, 10)
    plan = choose(graph, Platform(fpgas=0))
    assert plan.schedule == plan.baseline
    assert plan.energy_ratio == plan.throughput_ratio == 1


def test_progress_is_told_and_an_interrupt_keeps_the_best() -> None:
    graph, machine = random_graph(1, 30), Platform(fpga_idle_w=5.0)
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if done == 5:
            raise KeyboardInterrupt

    plan = choose(graph, machine, evaluations=50, progress=stop)
    assert plan.interrupted
    assert plan.schedule is not None
    assert told == [(n, 50) for n in range(1, 6)]


def test_an_unknown_goal_is_refused() -> None:
    with pytest.raises(InputError, match="goal: unknown goal; got 'enrgy'; allowed: did you mean 'energy'"):
        choose(random_graph(1, 2), Platform(), "enrgy")
