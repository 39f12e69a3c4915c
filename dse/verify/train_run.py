"""Verifying that an emitted folder trains: whole iterations, beside what was predicted for each layer."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.emit.design import Design, load_design
from dse.errors import InputError
from dse.golden import DataSet, accuracy, draw_shapes, load_npz
from dse.network import Network
from dse.registry import family_named
from dse.schedule import Schedule, build_schedule
from dse.schema import plain
from dse.verify.dram import Dram
from dse.verify.integrity import check_files
from dse.verify.lint import lint
from dse.verify.run import simulated_board
from dse.verify.simulator import build_simulator
from dse.verify.train import TrainedIteration, Trainer, train_iterations
from dse.workload import Workload

__all__ = ["TRAIN_REPORT", "LayerCycles", "TrainSettings", "TrainVerification", "verify_training"]

TRAIN_REPORT = "train.json"
"""File in the emitted folder that says what was trained."""
SAMPLES = 2500
"""Shapes drawn where no data is given; a fifth is for testing."""


@dataclass(frozen=True)
class TrainSettings:
    """How long, on what (``shapes`` or an .npz file), with which memory; ``network``: another one on the same RTL."""

    iterations: int
    data: str = "shapes"
    dram: Dram = field(default_factory=Dram)
    rate_shift: int = 4
    seed: int = 0
    network: Network | None = None


@dataclass(frozen=True)
class LayerCycles:
    """Cycles of one phase of one layer in an iteration, simulated and predicted."""

    layer: str
    phase: str
    simulated: int
    predicted: int


@dataclass(frozen=True)
class TrainVerification:
    """What came out; ``interrupted`` where the user stopped it."""

    design: Design
    schedule: Schedule
    settings: TrainSettings
    rows: tuple[TrainedIteration, ...]
    accuracy: tuple[float, float]
    """Share of the test samples that is right, before and after."""
    model_cycles: float
    """What the family predicts for an iteration on a board with the simulated memory; NaN for another network."""
    interrupted: bool = False

    @property
    def exact(self) -> bool:
        """Whether every tensor was what the golden model says after every iteration, and there was one."""
        return bool(self.rows) and all(row.exact for row in self.rows)

    def layers(self) -> list[LayerCycles]:
        """The last iteration, part by part in the order of the steps."""
        predicted: dict[tuple[str, str], int] = {}
        for step, cycles in zip(self.schedule.steps, self.schedule.step_cycles(), strict=True):
            part = (step.layer, step.phase)
            predicted[part] = predicted.get(part, 0) + cycles
        simulated = self.rows[-1].counters if self.rows else {}
        return [LayerCycles(*part, simulated.get(part, 0), cycles) for part, cycles in predicted.items()]

    def content(self) -> dict[str, Any]:
        """``train.json``, in JSON types."""
        dram = self.settings.dram
        out: dict[str, Any] = plain(
            {
                "title": self.design.title,
                "network": self.schedule.workload.network.name,
                "data": self.settings.data,
                "exact": self.exact,
                "interrupted": self.interrupted,
                "seed": self.settings.seed,
                "rate_shift": self.settings.rate_shift,
                "dram": {"latency_cycles": dram.latency, "stall": dram.stall},
                "accuracy_before": self.accuracy[0],
                "accuracy_after": self.accuracy[1],
                "iteration_cycles": {
                    "simulated": self.rows[-1].cycles if self.rows else None,
                    "predicted": self.schedule.cycles,
                    "model": self.model_cycles,
                },
                "layers": [
                    {
                        "layer": r.layer,
                        "phase": r.phase,
                        "simulated_cycles": r.simulated,
                        "predicted_cycles": r.predicted,
                    }
                    for r in self.layers()
                ],
                "iterations": [
                    {
                        "iteration": row.number,
                        "loss": row.loss,
                        "cycles": row.cycles,
                        "lane_cycles": row.steps,
                        "tensors": row.tensors,
                        "exact": row.exact,
                        "differences": list(row.differences),
                    }
                    for row in self.rows
                ],
            }
        )
        return out


def verify_training(
    folder: Path,
    settings: TrainSettings,
    on_step: Callable[[str, int, int], None] | None = None,
    on_row: Callable[[TrainedIteration], None] | None = None,
) -> TrainVerification:
    """Check hashes, lint, compile, train in simulation and compare; writes ``train.json`` into the folder.

    Stops at the first iteration that differs. Raises InputError for a folder that is not as it was written and a
    network or data that the accelerator cannot train on, ToolError where a linter or compiler complains,
    AcceleratorError where the accelerator stops.
    """
    say = on_step or (lambda step, done, total: None)
    design, hashes = load_design(folder)
    check_files(folder, hashes)
    schedule = _schedule(design, settings)
    data = _data(settings, schedule.workload)
    say("lint", 0, settings.iterations)
    lint(folder)
    say("build", 0, settings.iterations)
    trainer = Trainer(
        build_simulator(folder), schedule, settings.dram, seed=settings.seed, rate_shift=settings.rate_shift
    )
    rows: list[TrainedIteration] = []
    before, interrupted = accuracy(trainer.model, *data.test), False
    samples, labels = trainer.arithmetic.encode(data.train[0]), data.train[1]
    try:
        for row in train_iterations(trainer, samples, labels, settings.iterations):
            rows.append(row)
            say("iterations", row.number, settings.iterations)
            if on_row:
                on_row(row)
            if not row.exact:
                break
    except KeyboardInterrupt:
        interrupted = True
    finally:
        trainer.close()
    shares = (before, accuracy(trainer.model, *data.test))
    model_cycles = np.nan if settings.network else _model_cycles(design, settings.dram)
    result = TrainVerification(design, schedule, settings, tuple(rows), shares, model_cycles, interrupted)
    (folder / TRAIN_REPORT).write_text(json.dumps(result.content(), indent=2) + "\n", encoding="utf-8")
    return result


def _schedule(design: Design, settings: TrainSettings) -> Schedule:
    workload = design.workload
    if settings.network is not None:
        workload = replace(workload, network=settings.network)
    elif design.unscheduled:
        raise InputError("--train", f"the accelerator does not train this network: {design.unscheduled}")
    schedule = build_schedule(workload, design.hardware, settings.dram.latency)
    found = {"ScheduleDepth": len(schedule.words()), "Slots": schedule.tensors.slots, "Counters": schedule.counters}
    for name, need in found.items():
        if need > design.parameters[name]:
            where = f"network {workload.network.name}"
            raise InputError(where, f"needs a larger {name} than was emitted", design.parameters[name], f">= {need}")
    return schedule


def _data(settings: TrainSettings, workload: Workload) -> DataSet:
    network = workload.network
    if settings.data == "shapes":
        data = draw_shapes(network.input_shape, network.layers[-1].in_shape[0], SAMPLES, settings.seed)
    elif settings.data.lower().endswith(".npz"):
        data = load_npz(Path(settings.data), network.input_shape, settings.seed)
    else:
        raise InputError("--data", "is neither a .npz file nor drawn", settings.data, "shapes, or a name.npz")
    data.check(network, workload.batch_size)
    return data


def _model_cycles(design: Design, dram: Dram) -> float:
    point = {name: np.asarray(value) for name, value in design.point.items()}
    board, model = simulated_board(design, dram), family_named(design.family)
    estimate = model.evaluate(design.workload, board, point, reading=design.reading)
    return float(np.asarray(estimate.iteration_cycles).reshape(-1)[0])
