"""What no schedule can undercut: the step's least time and least energy, whatever is offloaded."""

from __future__ import annotations

from dataclasses import dataclass

from dse.offload.placement import Mode, modes_of
from dse.offload.platform import Platform
from dse.offload.schedule import units_of
from dse.offload.task_graph import TaskGraph

__all__ = ["LowerBound", "lower_bound"]


@dataclass(frozen=True, slots=True)
class LowerBound:
    """Seconds and joules a step."""

    seconds: float
    energy_j: float


def lower_bound(graph: TaskGraph, platform: Platform) -> LowerBound:
    """Transfers free, the cap lifted, work divisible at will between the units of its kinds.

    Time: the longest path with each task at its fastest, and the balanced load of GPUs and FPGAs, whichever is longer.
    Energy: idle power for that time, and for each task the least energy above idle of any device and clock level.
    """
    choices = [_choices(graph, platform, number) for number in range(len(graph.tasks))]
    seconds = max(_longest_path(graph, choices), _balanced_load(platform, choices))
    idle_w = {"gpu": platform.gpu_idle_w, "fpga": platform.fpga_idle_w}
    above_j = sum(
        min((mode.watts - idle_w[kind]) * mode.seconds for kind, modes in kinds.items() for mode in modes)
        for kinds in choices
    )
    return LowerBound(seconds, seconds * (platform.host_w + sum(units_of(platform).values())) + above_j)


def _choices(graph: TaskGraph, platform: Platform, number: int) -> dict[str, tuple[Mode, ...]]:
    task = graph.tasks[number]
    kinds = [kind for kind in task.costs if kind == "gpu" or platform.fpgas]
    return {kind: modes_of(task, kind, platform, hybrid=platform.fpgas > 0) for kind in kinds}


def _fastest(modes: tuple[Mode, ...]) -> float:
    return modes[0].seconds


def _longest_path(graph: TaskGraph, choices: list[dict[str, tuple[Mode, ...]]]) -> float:
    ends = dict.fromkeys(graph.resident, 0.0)
    for task, kinds in zip(graph.tasks, choices, strict=True):
        ends[task.name] = max((ends[source] for source in task.inputs), default=0.0) + min(
            map(_fastest, kinds.values())
        )
    return max(ends.values(), default=0.0)


def _balanced_load(platform: Platform, choices: list[dict[str, tuple[Mode, ...]]]) -> float:
    """The least of max(GPU work / GPUs, FPGA work / FPGAs) tasks divisible: those that suit FPGAs best first."""
    gpu_s = sum(_fastest(kinds["gpu"]) for kinds in choices if "gpu" in kinds) / platform.gpus
    count = max(platform.fpgas, 1)
    fpga_s = sum(_fastest(kinds["fpga"]) for kinds in choices if "gpu" not in kinds) / count
    both = [(_fastest(k["gpu"]) / platform.gpus, _fastest(k["fpga"]) / count) for k in choices if len(k) == 2]
    for on_gpu, on_fpga in sorted(both, key=lambda pair: pair[1] / pair[0] if pair[0] else float("inf")):
        if fpga_s + on_fpga >= gpu_s - on_gpu:
            share = (gpu_s - fpga_s) / (on_gpu + on_fpga) if on_gpu + on_fpga else 0.0
            return max(gpu_s - max(share, 0.0) * on_gpu, 0.0) if gpu_s > fpga_s else fpga_s
        gpu_s, fpga_s = gpu_s - on_gpu, fpga_s + on_fpga
    return max(gpu_s, fpga_s)
