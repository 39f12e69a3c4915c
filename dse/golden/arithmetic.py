"""What distinguishes integer from float training: operations, loss, sums of errors, update."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np

from dse.errors import InputError
from dse.golden.operation import Operation, Parameters
from dse.golden.product import Array
from dse.golden.rounding import Scaled
from dse.network import Layer, Network

__all__ = ["LOSSES", "Arithmetic", "softmax_cross_entropy", "sum_square_error"]

LOSSES = ("softmax_cross_entropy", "sum_square_error")


class Arithmetic(ABC):
    """Number formats and rules of training. ``name`` is that of the precision."""

    name: str
    operations: Mapping[str, Operation]

    def operation(self, layer: Layer) -> Operation:
        """The operation of ``layer``. Raises KeyError; ``check`` has told the user before."""
        return self.operations[layer.op]

    def check(self, network: Network) -> None:
        """Raise InputError for a network without a loss, or with an operation that is not trained here."""
        where = f"network {network.name}"
        if network.layers[-1].op not in LOSSES:
            raise InputError(where, "has no loss to train with", network.layers[-1].op, ", ".join(LOSSES))
        for layer in network.layers[:-1]:
            if layer.op not in self.operations:
                known = ", ".join(sorted(self.operations))
                raise InputError(
                    f"{where}: layer {layer.name}", f"{self.name} does not train {layer.op}", allowed=known
                )

    @abstractmethod
    def encode(self, samples: Array) -> Array:
        """Samples with values from -1 to 1 in this format."""

    @abstractmethod
    def loss(self, layer: Layer, output: Array, labels: Array) -> tuple[float, Scaled]:
        """The mean loss of the samples, and the error of ``output`` [B, classes, 1, 1]; ``labels`` are int64 [B]."""

    @abstractmethod
    def gather(self, errors: Sequence[Scaled]) -> Scaled:
        """The error of a tensor that is read as often as there are ``errors``, in the format of errors."""

    @abstractmethod
    def halve_rate(self) -> None:
        """Half the learning rate from the next update on."""

    @abstractmethod
    def update(self, layer: Layer, parameters: Parameters, gradients: Parameters) -> Parameters:
        """All parameters after a step against ``gradients``."""


def softmax_cross_entropy(logits: Array, labels: Array) -> tuple[float, Array]:
    """Mean loss and its derivative times B, float64 [B, classes], of ``logits`` [B, classes]."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    shares = exponentials / exponentials.sum(axis=1, keepdims=True)
    samples = np.arange(len(labels))
    loss = float((np.log(exponentials.sum(axis=1)) - shifted[samples, labels]).mean())
    shares[samples, labels] -= 1.0
    return loss, shares


def sum_square_error(outputs: Array, labels: Array) -> tuple[float, Array]:
    """Mean of half the squared distance to one-hot labels, and its derivative times B, of ``outputs`` [B, classes]."""
    difference = outputs.astype(np.float64)
    difference[np.arange(len(labels)), labels] -= 1.0
    return float((difference**2).sum(axis=1).mean() / 2), difference
