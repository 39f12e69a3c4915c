"""Accelerators to train on, compiled once, and a batch of random samples for any network that they can train."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.emit import Design
from dse.layout.blocked import Array
from dse.network import Network
from dse.schedule import Schedule, build_schedule
from dse.verify.dram import Dram
from dse.verify.train import TrainedIteration, Trainer, train_iterations
from tests.schedule.made_networks import made_workload

__all__ = ["PRESETS", "Bench", "Offs", "Open", "offs", "samples"]

WORDS = {"ifm_words": 512, "ofm_words": 512, "wei_words": 512}
PRESETS: dict[str, tuple[str, dict[str, int], dict[str, Any]]] = {
    "batch": ("batch", {"t_b": 4, "t_i": 4}, {}),
    "channel": ("channel", {"tm": 4, "tn": 4, **WORDS}, {"optimiser": "momentum"}),
    "feature_map": ("feature_map", {"tf_rows": 2, "tf_cols": 3, "tm": 2, **WORDS}, {}),
    "hybrid": (
        "hybrid",
        {"layout": 3, "ub": 3, "um": 3, "un": 6, "ur": 1, "uc": 2, **WORDS},
        {"precision": "int16", "optimiser": "momentum"},
    ),
}
"""Name -> family, point, and what else the design is of; one with momentum also trains without."""


@dataclass(frozen=True)
class Offs:
    """Predicted less simulated cycles, as shares of the simulated ones: of the iteration, and by layer."""

    total: float
    layers: dict[str, float]


@dataclass(frozen=True)
class Bench:
    """One emitted accelerator and its compiled model."""

    design: Design
    folder: Path
    library: Path

    def schedule(self, network: Network, batch_size: int, dram: Dram | None = None, optimiser: str = "sgd") -> Schedule:
        """``network`` on this accelerator."""
        workload = made_workload(network, batch_size, self.design.engine.operand_bits, optimiser)
        return build_schedule(workload, self.design.hardware, (dram or Dram()).latency)

    @contextmanager
    def trainer(self, schedule: Schedule, dram: Dram | None = None, seed: int = 1) -> Iterator[Trainer]:
        """The accelerator beside the golden model."""
        trainer = Trainer(self.library, schedule, dram or Dram(), seed=seed)
        try:
            yield trainer
        finally:
            trainer.close()

    def train(
        self, network: Network, batch_size: int, dram: Dram | None = None, count: int = 2, optimiser: str = "sgd"
    ) -> tuple[Schedule, list[TrainedIteration]]:
        """``count`` iterations on random samples."""
        schedule = self.schedule(network, batch_size, dram, optimiser)
        with self.trainer(schedule, dram) as trainer:
            return schedule, list(train_iterations(trainer, *samples(trainer, 3 * batch_size), count))


Open = Callable[[str], Bench]
"""Name of a preset -> its accelerator."""


def samples(trainer: Trainer, count: int, seed: int = 2) -> tuple[Array, Array]:
    """``count`` encoded samples, from -1 to 1 before that, and their labels."""
    network, rng = trainer.schedule.workload.network, np.random.default_rng(seed)
    drawn = rng.uniform(-1, 1, (count, *network.input_shape)).astype(np.float32)
    return trainer.arithmetic.encode(drawn), rng.integers(0, network.layers[-1].in_shape[0], count)


def offs(schedule: Schedule, row: TrainedIteration) -> Offs:
    """How far the prediction is from what was simulated."""
    predicted: dict[str, int] = {}
    for step, cycles in zip(schedule.steps, schedule.step_cycles(), strict=True):
        predicted[step.layer] = predicted.get(step.layer, 0) + cycles
    simulated = dict.fromkeys(predicted, 0)
    for (layer, _), cycles in row.counters.items():
        simulated[layer] += cycles
    layers = {layer: predicted[layer] / simulated[layer] - 1 for layer in predicted}
    return Offs(schedule.cycles / row.cycles - 1, layers)
