"""A training accelerator as a host sees it: tensors in, iterations, tensors out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import numpy as np

from dse.golden import IntegerArithmetic, Scaled
from dse.golden.operation import Parameters
from dse.host.registers import Bus, Registers
from dse.layout.blocked import Array
from dse.schedule import SPACES, Schedule, Tensor

__all__ = ["Accelerator", "Memory"]

_POLL_S = 1.0
PARAMETERS = {"weight": ("weight", "gradient"), "bias": ("bias", "bias_gradient")}
"""Name of a parameter -> kinds of its tensor and of its gradient's."""


class Memory(Protocol):
    """DRAM that host and accelerator share, from ``address`` on: on PYNQ a buffer of ``allocate``, flushed."""

    @property
    def address(self) -> int:
        """Byte address of the first byte for the accelerator."""

    def read(self, offset: int, size: int) -> bytes:
        """Bytes from ``offset``."""

    def write(self, offset: int, data: bytes) -> None:
        """Write from ``offset``."""


class Accelerator:
    """Trains the network of ``schedule`` over ``bus``; ``memory`` has one memory for each of ``SPACES``.

    The same class drives a simulation and a board. ``arithmetic`` says how samples are encoded and what the loss is;
    what it leaves to the host (the softmax) is done here.
    """

    def __init__(
        self, bus: Bus, memory: Mapping[str, Memory], schedule: Schedule, arithmetic: IntegerArithmetic
    ) -> None:
        self.registers, self.memory, self.schedule, self.arithmetic = Registers(bus), memory, schedule, arithmetic
        self._end = schedule.workload.network.layers[-1]
        self.registers.load(schedule.words())
        self.registers.place([memory[space].address for space in SPACES])
        self.registers.rate_shift(arithmetic.rate_shift)
        self.registers.seed(arithmetic.random.state)

    def put(self, tensor: Tensor, values: Array) -> None:
        """Write a tensor; vectors are [C], weights in the golden model's shape."""
        self.memory[tensor.space].write(tensor.base, tensor.pack(self._shaped(tensor, values)))

    def get(self, tensor: Tensor) -> Array:
        """Read a tensor."""
        return tensor.unpack(self.memory[tensor.space].read(tensor.base, tensor.size_bytes))

    def error_exponent(self, tensor: Tensor) -> int:
        """The exponent of an error."""
        return 0 if tensor.slot is None else self.registers.slot(tensor.slot)[1]

    def parameter_tensors(self) -> Iterator[tuple[str, str, Tensor, Tensor]]:
        """(layer, parameter, its tensor, its gradient's) of all that is trained."""
        for tensor in self.schedule.tensors:
            for name, (kind, gradient) in PARAMETERS.items():
                if tensor.kind == kind:
                    yield tensor.name, name, tensor, self.schedule.tensors[gradient, tensor.name]

    def load_parameters(self, parameters: Mapping[str, Parameters]) -> None:
        """Write the parameters of every layer."""
        for layer, name, tensor, _ in self.parameter_tensors():
            self.put(tensor, parameters[layer][name])

    def parameters(self) -> dict[str, dict[str, Array]]:
        """The parameters of every layer, as they are now."""
        found: dict[str, dict[str, Array]] = {}
        for layer, name, tensor, _ in self.parameter_tensors():
            found.setdefault(layer, {})[name] = self.get(tensor)
        return found

    def iterate(self, samples: Array, labels: Array) -> float:
        """Train on one batch: encoded ``samples`` [B, C, H, W], ``labels`` [B]; the loss, a mean over the batch.

        Raises AcceleratorError where it stops, and TimeoutError where it neither ends nor stops.
        """
        self.put(self.schedule.tensors["activation", "input"], samples)
        if self._end.op == "sum_square_error":
            self._put_targets(labels)
        self.registers.start()
        self._wait()
        if self.registers.waiting:
            self._host_step(labels)
            self.registers.resume()
            self._wait()
        return self._loss(labels)[0]

    def counters(self) -> dict[tuple[str, str], int]:
        """Cycles since the start of the last iteration, by layer and phase."""
        schedule = self.schedule
        parts = dict.fromkeys((step.layer, step.phase) for step in schedule.steps)
        return {part: self.registers.counter(schedule.counter(*part)) for part in parts}

    def _wait(self) -> None:
        for _ in range(self.patience):
            if self.registers.bus.wait(_POLL_S):
                break
        else:
            raise TimeoutError(f"no interrupt at word {self.registers.record} of the schedule")
        error = self.registers.error
        if error is not None:
            raise error

    patience = 3600
    """Seconds without an interrupt after which an iteration has failed."""

    def _loss(self, labels: Array) -> tuple[float, Scaled]:
        return self.arithmetic.wide_loss(self._end, self.get(self.schedule.outputs), labels)

    def _host_step(self, labels: Array) -> None:
        """The softmax: outputs read, the wide error written where the schedule expects it."""
        wide = self._loss(labels)[1].values
        tensor = self.schedule.loss_error
        self.put(tensor, wide.reshape(tensor.image.blocked.shape))

    def _put_targets(self, labels: Array) -> None:
        target = self.schedule.tensors["target", self.schedule.outputs.name]
        flat = np.zeros((len(labels), int(np.prod(target.image.blocked.shape[1:]))), np.int64)
        flat[np.arange(len(labels)), labels] = (1 << (self.arithmetic.bits - 1)) - 1
        self.put(target, flat)

    @staticmethod
    def _shaped(tensor: Tensor, values: Array) -> Array:
        """In the shape that is stored; weights of a fully connected layer are kernels that cover the map."""
        if values.ndim < 4 or tensor.kind not in ("weight", "gradient"):
            return values.reshape(tensor.image.blocked.shape)
        return values.reshape(values.shape[0], -1, *tensor.image.blocked.shape[2:])
