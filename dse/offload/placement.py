"""Which unit runs which task at which speeds, and how long the path behind it is: decided before the events run."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from dse.errors import InputError, did_you_mean
from dse.offload.platform import Platform
from dse.offload.task_graph import Task, TaskGraph

__all__ = ["Mode", "Placed", "modes_of", "place"]


class Mode(NamedTuple):
    """A speed at which a unit can run a task: seconds and watts at that clock level."""

    seconds: float
    watts: float
    peak_watts: float
    level: float


class Placed(NamedTuple):
    """A task on its unit; ``modes`` fastest first; ``rank_s`` is the longest path from its start to the step's end."""

    task: Task
    unit: str
    modes: tuple[Mode, ...]
    rank_s: float


def modes_of(task: Task, kind: str, platform: Platform, hybrid: bool) -> tuple[Mode, ...]:
    """The speeds of ``task`` on a kind of device, fastest first. ``hybrid``: something is offloaded, so that GPU
    operations gain ``platform.contention``.
    """
    cost = task.costs[kind]
    if kind == "fpga":
        return (Mode(cost.seconds, cost.watts, cost.peak_watts, 1.0),)
    seconds = cost.seconds / (platform.contention if hybrid else 1.0)
    if len(platform.dvfs_levels) == 1:
        return (Mode(seconds, cost.watts, cost.peak_watts, 1.0),)
    share, idle_w = platform.compute_share, platform.gpu_idle_w
    modes = []
    for level in sorted(platform.dvfs_levels, reverse=True):
        scale = level**platform.dvfs_exponent
        modes.append(
            Mode(
                seconds * (share / level + 1 - share),
                idle_w + (cost.watts - idle_w) * scale,
                idle_w + (cost.peak_watts - idle_w) * scale,
                level,
            )
        )
    return tuple(modes)


def place(graph: TaskGraph, platform: Platform, offloaded: Collection[str]) -> list[Placed]:
    """Every task's unit, in the graph's order: GPU tasks at home, FPGA tasks where they would end first.

    Raises InputError for a task that is unknown, has no FPGA cost, belongs to a GPU that is not there, or is to run on
    an FPGA where there is none.
    """
    chosen = set(offloaded) | graph.fpga_only
    _check(graph, platform, chosen)
    hybrid = bool(chosen)
    kinds = ["fpga" if task.name in chosen else "gpu" for task in graph.tasks]
    modes = [modes_of(task, kind, platform, hybrid) for task, kind in zip(graph.tasks, kinds, strict=True)]
    units = _units(graph, platform, kinds, [m[0].seconds for m in modes])
    ranks = _ranks(graph, platform, units, [m[0].seconds for m in modes])
    return [Placed(*row) for row in zip(graph.tasks, units, modes, ranks, strict=True)]


def _check(graph: TaskGraph, platform: Platform, chosen: Collection[str]) -> None:
    for name in chosen:
        if name not in graph.by_name:
            raise InputError("offload", "unknown task", name, did_you_mean(name, graph.by_name))
        if "fpga" not in graph.by_name[name].costs:
            raise InputError(f"offload: {name}", "has no cost on an FPGA")
    if chosen and not platform.fpgas:
        raise InputError("platform: fpgas", "operations are offloaded to none", 0, ">= 1")
    homes = {task.home for task in graph.tasks} | {home for home, _ in graph.resident.values()}
    if homes and max(homes) >= platform.gpus:
        raise InputError("platform: gpus", "the graph has tasks of more GPUs", platform.gpus, f">= {max(homes) + 1}")


def _units(graph: TaskGraph, platform: Platform, kinds: list[str], seconds: list[float]) -> list[str]:
    """Earliest estimated end, links taken as always free."""
    free: dict[str, float] = {}
    where = {tensor: (f"gpu{home}", 0.0, size) for tensor, (home, size) in graph.resident.items()}
    units = []
    for task, kind, duration in zip(graph.tasks, kinds, seconds, strict=True):
        choices = [f"gpu{task.home}"] if kind == "gpu" else [f"fpga{n}" for n in range(platform.fpgas)]
        inputs = [where[source] for source in task.inputs]
        starts = [
            max(
                [free.get(unit, 0.0)]
                + [end if at == unit else end + platform.transfer_s(size) for at, end, size in inputs]
            )
            for unit in choices
        ]
        best = min(range(len(choices)), key=starts.__getitem__)
        unit, end = choices[best], starts[best] + duration
        free[unit] = end
        where[task.name] = (unit, end, task.out_bytes)
        units.append(unit)
    return units


def _ranks(graph: TaskGraph, platform: Platform, units: list[str], seconds: list[float]) -> list[float]:
    """Seconds from a task's start to the end of the longest path behind it, with the transfers on it."""
    position = {task.name: number for number, task in enumerate(graph.tasks)}
    behind = [0.0] * len(graph.tasks)
    ranks = [0.0] * len(graph.tasks)
    for number in reversed(range(len(graph.tasks))):
        ranks[number] = seconds[number] + behind[number]
        for source in graph.tasks[number].inputs:
            before = position.get(source)
            if before is not None:
                moved = graph.tasks[before].out_bytes if units[before] != units[number] else 0.0
                behind[before] = max(behind[before], ranks[number] + platform.transfer_s(moved))
    return ranks
