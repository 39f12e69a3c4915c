"""Cycles of whole training iterations in simulation against those that the schedule predicts, step by step.

python benchmarks/training_cycles.py [--preset TEXT] [--network NAME] [--latency N] [--steps N] [--build FOLDER]

Every iteration is also compared with the golden model; the exit code is 1 where one is not bit-exact, or is predicted
worse than the bar: 1.05 % in total, 3.91 % in a layer (EF-Train's own model against its board).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from figures import print_table
from training_accelerators import PRESETS, StepCounters, built, shared_hardware, workload

from dse.errors import InputError
from dse.golden import draw_shapes
from dse.networks import load_network
from dse.verify.dram import Dram
from dse.verify.train import Trainer, train_iterations

TASKS = {
    "shapes_cnn": 8,
    "shapes_residual": 8,
    "shapes_separable": 8,
    "cnn_1x": 4,
    "lenet10": 4,
    "nada_demo": 4,
    "resnet20_cifar10": 2,
}
"""Network -> samples of a batch."""
TOTAL_LIMIT, LAYER_LIMIT = 0.0105, 0.0391


@dataclass(frozen=True)
class Measured:
    """One iteration: cycles of each step, simulated and predicted."""

    schedule: StepCounters
    simulated: list[int]
    differences: tuple[str, ...]

    @property
    def total(self) -> float:
        """How far the prediction of the iteration is off."""
        return self.schedule.cycles / sum(self.simulated) - 1

    def worst_layer(self) -> tuple[float, str]:
        """The layer that is predicted worst, and how far off."""
        pairs = zip(self.schedule.steps, self.simulated, self.schedule.step_cycles(), strict=True)
        return _worst((step.layer, simulated, predicted) for step, simulated, predicted in pairs)

    def worst_step(self) -> tuple[float, str]:
        """The same of steps."""
        steps = enumerate(zip(self.schedule.steps, self.simulated, self.schedule.step_cycles(), strict=True))
        return _worst((f"{n} {s.layer} {s.phase}: {s.what}", simulated, cycles) for n, (s, simulated, cycles) in steps)

    def steps_off(self, count: int) -> list[str]:
        """The steps that are off by most cycles, a line each."""
        rows = zip(self.schedule.steps, self.simulated, self.schedule.step_cycles(), strict=True)
        wrong = [(number, *row) for number, row in enumerate(rows) if row[1] != row[2]]
        wrong.sort(key=lambda row: -abs(row[2] - row[3]))
        return [
            f"    {number:4} {step.layer:20} {step.phase:12}{step.what:24}{simulated:9}{predicted - simulated:+7}"
            for number, step, simulated, predicted in wrong[:count]
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="", help="a part of the names of presets")
    parser.add_argument("--network", action="append", choices=TASKS, help="default: all")
    parser.add_argument("--latency", type=int, default=1, help="of the memory, in cycles")
    parser.add_argument("--steps", type=int, default=0, help="also print so many steps of each that are off most")
    parser.add_argument("--build", type=Path, default=Path("build/training_cycles"), help="folder for the models")
    arguments = parser.parse_args()
    rows, missed = [], 0
    for name in PRESETS:
        if arguments.preset not in name:
            continue
        for network, measured in measure(name, arguments.network or list(TASKS), arguments.latency, arguments.build):
            rows.append(row(name, network, measured))
            missed += not kept(measured)
            print(
                "  ".join(rows[-1]), *measured.differences, *measured.steps_off(arguments.steps), sep="\n", flush=True
            )
    print_table(["preset", "network, batch", "simulated", "predicted", "off", "worst layer", "worst step"], rows)
    return int(missed > 0)


def measure(preset: str, names: list[str], latency: int, folder: Path) -> Iterable[tuple[str, Measured]]:
    """Each network that the preset's buffers have room for, after one iteration."""
    engine = PRESETS[preset]
    tasks = [workload(load_network(name), TASKS[name], engine) for name in TASKS]
    hardware = shared_hardware(engine, tasks)
    schedules = {}
    for task in tasks:
        try:
            schedules[task.network.name] = StepCounters.of(task, hardware, latency)
        except InputError as error:
            print(f"{preset}, {task.network.name}: left out: {error}", flush=True)
    begun = time.monotonic()
    library = built(list(schedules.values()), folder / re.sub(r"\W+", "_", preset))
    print(f"{preset}: compiled in {time.monotonic() - begun:.0f} s", flush=True)
    for name in names:
        if name in schedules:
            yield f"{name}, {TASKS[name]}", iterate(library, schedules[name], latency)


def iterate(library: Path, schedule: StepCounters, latency: int) -> Measured:
    """One iteration on drawn shapes."""
    network = schedule.workload.network
    trainer = Trainer(library, schedule, Dram(latency=latency))
    samples, labels = draw_shapes(network.input_shape, network.layers[-1].in_shape[0], 50, 0).train
    samples = trainer.arithmetic.encode(samples)
    done = list(train_iterations(trainer, samples, np.asarray(labels), 1))
    counters = [trainer.accelerator.registers.counter(number) for number in range(len(schedule.steps))]
    trainer.close()
    return Measured(schedule, counters, done[-1].differences)


def kept(measured: Measured) -> bool:
    """Whether it is bit-exact and within the bar."""
    exact = not measured.differences
    return exact and abs(measured.total) <= TOTAL_LIMIT and abs(measured.worst_layer()[0]) <= LAYER_LIMIT


def row(preset: str, network: str, measured: Measured) -> list[str]:
    """Cells of the table."""
    layer, step = measured.worst_layer(), measured.worst_step()
    simulated, predicted = sum(measured.simulated), measured.schedule.cycles
    return [
        preset, network, f"{simulated:,}" if not measured.differences else "NOT EXACT", f"{predicted:,}",
        f"{measured.total:+.3%}", f"{layer[0]:+.2%} {layer[1]}", f"{step[0]:+.2%} {step[1]}",
    ]  # fmt: skip


def _worst(parts: Iterable[tuple[str, int, int]]) -> tuple[float, str]:
    """The part (name, simulated, predicted) that is off most, added up by name."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for name, simulated, predicted in parts:
        sums[name][0] += simulated
        sums[name][1] += predicted
    ratios = [(predicted / simulated - 1 if simulated else 0.0, name) for name, (simulated, predicted) in sums.items()]
    return max(ratios, key=lambda ratio: abs(ratio[0]))


if __name__ == "__main__":
    sys.exit(main())
