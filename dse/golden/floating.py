"""Training in float32: the reference that integer training is compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.golden.arithmetic import Arithmetic, softmax_cross_entropy, sum_square_error
from dse.golden.convolution import Window, forward, input_grad, weight_grad
from dse.golden.operation import SHARED, Operation, Parameters
from dse.golden.pooling import sum_pool, sum_pool_grad
from dse.golden.product import Array
from dse.golden.rounding import Scaled
from dse.network import Layer

__all__ = ["FLOAT_OPERATIONS", "FloatArithmetic"]

_OVER_CHANNELS = (0, 2, 3)


class _Convolution(Operation):
    """Convolution and fully connected layers, with weights drawn as He et al. (ICCV 2015, section 2.2)."""

    def start(self, layer: Layer, rng: np.random.Generator) -> Parameters:
        shape = (layer.out_shape[0], layer.in_shape[0] // layer.groups, *layer.kernel)
        bound = math.sqrt(6 / math.prod(shape[1:]))
        drawn = {"weight": rng.uniform(-bound, bound, shape).astype(np.float32)}
        return drawn | ({"bias": np.zeros(shape[0], np.float32)} if layer.bias else {})

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        x = inputs[0].reshape(-1, *layer.in_shape)
        y = forward(x, parameters["weight"], Window.of(layer))
        return y + _per_channel(parameters["bias"]) if layer.bias else y, x

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        e, window = error.values, Window.of(layer)
        gradients = {"weight": weight_grad(kept, e, window)}
        if layer.bias:
            gradients["bias"] = e.sum(axis=_OVER_CHANNELS)
        if not layer.needs_input_grad:
            return [], gradients
        return [Scaled(input_grad(e, parameters["weight"], window, layer.in_shape[1:]))], gradients


class _Bias(Operation):
    """One number per channel added."""

    def start(self, layer: Layer, rng: np.random.Generator) -> Parameters:
        return {"bias": np.zeros(layer.out_shape[0], np.float32)}

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        return inputs[0] + _per_channel(parameters["bias"]), None

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        return [error], {"bias": error.values.sum(axis=_OVER_CHANNELS)}


class _Add(Operation):
    """The sum of all inputs."""

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        return sum(inputs[1:], inputs[0]), len(inputs)

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        return [error] * kept, {}


class _Average(Operation):
    """The mean of each window, padding counting as 0."""

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        return sum_pool(inputs[0], Window.of(layer)) / np.float32(math.prod(layer.kernel)), None

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        e = error.values / np.float32(math.prod(layer.kernel))
        return [Scaled(sum_pool_grad(e, Window.of(layer), layer.in_shape[1:]))], {}


class _BatchNorm(Operation):
    """Batch normalisation (Ioffe and Szegedy, ICML 2015, algorithm 1), with running statistics for evaluation."""

    EPSILON = 1e-5
    FOLLOW = 0.125
    """Share of an iteration's statistics in the running ones."""

    def start(self, layer: Layer, rng: np.random.Generator) -> Parameters:
        channels = layer.out_shape[0]
        ones, zeros = np.ones(channels, np.float32), np.zeros(channels, np.float32)
        return {"weight": ones, "bias": zeros, "mean": zeros, "inverse": ones}

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        x = inputs[0]
        mean, inverse = parameters["mean"], parameters["inverse"]
        if training:
            mean = x.mean(axis=_OVER_CHANNELS)
            inverse = (1 / np.sqrt(x.var(axis=_OVER_CHANNELS) + self.EPSILON)).astype(x.dtype)
        normal = (x - _per_channel(mean)) * _per_channel(inverse)
        y = normal * _per_channel(parameters["weight"]) + _per_channel(parameters["bias"])
        return y, (normal, mean, inverse)

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        normal, _, inverse = kept
        e, count = error.values, error.values.size // error.values.shape[1]
        gradients = {"weight": (e * normal).sum(axis=_OVER_CHANNELS), "bias": e.sum(axis=_OVER_CHANNELS)}
        mean = _per_channel(gradients["bias"] / count) + normal * _per_channel(gradients["weight"] / count)
        return [Scaled((e - mean) * _per_channel(parameters["weight"] * inverse))], gradients

    def settle(self, parameters: Parameters, kept: Any) -> Parameters:
        followed = {
            name: parameters[name] + np.float32(self.FOLLOW) * (now - parameters[name])
            for name, now in zip(("mean", "inverse"), kept[1:], strict=True)
        }
        return {**parameters, **followed}


FLOAT_OPERATIONS: Mapping[str, Operation] = {
    **SHARED,
    "conv": _Convolution(),
    "fc": _Convolution(),
    "bias": _Bias(),
    "add": _Add(),
    "avg_pool": _Average(),
    "global_avg_pool": _Average(),
    "batch_norm": _BatchNorm(),
}


class FloatArithmetic(Arithmetic):
    """float32 with stochastic gradient descent and momentum; the gradient is the mean over the batch."""

    def __init__(self, learning_rate: float = 0.02, momentum: float = 0.9) -> None:
        self.name, self.operations = "fp32", FLOAT_OPERATIONS
        self.learning_rate, self.momentum = learning_rate, momentum
        self._velocity: dict[tuple[str, str], Array] = {}

    def encode(self, samples: Array) -> Array:
        """float32."""
        return samples.astype(np.float32)

    def loss(self, layer: Layer, output: Array, labels: Array) -> tuple[float, Scaled]:
        """In float64; the error is that of the mean over the batch."""
        rule = softmax_cross_entropy if layer.op == "softmax_cross_entropy" else sum_square_error
        loss, error = rule(output.reshape(len(output), -1).astype(np.float64), labels)
        return loss, Scaled((error / len(labels)).astype(output.dtype).reshape(output.shape))

    def gather(self, errors: Sequence[Scaled]) -> Scaled:
        """The plain sum."""
        return Scaled(sum((error.values for error in errors[1:]), errors[0].values))

    def halve_rate(self) -> None:
        """Half the factor."""
        self.learning_rate /= 2

    def update(self, layer: Layer, parameters: Parameters, gradients: Parameters) -> Parameters:
        """v = g + momentum * v, then parameter -= learning rate * v."""
        moved = dict(parameters)
        for name, gradient in gradients.items():
            velocity = gradient + self.momentum * self._velocity.get((layer.name, name), 0)
            self._velocity[layer.name, name] = velocity
            moved[name] = (parameters[name] - self.learning_rate * velocity).astype(parameters[name].dtype)
        return moved


def _per_channel(values: Array) -> Array:
    return values[:, None, None]
