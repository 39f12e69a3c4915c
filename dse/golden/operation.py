"""What an operation does in a training iteration, and the operations that are the same for integers and floats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.golden.convolution import Window
from dse.golden.pooling import max_pool, max_pool_grad
from dse.golden.product import Array
from dse.golden.rounding import Scaled
from dse.network import Layer

__all__ = ["SHARED", "Operation", "Parameters"]

Parameters = Mapping[str, Array]
"""Tensors of one layer: ``weight`` and ``bias``, and what is kept for evaluation (``mean``, ``inverse``)."""


class Operation(ABC):
    """Both directions of one operation. Maps are [B, C, H, W]; integer errors that are sums are int64, to be scaled."""

    def start(self, layer: Layer, rng: np.random.Generator) -> Parameters:
        """Parameters before the first iteration; none unless the operation says so."""
        return {}

    @abstractmethod
    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        """The output, and what ``backward`` needs to have been kept."""

    @abstractmethod
    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        """Errors of the inputs (none where the layer needs no input gradient), and gradients by parameter."""

    def settle(self, parameters: Parameters, kept: Any) -> Parameters:
        """``parameters`` after a training iteration, for what is followed and not trained."""
        return parameters


class _Copy(Operation):
    """The same elements in another shape, channels outermost."""

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        return inputs[0].reshape(-1, *layer.out_shape), None

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        return [Scaled(error.values.reshape(-1, *layer.in_shape), error.exponent)], {}


class _Relu(Operation):
    """The larger of 0 and the input; a mask, which follows from the output as stored, decides which errors pass.

    Floats: output > 0. Integers: also below the largest number, for there the clip has saturated (Wu et al., WAGE, ICLR
    2018, section 3.3.2).
    """

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        output = np.maximum(inputs[0], 0)
        mask = output > 0
        if np.issubdtype(output.dtype, np.integer):
            mask &= output < np.iinfo(output.dtype).max
        return output, mask

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        return [Scaled(error.values * kept, error.exponent)], {}


class _MaxPool(Operation):
    """The largest of each window; its index is stored and takes the error back."""

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        return max_pool(inputs[0], Window.of(layer))

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        values = max_pool_grad(error.values, kept, Window.of(layer), layer.in_shape[1:])
        return [Scaled(values, error.exponent)], {}


class _Concat(Operation):
    """Channels of all inputs, one behind the other."""

    def forward(
        self, layer: Layer, parameters: Parameters, inputs: Sequence[Array], training: bool
    ) -> tuple[Array, Any]:
        return np.concatenate(inputs, axis=1), [part.shape[1] for part in inputs]

    def backward(
        self, layer: Layer, parameters: Parameters, kept: Any, error: Scaled
    ) -> tuple[Sequence[Scaled], Parameters]:
        parts = np.split(error.values, np.cumsum(kept)[:-1], axis=1)
        return [Scaled(part, error.exponent) for part in parts], {}


SHARED: Mapping[str, Operation] = {
    "relu": _Relu(),
    "max_pool": _MaxPool(),
    "flatten": _Copy(),
    "reshape": _Copy(),
    "concat": _Concat(),
}
"""Operations that move or choose elements, by name."""
