"""Whether a schedule can be true: checked from the graph and the machine alone, with nothing taken from the scheduler.

Every rule is stated here a second time, on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from dse.offload.platform import Platform
from dse.offload.schedule import Run, Schedule, Transfer
from dse.offload.task_graph import Task, TaskGraph

__all__ = ["check_schedule"]

_REL = 1e-9


def check_schedule(graph: TaskGraph, platform: Platform, schedule: Schedule) -> list[str]:
    """What is wrong with ``schedule``, a sentence each; empty where it is sound.

    Every task runs once, on a unit that can run it, for as long and at the power its clock level gives; no unit runs
    two at a time, no link carries two tensors; no task starts before its inputs are in its unit's memory; tensors move
    from where they are, at the link's speed; the cap is never exceeded; time, energy and peak power are what the runs
    add up to.
    """
    slack_s = _REL * max(1e-12, schedule.seconds)
    faults = _tasks(graph, platform, schedule, slack_s)
    if faults:
        return faults
    runs = {run.task: run for run in schedule.runs}
    faults += _overlaps("runs two tasks at", [(r.unit, r.start_s, r.end_s, r.task) for r in schedule.runs], slack_s)
    ends = [(u, t.start_s, t.end_s, t.tensor) for t in schedule.transfers for u in (t.source, t.target)]
    faults += _overlaps("has two transfers on its link at", ends, slack_s)
    faults += _transfers(graph, platform, schedule, runs, slack_s)
    faults += _inputs(graph, schedule, runs, slack_s)
    return faults + _totals(platform, schedule)


def _tasks(graph: TaskGraph, platform: Platform, schedule: Schedule, slack_s: float) -> list[str]:
    names = sorted(run.task for run in schedule.runs)
    if names != sorted(task.name for task in graph.tasks):
        return ["the tasks that run are not those of the graph, each once"]
    faults = []
    hybrid = any(run.unit.startswith("fpga") for run in schedule.runs)
    for run in schedule.runs:
        task = graph.by_name[run.task]
        kind, number = run.unit[:-1].rstrip("0123456789"), run.unit.lstrip("gpufa")
        count = platform.gpus if kind == "gpu" else platform.fpgas
        if kind not in task.costs or int(number) >= count or (kind == "gpu" and int(number) != task.home):
            faults.append(f"{run.task} cannot run on {run.unit}")
        elif (kind == "fpga") != (run.task in schedule.offloaded):
            faults.append(f"{run.task} is on {run.unit} but the schedule says otherwise")
        else:
            faults += _run(task, run, kind, platform, hybrid, slack_s)
    return faults


def _run(task: Task, run: Run, kind: str, platform: Platform, hybrid: bool, slack_s: float) -> list[str]:
    cost = task.costs[kind]
    seconds, watts, peak = cost.seconds, cost.watts, cost.peak_watts
    if kind == "gpu":
        if run.level not in platform.dvfs_levels:
            return [f"{run.task} runs at no level of the GPU"]
        slower = platform.compute_share / run.level + (1 - platform.compute_share)
        seconds = seconds * slower / (platform.contention if hybrid else 1)
        watts, peak = (
            platform.gpu_idle_w + (value - platform.gpu_idle_w) * run.level**platform.dvfs_exponent
            for value in (watts, peak)
        )
    faults = []
    if run.start_s < 0 or abs(run.end_s - run.start_s - seconds) > slack_s:
        faults.append(f"{run.task} takes {run.end_s - run.start_s} s in place of {seconds}")
    if abs(run.watts - watts) > 1e-6 or abs(run.peak_watts - peak) > 1e-6:
        faults.append(f"{run.task} draws {run.watts} W in place of {watts}")
    return faults


def _overlaps(what: str, spans: Iterable[tuple[str, float, float, str]], slack_s: float) -> list[str]:
    faults = []
    last: dict[str, tuple[float, str]] = {}
    for unit, start, end, name in sorted(spans):
        before, other = last.get(unit, (0.0, ""))
        if start < before - slack_s and end > start:
            faults.append(f"{unit} {what} {start} s: {other} and {name}")
        last[unit] = max((before, other), (end, name))
    return faults


def _transfers(
    graph: TaskGraph, platform: Platform, schedule: Schedule, runs: dict[str, Run], slack_s: float
) -> list[str]:
    faults = []
    for transfer in schedule.transfers:
        unit, ready_s, size = _origin(graph, runs, transfer.tensor)
        if transfer.source != unit or transfer.start_s < ready_s - slack_s:
            faults.append(f"{transfer.tensor} leaves {transfer.source} before it is there")
        wanted = platform.link_latency_s + size / platform.link_bytes_per_s
        if transfer.count_bytes != size or abs(transfer.end_s - transfer.start_s - wanted) > slack_s:
            faults.append(f"{transfer.tensor} moves in {transfer.end_s - transfer.start_s} s in place of {wanted}")
    return faults


def _origin(graph: TaskGraph, runs: dict[str, Run], tensor: str) -> tuple[str, float, float]:
    """Where and when a tensor comes to be, and its bytes."""
    if tensor in graph.resident:
        home, size = graph.resident[tensor]
        return f"gpu{home}", 0.0, size
    return runs[tensor].unit, runs[tensor].end_s, graph.by_name[tensor].out_bytes


def _inputs(graph: TaskGraph, schedule: Schedule, runs: dict[str, Run], slack_s: float) -> list[str]:
    arrivals: dict[tuple[str, str], Transfer] = {(t.tensor, t.target): t for t in schedule.transfers}
    faults = []
    for task in graph.tasks:
        run = runs[task.name]
        for source in task.inputs:
            unit, ready_s, size = _origin(graph, runs, source)
            if unit != run.unit and size > 0:
                if (source, run.unit) not in arrivals:
                    faults.append(f"{task.name} needs {source}, which never comes to {run.unit}")
                    continue
                ready_s = arrivals[source, run.unit].end_s
            if run.start_s < ready_s - slack_s:
                faults.append(f"{task.name} starts before {source} is there")
    return faults


def _totals(platform: Platform, schedule: Schedule) -> list[str]:
    """Time, energy and power by integrating over every interval between two events."""
    idle_w = {f"gpu{n}": platform.gpu_idle_w for n in range(platform.gpus)}
    idle_w |= {f"fpga{n}": platform.fpga_idle_w for n in range(platform.fpgas)}
    times = sorted({0.0} | {r.start_s for r in schedule.runs} | {r.end_s for r in schedule.runs})
    energy_j, highest_w = 0.0, platform.host_w + sum(idle_w.values())
    for start, end in pairwise(times):
        middle = (start + end) / 2
        active = {r.unit: r for r in schedule.runs if r.start_s <= middle < r.end_s}
        watts = sum(active[u].watts if u in active else w for u, w in idle_w.items())
        peaks = sum(active[u].peak_watts if u in active else w for u, w in idle_w.items())
        energy_j += (platform.host_w + watts) * (end - start)
        highest_w = max(highest_w, platform.host_w + peaks)
    faults = []
    if abs(schedule.seconds - times[-1]) > _REL * max(1e-12, times[-1]):
        faults.append(f"the step ends at {times[-1]} s, not at {schedule.seconds}")
    if abs(schedule.energy_j - energy_j) > 1e-6 * max(1e-12, energy_j):
        faults.append(f"the runs add up to {energy_j} J, not to {schedule.energy_j}")
    if abs(schedule.peak_w - highest_w) > 1e-6 * highest_w:
        faults.append(f"the highest power is {highest_w} W, not {schedule.peak_w}")
    if highest_w > platform.cap_w * (1 + _REL) + 1e-6:
        faults.append(f"{highest_w} W exceed the cap of {platform.cap_w} W")
    return faults
