"""Counts that publications print about a network, kept in its file so that anyone can check ours against them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from dse.fields import Fields, read_toml
from dse.network import Network
from dse.networks.catalog import network_path

__all__ = ["QUANTITIES", "PublishedCount", "published_counts", "read_published"]


@dataclass(frozen=True, slots=True)
class PublishedCount:
    """A printed count: ``value`` of ``quantity`` per sample, to a relative ``tolerance``, as said in ``source``."""

    quantity: str
    value: float
    tolerance: float
    source: str

    def computed(self, network: Network) -> int:
        """The same quantity, counted on ``network``."""
        return QUANTITIES[self.quantity](network)

    def holds(self, network: Network) -> bool:
        """Whether ``network`` has the printed count to within the tolerance."""
        return abs(self.computed(network) - self.value) <= self.tolerance * self.value


def _conv_training_flop(network: Network) -> int:
    return 2 * sum(layer.training_macs for layer in network.layers if layer.op == "conv")


def _parameters_except(op: str) -> Callable[[Network], int]:
    return lambda network: sum(layer.parameters for layer in network.layers if layer.op != op)


QUANTITIES: Mapping[str, Callable[[Network], int]] = {
    # Multiply-accumulates of the convolution and fully connected layers in the forward pass.
    "macs": lambda network: network.macs,
    # Forward, weight gradient and, where a layer before has parameters, input gradient; 1 MAC = 2 operations.
    "training_macs": lambda network: sum(layer.training_macs for layer in network.layers),
    "training_flop": lambda network: network.training_flop,
    # The same over convolutions alone.
    "conv_training_flop": _conv_training_flop,
    # Three passes for every layer, the first one's unread input gradient included: 6 operations per forward MAC.
    "training_flop_three_passes": lambda network: 6 * network.macs,
    "parameters": lambda network: network.parameters,
    # Weights and biases, without the scale and shift of batch normalisation.
    "parameters_without_norm": _parameters_except("batch_norm"),
    "fc_parameters": lambda network: sum(layer.parameters for layer in network.layers if layer.op == "fc"),
}
"""Name of a quantity -> how it is counted. All are per sample (batch size 1), and pure numbers."""


def read_published(fields: Fields) -> tuple[PublishedCount, ...]:
    """The ``[[published]]`` tables of a network file. Raises InputError for a wrong key or an unknown quantity."""
    counts = []
    for table in fields.tables("published", required=False):
        quantity = table.string("quantity", choices=tuple(QUANTITIES))
        value = table.number("value", positive=True)
        counts.append(PublishedCount(quantity, value, table.number("tolerance"), table.string("source")))
        table.close()
    return tuple(counts)


def published_counts(name_or_path: str | Path) -> tuple[PublishedCount, ...]:
    """What is in print about a network (a name or a path, as for ``load_network``); empty where nothing is.

    Only TOML files have such entries.

    Raises InputError for an unknown name, a file that cannot be read and wrong entries.
    """
    path = network_path(name_or_path)
    return () if path.suffix.lower() in (".onnx", ".cfg") else read_published(read_toml(path))
