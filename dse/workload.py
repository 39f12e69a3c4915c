"""What is to be computed: a network, a batch size and number formats, as one training iteration."""

from __future__ import annotations

from dataclasses import dataclass

from dse.errors import InputError, did_you_mean
from dse.network import Network

__all__ = [
    "OPTIMISERS", "PHASES", "PRECISIONS", "Optimiser", "Precision", "Workload", "optimiser_named", "precision_named",
]  # fmt: skip

PHASES = ("forward", "input_grad", "weight_grad", "update")
"""Phases of a training iteration, in the order of the last axis of every per-layer array."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Number format. ``bits`` is what an activation, weight or error takes in DRAM and on-chip buffers.

    ``accumulator_bits`` is the width of a running sum. 127^2 * 128 * 1024 just fits int32; int16 products need 48 bits
    (a DSP48's accumulator) to sum over thousands of terms.
    """

    name: str
    bits: int
    accumulator_bits: int

    @property
    def bytes(self) -> float:
        """Bytes of one stored element."""
        return self.bits / 8


PRECISIONS = {
    p.name: p
    for p in (
        Precision("int8", 8, 32),
        Precision("int16", 16, 48),
        Precision("bf16", 16, 32),
        Precision("fp32", 32, 32),
    )
}


def precision_named(name: str) -> Precision:
    """The precision called ``name``. Raises InputError naming the choices."""
    if name not in PRECISIONS:
        raise InputError("precision", "unknown precision", name, did_you_mean(name, PRECISIONS))
    return PRECISIONS[name]


@dataclass(frozen=True, slots=True)
class Optimiser:
    """How weights are updated: ``states`` numbers per parameter live on from iteration to iteration."""

    name: str
    states: int
    title: str


OPTIMISERS = {
    o.name: o
    for o in (
        Optimiser("sgd", 0, "stochastic gradient descent, nothing is kept"),
        Optimiser("momentum", 1, "with momentum: a velocity per parameter"),
        Optimiser("adam", 2, "Adam (Kingma and Ba, ICLR 2015): two moments per parameter"),
    )
}


def optimiser_named(name: str) -> Optimiser:
    """The optimiser called ``name``. Raises InputError naming the choices."""
    if name not in OPTIMISERS:
        raise InputError("optimiser", "unknown optimiser", name, did_you_mean(name, OPTIMISERS))
    return OPTIMISERS[name]


@dataclass(frozen=True)
class Workload:
    """One training iteration: forward, input gradient, weight gradient and update of ``batch_size`` samples."""

    network: Network
    batch_size: int
    precision: Precision
    optimiser: Optimiser = OPTIMISERS["sgd"]

    def __post_init__(self) -> None:
        """Refuse a batch size that is not a whole number from 1 to 2^20."""
        if isinstance(self.batch_size, bool) or not isinstance(self.batch_size, int):
            raise InputError("batch size", "must be a whole number", self.batch_size, "1 to 1048576")
        if not 1 <= self.batch_size <= 2**20:
            raise InputError("batch size", "is out of range", self.batch_size, "1 to 1048576")

    @property
    def state_bytes(self) -> float:
        """Bytes of the optimiser's states, which are as wide as a running sum: small steps add up in them."""
        return self.optimiser.states * self.network.parameters * self.precision.accumulator_bits / 8
