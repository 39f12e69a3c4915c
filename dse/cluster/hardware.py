"""A cluster of boards behind one switch: what each node may use, as the planner sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dse.device import Device
from dse.errors import InputError

__all__ = ["NODE_RESOURCES", "Cluster", "Node"]

NODE_RESOURCES = ("dsp", "ram_bits", "dram_read_bits_per_s", "dram_write_bits_per_s", "dram_bits_per_s")
"""What the layers on a node take together; links and connections are counted per edge."""


@dataclass(frozen=True)
class Node:
    """One board. Every figure is what the planner may use, not what the chip has."""

    name: str
    device: Device
    clock_hz: float
    dsp: float
    ram_bits: float
    """On-chip RAM."""
    dram_read_bits_per_s: float
    dram_write_bits_per_s: float
    dram_bits_per_s: float
    """Both directions together; a full-duplex memory has twice one direction."""
    link_bits_per_s: float
    """Ethernet, each way."""
    connections: int
    """Edges of the network graph that may enter or leave the node."""

    @property
    def kind(self) -> tuple[object, ...]:
        """Equal for nodes that may be exchanged."""
        return (
            self.device.name, self.clock_hz, *self.limits.values(), self.link_bits_per_s, self.connections,
        )  # fmt: skip

    @property
    def limits(self) -> dict[str, float]:
        """Resource of NODE_RESOURCES -> what the planner may use."""
        return {name: float(getattr(self, name)) for name in NODE_RESOURCES}


@dataclass(frozen=True)
class Cluster:
    """Nodes behind one switch. The first node is attached to the host: input, output and loss are placed on it."""

    name: str
    source: str
    nodes: tuple[Node, ...]
    switch_latency_s: float
    path: str = ""
    digest: str = field(default="", compare=False)
    """SHA-256 of the file it was read from."""

    def first(self, count: int) -> Cluster:
        """The cluster of the first ``count`` nodes. Raises InputError where it has fewer."""
        if not 1 <= count <= len(self.nodes):
            raise InputError(f"cluster {self.name}", "has not so many nodes", count, f"1 to {len(self.nodes)}")
        return replace(self, nodes=self.nodes[:count])

    def select(self, numbers: Sequence[int]) -> Cluster:
        """The cluster of the nodes of those numbers, in that order; the first becomes the one with the host."""
        return replace(self, nodes=tuple(self.nodes[number] for number in numbers))
