"""Training iterations of a network in an arithmetic, with every tensor that an accelerator would leave in DRAM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.golden.arithmetic import Arithmetic
from dse.golden.operation import Parameters
from dse.golden.product import Array
from dse.golden.rounding import Scaled
from dse.network import Network

__all__ = ["GoldenModel", "Iteration"]


@dataclass(frozen=True, slots=True)
class Iteration:
    """What one iteration computed; activations and errors by the layer that writes the activation, or ``"input"``.

    ``activations`` are [B, C, H, W]; ``gradients`` sums over the batch, by layer and parameter; ``kept`` what a layer
    stored for its backward pass (for ``max_pool`` the indexes). ``loss`` is the mean over the batch.
    """

    loss: float
    activations: Mapping[str, Array]
    errors: Mapping[str, Scaled]
    gradients: Mapping[str, Parameters]
    kept: Mapping[str, Any]


class GoldenModel:
    """A network with its parameters, layer by layer. ``seed`` draws those of the start."""

    def __init__(self, network: Network, arithmetic: Arithmetic, seed: int = 0) -> None:
        """Raise InputError for a network that ``arithmetic`` does not train."""
        arithmetic.check(network)
        self.network, self.arithmetic = network, arithmetic
        rng = np.random.default_rng(seed)
        self.parameters: dict[str, Parameters] = {
            layer.name: arithmetic.operation(layer).start(layer, rng) for layer in network.layers[:-1]
        }

    def outputs(self, samples: Array) -> Array:
        """What the loss reads, [B, classes], for encoded ``samples`` [B, C, H, W]; statistics are the running ones."""
        activations, _ = self._forward(samples, training=False)
        return activations[self.network.layers[-1].inputs[0]].reshape(len(samples), -1)

    def iterate(self, samples: Array, labels: Array) -> Iteration:
        """Train on one batch: encoded ``samples`` [B, C, H, W], ``labels`` int64 [B]. Parameters change in place.

        Layers are walked backwards; each gets its gradients, hands its errors on and is then updated.
        """
        activations, kept = self._forward(samples, training=True)
        end = self.network.layers[-1]
        loss, error = self.arithmetic.loss(end, activations[end.inputs[0]], labels)
        arriving: dict[str, list[Scaled]] = {end.inputs[0]: [error]}
        errors: dict[str, Scaled] = {}
        gradients: dict[str, Parameters] = {}
        for layer in reversed(self.network.layers[:-1]):
            if layer.name not in arriving:
                continue  # nothing before it has parameters
            errors[layer.name] = self.arithmetic.gather(arriving.pop(layer.name))
            if not (layer.needs_input_grad or layer.parameters):
                continue
            operation, own = self.arithmetic.operation(layer), self.parameters[layer.name]
            passed, gradients[layer.name] = operation.backward(layer, own, kept[layer.name], errors[layer.name])
            if layer.needs_input_grad:
                for source, one in zip(layer.inputs, passed, strict=True):
                    values = one.values.reshape(activations[source].shape)  # an fc may read a map as a vector
                    arriving.setdefault(source, []).append(Scaled(values, one.exponent))
            moved = self.arithmetic.update(layer, own, gradients[layer.name])
            self.parameters[layer.name] = operation.settle(moved, kept[layer.name])
        return Iteration(loss, activations, errors, gradients, kept)

    def _forward(self, samples: Array, training: bool) -> tuple[dict[str, Array], dict[str, Any]]:
        activations: dict[str, Array] = {"input": samples}
        kept: dict[str, Any] = {}
        for layer in self.network.layers[:-1]:
            inputs = [activations[source] for source in layer.inputs]
            activations[layer.name], kept[layer.name] = self.arithmetic.operation(layer).forward(
                layer, self.parameters[layer.name], inputs, training
            )
        return activations, kept
