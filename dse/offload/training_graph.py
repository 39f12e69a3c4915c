"""A network's training step as a task graph: a task for each layer's phase, a replica for each GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dse.network import MAC_OPERATIONS, Layer
from dse.offload.profile import Cost
from dse.offload.task_graph import Task, TaskGraph
from dse.workload import Workload

__all__ = ["LayerCost", "link_bytes", "task_name", "training_graph"]

LayerCost = Mapping[tuple[str, str], Mapping[str, Cost]]
"""(layer, phase) -> kind of device -> cost; a phase that takes no time has no entry."""

_OWN_OUTPUT = frozenset({"relu", "relu6", "sigmoid", "tanh", "softmax", "softmax_cross_entropy"})
"""Operations whose derivative is read off their output; the others' needs their input, and an add's neither."""

_NOTHING_KEPT = frozenset({"add", "sub", "concat", "flatten", "reshape", "avg_pool", "global_avg_pool", "bias"})


def task_name(layer: str, phase: str, replica: int = 0) -> str:
    """``conv1 forward``; the replicas of further GPUs have their number in front."""
    return f"{replica}:{layer} {phase}" if replica else f"{layer} {phase}"


def training_graph(workload: Workload, costs: LayerCost, gpus: int = 1) -> TaskGraph:
    """Forward, input gradient, weight gradient and update of every layer, ``gpus`` times a whole batch.

    A task reads what its formula needs: activations that the backward pass needs again come from the forward task that
    made them, gradients from the layers that read the map. Weights and the batch lie in the GPU's memory when the step
    begins, and the updated weights end there, so that updates run on GPUs; an offloaded task fetches its weights. With
    several GPUs every update waits for the weight gradients of all replicas (synchronous data parallelism).
    """
    builders = [_Replica(workload, costs, number) for number in range(gpus)]
    tasks = [task for builder in builders for task in builder.tasks()]
    body = [task for task in tasks if task.phase != "update"]
    updates = _synchronised([task for task in tasks if task.phase == "update"])
    resident = {tensor: where for builder in builders for tensor, where in builder.resident.items()}
    name = f"{workload.network.name}, batch {workload.batch_size}" + (f" on each of {gpus} GPUs" if gpus > 1 else "")
    return TaskGraph((*body, *updates), resident, workload.batch_size * gpus, name)


def _synchronised(updates: list[Task]) -> list[Task]:
    """Each update with the weight gradients of all replicas among its inputs."""
    gradients: dict[str, list[str]] = {}
    for task in updates:
        gradients.setdefault(_layer(task), []).append(task.inputs[0])
    return [replace(t, inputs=tuple(dict.fromkeys([*t.inputs, *gradients[_layer(t)]]))) for t in updates]


def _layer(task: Task) -> str:
    """A task's name without its replica."""
    return task.name.partition(":")[2] if task.home else task.name


def link_bytes(graph: TaskGraph) -> dict[str, float]:
    """Task -> bytes to and from its unit if it alone is offloaded: its inputs, and its output if that is read."""
    sizes = {tensor: size for tensor, (_, size) in graph.resident.items()}
    sizes |= {task.name: task.out_bytes for task in graph.tasks}
    read = {source for task in graph.tasks for source in task.inputs}
    return {
        task.name: sum(sizes[source] for source in set(task.inputs)) + (task.out_bytes if task.name in read else 0.0)
        for task in graph.tasks
    }


