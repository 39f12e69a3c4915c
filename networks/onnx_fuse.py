"""What exporters spell out in several nodes, put back into one: x * sigmoid(x), GELU by way of Erf, normalisation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from dse.networks.onnx_graph import Node

__all__ = ["fuse"]


class _Links:
    """Who computes and who reads each tensor."""

    def __init__(self, nodes: Sequence[Node], outputs: Sequence[str]) -> None:
        self.maker: Mapping[str, Node] = {name: node for node in nodes for name in node.outputs if name}
        self.readers: dict[str, list[Node]] = defaultdict(list)
        for node in nodes:
            for name in node.inputs:
                self.readers[name].append(node)
        self.ends = set(outputs)

    def only_reader(self, node: Node, op: str) -> Node | None:
        """The node of type ``op`` that alone reads the one output of ``node``."""
        if len(node.outputs) != 1 or node.outputs[0] in self.ends:
            return None
        readers = self.readers[node.outputs[0]]
        return readers[0] if len(readers) == 1 and readers[0].op == op and len(readers[0].inputs) == 2 else None

    def scaled(self, name: str) -> str | None:
        """The tensor that ``name`` is the product or quotient of with another one, a constant as far as is seen."""
        maker = self.maker.get(name)
        if maker is None or maker.op not in ("Mul", "Div") or len(maker.inputs) != 2:
            return None
        free = [one for one in maker.inputs if self._computed(one)]
        return free[0] if len(free) == 1 else None

    def computed(self, node: Node, op: str) -> Node | None:
        """The node of type ``op`` that computes one of the inputs of ``node``."""
        makers = (self.maker.get(name) for name in node.inputs)
        return next((maker for maker in makers if maker is not None and maker.op == op), None)

    def closed(self, group: Sequence[Node], last: Node) -> bool:
        """Whether nobody but ``group`` and ``last`` reads what ``group`` computes."""
        inside = {id(last), *map(id, group)}
        names = [name for node in group for name in node.outputs]
        return self.ends.isdisjoint(names) and all(id(one) in inside for name in names for one in self.readers[name])

    def _computed(self, name: str) -> bool:
        maker = self.maker.get(name)
        return maker is not None and maker.op != "Constant"


def fuse(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """``nodes`` with each such group replaced by one node (Swish, Gelu, LayerNormalization) in its last one's place."""
    links = _Links(nodes, outputs)
    gone: set[int] = set()
    for node in nodes:
        if node.op == "Sigmoid" and len(node.inputs) == 1:
            gone |= _swish(node, links)
        elif node.op == "Erf" and len(node.inputs) == 1:
            gone |= _gelu(node, links)
        elif node.op == "Sqrt" and len(node.inputs) == 1:
            gone |= _layer_norm(node, links)
    return [node for node in nodes if id(node) not in gone]


def _swish(node: Node, links: _Links) -> set[int]:
    product = links.only_reader(node, "Mul")
    if product is None or Counter(product.inputs) != Counter([node.inputs[0], node.outputs[0]]):
        return set()
    product.op, product.inputs = "Swish", [node.inputs[0]]
    return {id(node)}


def _gelu(node: Node, links: _Links) -> set[int]:
    """x / sqrt(2) -> Erf -> + 1 -> * x -> * 0.5, with the last factor in one of two places."""
    source = links.scaled(node.inputs[0])
    plus = links.only_reader(node, "Add")
    product = links.only_reader(plus, "Mul") if plus is not None else None
    if source is None or plus is None or product is None:
        return set()
    inner = {id(links.maker[node.inputs[0]]), id(node), id(plus)}
    other = next((name for name in product.inputs if name != plus.outputs[0]), "")
    half = links.maker.get(other)
    if half is not None and links.scaled(other) == source and links.readers[other] == [product]:
        product.op, product.inputs = "Gelu", [source]
        return inner | {id(half)}
    last = links.only_reader(product, "Mul")
    if other != source or last is None or links.scaled(last.outputs[0]) != product.outputs[0]:
        return set()
    last.op, last.inputs = "Gelu", [source]
    return inner | {id(product)}


def _layer_norm(root: Node, links: _Links) -> set[int]:
    """d = x - mean(x), then d / sqrt(mean(d * d) + epsilon) * scale + shift, over the last axis."""
    plus = links.maker.get(root.inputs[0])
    variance = links.computed(plus, "ReduceMean") if plus is not None and plus.op == "Add" else None
    square = links.maker.get(variance.inputs[0]) if variance is not None else None
    quotient = links.only_reader(root, "Div")
    if variance is None or square is None or quotient is None or plus is None or square.op not in ("Pow", "Mul"):
        return set()
    difference = links.maker.get(quotient.inputs[0])
    mean = links.computed(difference, "ReduceMean") if difference is not None and difference.op == "Sub" else None
    scaled = links.only_reader(quotient, "Mul")
    shifted = links.only_reader(scaled, "Add") if scaled is not None else None
    if difference is None or mean is None or scaled is None or shifted is None:
        return set()
    source = mean.inputs[0]
    weights = [_other(node, before) for node, before in ((scaled, quotient), (shifted, scaled))]
    over_last = all(node.integers("axes") == (-1,) for node in (mean, variance))
    squared = square.inputs[0] == difference.outputs[0] and (square.op == "Pow" or len(set(square.inputs)) == 1)
    group = (mean, difference, square, variance, plus, root, quotient, scaled)
    if difference.inputs[0] != source or not squared or not over_last or not links.closed(group, shifted):
        return set()
    shifted.op, shifted.inputs = "LayerNormalization", [source, *weights]
    return set(map(id, group))


def _other(node: Node, known: Node) -> str:
    """The input of a node that ``known`` does not compute."""
    return next((name for name in node.inputs if name not in known.outputs), "")
