"""A training run as it might have come out, without a simulation."""

from __future__ import annotations

from dataclasses import replace

import dse
from dse.emit import Design
from dse.engine import EngineParameters
from dse.schedule import build_schedule, least_hardware
from dse.verify.train import TrainedIteration
from dse.verify.train_run import TrainSettings, TrainVerification
from tests.schedule.made_networks import NETWORKS, made_workload

__all__ = ["LOSSES", "made_up_training"]

LOSSES = (2.5, 1.25, 0.5)
ENGINE = EngineParameters(um=4, un=4, channel_block=4)


def made_up_training(name: str = "residual", rows: int = len(LOSSES)) -> TrainVerification:
    """``rows`` iterations of a residual block called ``name``, whose cycles are 2 % above those predicted."""
    workload = made_workload(replace(NETWORKS["residual"], name=name))
    schedule = build_schedule(workload, least_hardware(workload.network, ENGINE))
    predicted: dict[tuple[str, str], int] = {}
    for step, cycles in zip(schedule.steps, schedule.step_cycles(), strict=True):
        predicted[step.layer, step.phase] = predicted.get((step.layer, step.phase), 0) + cycles
    counters = {part: round(1.02 * cycles) for part, cycles in predicted.items()}
    total = sum(counters.values())
    design = Design(workload, dse.load_device("zcu102"), "channel", "", {"tm": 4, "tn": 4}, ENGINE, {})
    found = [
        TrainedIteration(number, loss, total, total // 2, counters, (), 40)
        for number, loss in enumerate(LOSSES[:rows], 1)
    ]
    settings = TrainSettings(rows, data=f"{name}.npz")
    return TrainVerification(design, schedule, settings, tuple(found), (0.25, 0.75), float("nan"))
