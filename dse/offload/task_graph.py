"""A training step as tasks that pass tensors: what is scheduled onto GPUs and FPGAs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dse.errors import InputError
from dse.offload.profile import Cost

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["KINDS", "Task", "TaskGraph"]

KINDS = ("gpu", "fpga")
"""Kinds of devices."""


@dataclass(frozen=True, slots=True)
class Task:
    """One operation. It reads ``inputs`` (names of tasks or of resident tensors) and leaves one tensor of its name."""

    name: str
    costs: Mapping[str, Cost]
    """Kind of device -> cost; a kind that is missing cannot run it."""
    inputs: tuple[str, ...] = ()
    out_bytes: float = 0.0
    home: int = 0
    """The GPU it belongs to; other GPUs do not run it."""
    op: str = ""
    phase: str = ""


@dataclass(frozen=True)
class TaskGraph:
    """Tasks in topological order, and tensors that lie in a GPU's memory when the step begins."""

    tasks: tuple[Task, ...]
    resident: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    """Tensor -> (GPU that holds it, bytes): weights and the batch."""
    samples: int = 1
    """Samples that one run of the graph trains on."""
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse names used twice, inputs that come later or nowhere, and tasks that nothing can run."""
        known = set(self.resident)
        for task in self.tasks:
            if task.name in known:
                raise InputError("task graph", "name is used twice", task.name)
            missing = [source for source in task.inputs if source not in known]
            if missing:
                raise InputError(f"task graph: {task.name}", "reads what no task before it leaves", missing[0])
            if not set(task.costs) <= set(KINDS) or not task.costs:
                raise InputError(
                    f"task graph: {task.name}", "needs a cost on a kind of device", list(task.costs), KINDS
                )
            known.add(task.name)

    @cached_property
    def by_name(self) -> dict[str, Task]:
        """Task name -> task."""
        return {task.name: task for task in self.tasks}

    @property
    def candidates(self) -> tuple[str, ...]:
        """Tasks that may run on either kind of device."""
        return tuple(task.name for task in self.tasks if len(task.costs) == len(KINDS))

    @property
    def fpga_only(self) -> frozenset[str]:
        """Tasks that no GPU can run."""
        return frozenset(task.name for task in self.tasks if "gpu" not in task.costs)

    def networkx(self, offloaded: Collection[str] = ()) -> nx.DiGraph:
        """Tasks as nodes with ``seconds`` (on the FPGA for ``offloaded`` ones), dependencies as edges."""
        import networkx as nx

        graph = nx.DiGraph()
        for task in self.tasks:
            kind = "fpga" if task.name in offloaded or "gpu" not in task.costs else "gpu"
            graph.add_node(task.name, seconds=task.costs[kind].seconds)
            graph.add_edges_from((source, task.name) for source in task.inputs if source in self.by_name)
        return graph

    def critical_path(self, offloaded: Collection[str] = ()) -> tuple[list[str], float]:
        """The longest chain of tasks by time, transfers apart, and its seconds."""
        import networkx as nx

        if not self.tasks:
            return [], 0.0
        graph = self.networkx(offloaded)
        for _, target, data in graph.edges(data=True):
            data["weight"] = graph.nodes[target]["seconds"]
        # A source of no length before every task, so that a path's edges hold all of its tasks.
        graph.add_edges_from(("", name, {"weight": graph.nodes[name]["seconds"]}) for name in list(graph))
        path = nx.dag_longest_path(graph, weight="weight")[1:]
        return path, float(sum(graph.nodes[name]["seconds"] for name in path))