class _Replica:
    """The tasks of one GPU's batch."""

    def __init__(self, workload: Workload, costs: LayerCost, number: int) -> None:
        self.costs, self.number = costs, number
        self.layers = workload.network.layers
        self.element_bytes = workload.precision.bytes
        self.batch = workload.batch_size
        channels, height, width = workload.network.input_shape
        batch_bytes = channels * height * width * self.batch * self.element_bytes
        self.resident = {self._resident("input", "batch"): (number, batch_bytes)}
        for layer in self.layers:
            if layer.parameters:
                self.resident[self._resident(layer.name, "weights")] = (number, layer.parameters * self.element_bytes)
        self.elements = {layer.name: layer.out_elements for layer in self.layers} | {"input": channels * height * width}
        self.readers: dict[str, list[tuple[str, int]]] = {}
        for layer in self.layers:
            for position, source in enumerate(layer.inputs):
                self.readers.setdefault(source, []).append((layer.name, position))

    def tasks(self) -> list[Task]:
        """Forward in order, then backward with each layer's update last; a phase without cost is passed through."""
        made: dict[str, tuple[str, ...]] = {"input": (self._resident("input", "batch"),)}
        out: list[Task] = []
        for layer in self.layers:
            inputs = [tensor for source in layer.inputs for tensor in made[source]]
            made[layer.name] = self._task(out, layer, "forward", [*inputs, *self._weights(layer)], self._out(layer))
        errors: dict[tuple[str, int], tuple[str, ...]] = {}
        for layer in reversed(self.layers):
            readers = self.readers.get(layer.name, ())
            gradient = [tensor for reader in readers for tensor in errors.get(reader, ())]
            self._backward(out, layer, gradient if readers else list(made[layer.name]), made, errors)
        return out

    def _backward(
        self,
        out: list[Task],
        layer: Layer,
        gradient: list[str],
        made: dict[str, tuple[str, ...]],
        errors: dict[tuple[str, int], tuple[str, ...]],
    ) -> None:
        """Both gradients of a layer; ``errors`` gets the gradient of its input at each position."""
        kept = [list(made[source]) for source in layer.inputs]
        everything = [tensor for tensors in kept for tensor in tensors]
        product = layer.op == "matmul"
        if product and layer.needs_weight_grad:
            second = self._task(out, layer, "weight_grad", [*gradient, *kept[0]], self._elements(layer.inputs[1]))
            errors[layer.name, 1] = second
        elif layer.parameters:
            self._weight_grad(out, layer, gradient, everything)
        if layer.needs_input_grad:
            again = list(made[layer.name]) if layer.op in _OWN_OUTPUT else everything
            needs = kept[1] if product else [] if layer.op in (*_NOTHING_KEPT, *MAC_OPERATIONS) else again
            error = self._task(out, layer, "input_grad", [*gradient, *self._weights(layer), *needs], self._in(layer))
            for position in range(1 if product else len(layer.inputs)):
                errors[layer.name, position] = error

    def _weight_grad(self, out: list[Task], layer: Layer, gradient: list[str], kept: list[str]) -> None:
        made = self._task(out, layer, "weight_grad", [*gradient, *kept], layer.parameters * self.element_bytes)
        inputs = [*made, *self._weights(layer)]
        update = self.costs.get((layer.name, "update"), {})
        if "gpu" in update:
            name = task_name(layer.name, "update", self.number)
            task = Task(name, {"gpu": update["gpu"]}, tuple(inputs), 0.0, self.number, layer.op, "update")
            out.append(task)

    def _task(self, out: list[Task], layer: Layer, phase: str, inputs: list[str], size: float) -> tuple[str, ...]:
        """Append the phase's task; the tensors that stand for its output."""
        needed = tuple(dict.fromkeys(inputs))
        cost = self.costs.get((layer.name, phase))
        if not cost:
            return needed
        name = task_name(layer.name, phase, self.number)
        out.append(Task(name, cost, needed, size, self.number, layer.op, phase))
        return (name,)

    def _weights(self, layer: Layer) -> list[str]:
        return [self._resident(layer.name, "weights")] if layer.parameters else []

    def _resident(self, owner: str, what: str) -> str:
        return task_name(owner, what, self.number)

    def _out(self, layer: Layer) -> float:
        return layer.out_elements * self.batch * self.element_bytes

    def _elements(self, name: str) -> float:
        """Bytes of the map that layer ``name`` makes."""
        return self.elements[name] * self.batch * self.element_bytes

    def _in(self, layer: Layer) -> float:
        return layer.in_elements * self.batch * self.element_bytes
