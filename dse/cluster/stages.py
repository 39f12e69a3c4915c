"""The graph that is placed: stages of layers that stay together, and the edges whose maps may cross the network.

Biases, gates and poolings to a single pixel move no maps of their own through DRAM; each is one stage with the layer
before it. That takes the 127 layers of NADA's example network to 71 stages, without which the placement is much slower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dse.errors import InputError
from dse.network import Layer, Network

__all__ = ["SOURCE", "Edge", "Stage", "StageGraph", "stage_graph", "whole_frames"]

SOURCE = "input"
"""The stage that stands for the network's input on the host's node."""

_FUSED = frozenset({"bias", "relu", "relu6", "leaky_relu", "clip", "hard_sigmoid", "dropout", "flatten", "reshape"})
_POOLS = frozenset({"global_avg_pool", "avg_pool", "max_pool"})
_LOSSES = frozenset({"softmax_cross_entropy", "sum_square_error"})


@dataclass(frozen=True)
class Stage:
    """Layers that are placed together: a first one and those fused behind it. The source has none."""

    name: str
    layers: tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """Maps from stage ``source`` to stage ``target`` (numbers), in elements a frame: forward and the gradient back."""

    source: int
    target: int
    forward: int
    backward: int


@dataclass(frozen=True)
class StageGraph:
    """Stages in topological order, stage 0 being the network's input; ``network`` has the layers as they are built."""

    network: Network
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    outputs: tuple[int, ...]
    """Stages that are bound to the host's node, as the input is: the loss, or what ends the network."""

    @property
    def on_host(self) -> tuple[int, ...]:
        """The input and the outputs."""
        return (0, *self.outputs)

    def label(self, edge: Edge) -> str:
        """``a -> b``."""
        return f"{self.stages[edge.source].name} -> {self.stages[edge.target].name}"


def stage_graph(network: Network) -> StageGraph:
    """The stages of ``network``. Raises InputError for a layer that reads a layer after it."""
    readers: dict[str, int] = {}
    for layer in network.layers:
        for source in layer.inputs:
            readers[source] = readers.get(source, 0) + 1
    groups: list[list[Layer]] = []
    home: dict[str, int] = {SOURCE: 0}
    for layer in network.layers:
        for before in layer.inputs:
            if before not in home:
                where = f"network {network.name}: layer {layer.name}"
                raise InputError(where, "reads a layer that comes after it", before)
        last = home[layer.inputs[0]] if len(layer.inputs) == 1 else 0
        alone = last > 0 and readers[layer.inputs[0]] == 1 and groups[last - 1][-1].name == layer.inputs[0]
        if _fuses(layer) and alone:
            groups[last - 1].append(layer)
            home[layer.name] = last
        else:
            groups.append([layer])
            home[layer.name] = len(groups)
    stages = (Stage(SOURCE, ()), *(Stage(group[0].name, tuple(group)) for group in groups))
    edges = tuple(_edges(network, stages, home))
    ends = tuple(n for n in range(1, len(stages)) if not any(edge.source == n for edge in edges))
    losses = tuple(n for n in ends if stages[n].layers[-1].op in _LOSSES)
    return StageGraph(network, stages, edges, losses or ends)


def _fuses(layer: Layer) -> bool:
    single_pixel = layer.out_shape[1:] == (1, 1)
    return layer.op in _FUSED or (layer.op in _POOLS and single_pixel)


def _edges(network: Network, stages: tuple[Stage, ...], home: Mapping[str, int]) -> list[Edge]:
    """One edge for every map that goes from stage to stage; two readers of a map are two edges, as NADA counts."""
    sizes = {layer.name: layer.out_elements for layer in network.layers}
    channels, height, width = network.input_shape
    sizes[SOURCE] = channels * height * width
    trained = {layer.name: layer.needs_input_grad or layer.parameters > 0 for layer in network.layers}
    edges = []
    for number, stage in enumerate(stages):
        for layer in stage.layers[:1]:
            channels, height, width = layer.in_shape
            for source in layer.inputs:
                elements = min(sizes[source], channels * height * width)
                back = elements if layer.needs_input_grad and trained.get(source, False) else 0
                edges.append(Edge(home[source], number, elements, back))
    return edges


def whole_frames(graph: StageGraph) -> list[bool]:
    """Of every edge whether it is the second operand of a product, which is needed whole before a frame begins [E]."""
    found, seen = [], Counter[int]()
    for edge in graph.edges:
        layers = graph.stages[edge.target].layers
        found.append(seen[edge.target] == 1 and layers[0].op == "matmul")
        seen[edge.target] += 1
    return found
