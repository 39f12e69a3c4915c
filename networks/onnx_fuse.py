"""Functions that exporters spell out in several nodes, put back into one: x * sigmoid(x) and GELU by way of Erf."""

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

    def _computed(self, name: str) -> bool:
        maker = self.maker.get(name)
        return maker is not None and maker.op != "Constant"


def fuse(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """``nodes`` with each such group replaced by one Swish or Gelu, in the place of the group's last node."""
    links = _Links(nodes, outputs)
    gone: set[int] = set()
    for node in nodes:
        if node.op == "Sigmoid" and len(node.inputs) == 1:
            gone |= _swish(node, links)
        elif node.op == "Erf" and len(node.inputs) == 1:
            gone |= _gelu(node, links)
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
