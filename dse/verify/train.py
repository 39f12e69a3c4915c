"""Whole training iterations on the simulated accelerator, its DRAM compared with the golden model after each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dse.golden import GoldenModel, IntegerArithmetic, Iteration
from dse.golden.integer import Stored
from dse.host import Accelerator
from dse.layout.blocked import Array
from dse.schedule import SPACES, Schedule, Tensor
from dse.schedule.hardware import MOMENTUM
from dse.verify.dram import Dram
from dse.verify.simulator import Simulator

__all__ = ["BASE", "TrainedIteration", "Trainer", "train_iterations"]

BASE = 0x1000_0000
"""Address of the simulated memory's first byte."""


@dataclass(frozen=True)
class _Part:
    """A part of the simulated memory (``dse.host.Memory``)."""

    address: int
    view: npt.NDArray[np.uint8]

    def read(self, offset: int, size: int) -> bytes:
        """Bytes from ``offset``."""
        return self.view[offset : offset + size].tobytes()

    def write(self, offset: int, data: bytes) -> None:
        """Write from ``offset``."""
        self.view[offset : offset + len(data)] = np.frombuffer(data, np.uint8)


@dataclass(frozen=True)
class TrainedIteration:
    """One iteration: the loss (a mean over the batch), cycles, and what differs from the golden model."""

    number: int
    loss: float
    cycles: int
    steps: int
    """Of these, cycles in which the engine's lanes worked."""
    counters: dict[tuple[str, str], int]
    """Cycles by layer and phase."""
    differences: tuple[str, ...]
    tensors: int
    """Tensors compared."""

    @property
    def exact(self) -> bool:
        """Whether every tensor agrees."""
        return not self.differences


class Trainer:
    """A simulated accelerator and the golden model, side by side from the same start."""

    def __init__(self, library: Path, schedule: Schedule, dram: Dram, *, seed: int = 0, rate_shift: int = 4) -> None:
        hw, network = schedule.hardware.engine, schedule.workload.network
        self.schedule = schedule
        layouts: dict[tuple[str, str], Stored] = {
            (tensor.name, kind): tensor
            for tensor in schedule.tensors
            for kind in ("weight", "bias")
            if tensor.kind == kind
        }
        momentum = schedule.workload.optimiser.name == MOMENTUM
        self.arithmetic = IntegerArithmetic(hw.operand_bits, rate_shift, seed + 1, layouts, momentum)
        self.model = GoldenModel(network, self.arithmetic, seed)
        sizes = [schedule.tensors.size_bytes(space) for space in SPACES]
        ends = np.cumsum(sizes)
        self.simulator = Simulator(library, replace(dram, base=BASE, size=int(ends[-1])), hw.data_bits)
        memory = {
            space: _Part(BASE + int(end) - size, self.simulator.memory[end - size : end])
            for space, size, end in zip(SPACES, sizes, ends, strict=True)
        }
        self.simulator.memory[:] = 0
        self.accelerator = Accelerator(self.simulator, memory, schedule, self.arithmetic)
        self.accelerator.load_parameters(self.model.parameters)

    def close(self) -> None:
        """Free the simulation."""
        self.simulator.close()

    def iterate(self, number: int, samples: Array, labels: Array) -> TrainedIteration:
        """One batch through both. Raises AcceleratorError where the accelerator stops."""
        registers = self.accelerator.registers
        loss = self.accelerator.iterate(samples, labels)
        golden = self.model.iterate(samples, labels)
        compared = list(self._compare(golden))
        differences = [text for text in compared if text]
        if registers.random_state != self.arithmetic.random.state:
            differences.append("the state of the random numbers")
        if self.simulator.violation:
            differences.append(self.simulator.violation)
        return TrainedIteration(
            number,
            loss,
            registers.cycles,
            registers.steps,
            self.accelerator.counters(),
            tuple(differences),
            len(compared),
        )

    def _compare(self, golden: Iteration) -> Iterator[str]:
        """For every stored tensor that the golden model has, how it differs; empty where it does not."""
        for tensor in self.schedule.tensors:
            expected = self._expected(tensor, golden)
            if expected is None:
                continue
            found = self.accelerator.get(tensor)
            wrong = int((found.reshape(expected.shape) != expected).sum())
            text = f"{tensor.kind} {tensor.name}: {wrong} of {expected.size} elements" if wrong else ""
            if tensor.kind == "error" and not wrong:
                exponent, meant = self.accelerator.error_exponent(tensor), golden.errors[tensor.name].exponent
                if exponent != meant:
                    text = f"error {tensor.name}: exponent {exponent}, expected {meant}"
            yield text

    def _expected(self, tensor: Tensor, golden: Iteration) -> Array | None:
        name = tensor.name
        if tensor.kind == "activation":
            return golden.activations[name]
        if tensor.kind == "error":
            return golden.errors[name].values if name in golden.errors else None
        if tensor.kind in ("weight", "bias", "weight_velocity", "bias_velocity"):
            return self.model.parameters[name][tensor.kind]
        if tensor.kind in ("gradient", "bias_gradient"):
            return golden.gradients[name]["weight" if tensor.kind == "gradient" else "bias"]
        if tensor.kind == "index":
            return np.asarray(golden.kept[name])
        if tensor.kind in ("mean", "inverse"):
            return np.asarray(golden.kept[name][1 if tensor.kind == "mean" else 2])
        return None


def train_iterations(trainer: Trainer, samples: Array, labels: Array, count: int) -> Iterator[TrainedIteration]:
    """``count`` iterations over batches of encoded ``samples``, taken in order and from the start again."""
    batch = trainer.schedule.workload.batch_size
    order = np.arange(len(labels))
    for number in range(count):
        chosen = order[np.arange(number * batch, (number + 1) * batch) % len(order)]
        yield trainer.iterate(number + 1, samples[chosen], labels[chosen])
