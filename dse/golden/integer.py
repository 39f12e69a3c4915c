"""Training in integers: the arithmetic of the accelerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from dse.golden.arithmetic import Arithmetic, softmax_cross_entropy, sum_square_error
from dse.golden.integer_layers import integer_operations
from dse.golden.operation import Parameters
from dse.golden.product import Array
from dse.golden.rounding import Scaled, limit, normalise, shift_round
from dse.golden.update import updated, updated_with_momentum
from dse.golden.xorshift import Xorshift32
from dse.network import Layer

__all__ = ["IntegerArithmetic", "Stored"]

LOGIT_BITS = 4
"""The softmax reads outputs of k bits as numbers from -8 to 8: in units of 2^-(k - 4)."""
LOSS_BITS = 20
"""Fraction bits of the softmax's error, which the host writes as int32 before it is scaled like any other."""
VECTOR_SHIFT = 1
"""Parameters that are one number per channel step half as far: in a small tensor every element is near the largest."""
GUARD_BITS = 8
"""Bits kept below the coarser of several errors when they are added."""


class Stored(Protocol):
    """How a parameter is stored: how many elements, and where each belongs."""

    @property
    def elements(self) -> int:
        """Elements stored, filling included."""

    def take(self, values: Array) -> Array:
        """The tensor of ``values`` [elements]."""


class IntegerArithmetic(Arithmetic):
    """int8 or int16 (``bits``) as in docs/training.md; ``rate_shift`` may be changed between iterations.

    ``layouts`` says how parameters are stored, by layer and parameter, for the order in which they draw random numbers;
    row-major where it is silent. With ``momentum`` each parameter has a velocity of the same shape beside it
    (``weight_velocity``).
    """

    def __init__(
        self,
        bits: int = 8,
        rate_shift: int = 4,
        seed: int = 1,
        layouts: Mapping[tuple[str, str], Stored] | None = None,
        momentum: bool = False,
    ) -> None:
        self.name = f"int{bits}"
        self.bits, self.rate_shift, self.random = bits, rate_shift, Xorshift32(seed)
        self.operations = integer_operations(bits)
        self.momentum = momentum
        self._layouts = layouts or {}

    def encode(self, samples: Array) -> Array:
        """1 as the largest number, rounded to even, clipped."""
        bound = limit(self.bits)
        encoded: Array = np.clip(np.rint(samples * bound), -bound, bound).astype(
            np.int8 if self.bits <= 8 else np.int16
        )
        return encoded

    def loss(self, layer: Layer, output: Array, labels: Array) -> tuple[float, Scaled]:
        """The loss, and its error normalised."""
        loss, wide = self.wide_loss(layer, output, labels)
        return loss, normalise(wide, self.bits)

    def wide_loss(self, layer: Layer, output: Array, labels: Array) -> tuple[float, Scaled]:
        """The softmax in float64, its error rounded to 2^-20; the square error in integers."""
        flat, one = output.reshape(len(output), -1), 1 << (self.bits - 1)
        if layer.op == "softmax_cross_entropy":
            loss, error = softmax_cross_entropy(flat.astype(np.float64) / (1 << (self.bits - LOGIT_BITS)), labels)
            wide = np.floor(error * (1 << LOSS_BITS) + 0.5).astype(np.int64)
        else:
            loss, _ = sum_square_error(flat / one, labels)
            wide = flat.astype(np.int64)
            wide[np.arange(len(labels)), labels] -= limit(self.bits)
        return loss, Scaled(wide.reshape(output.shape))

    def gather(self, errors: Sequence[Scaled]) -> Scaled:
        """Errors on a common exponent, added and normalised; one error alone is normalised only if it is wide."""
        if len(errors) == 1:
            narrow = errors[0].values.dtype != np.int64
            return errors[0] if narrow else normalise(errors[0], self.bits)
        scaled = [self.gather([error]) for error in errors]
        exponent = max(error.exponent for error in scaled) - GUARD_BITS
        total = sum(shift_round(error.values, exponent - error.exponent) for error in scaled)
        return normalise(Scaled(np.asarray(total), exponent), self.bits)

    def halve_rate(self) -> None:
        """One more shift."""
        self.rate_shift += 1

    def update(self, layer: Layer, parameters: Parameters, gradients: Parameters) -> Parameters:
        """One stochastic step of each parameter, in the order of ``gradients``: weight, then bias."""
        moved = dict(parameters)
        for name, gradient in gradients.items():
            draws = self._draws(layer, name, gradient.shape)
            shift, value = self.rate_shift + (VECTOR_SHIFT if gradient.ndim == 1 else 0), parameters[name]
            if self.momentum:
                key = f"{name}_velocity"
                velocity = parameters.get(key, np.zeros(value.shape, np.int64))
                moved[name], moved[key] = updated_with_momentum(value, velocity, gradient, shift, draws, self.bits)
            else:
                moved[name] = updated(value, gradient, shift, draws, self.bits)
        return moved

    def _draws(self, layer: Layer, name: str, shape: tuple[int, ...]) -> Array:
        """One draw for each stored element, filling included, in the order in which they are stored."""
        layout = self._layouts.get((layer.name, name))
        if layout is None:
            return self.random.draw(int(np.prod(shape))).reshape(shape)
        return layout.take(self.random.draw(layout.elements)).reshape(shape)
