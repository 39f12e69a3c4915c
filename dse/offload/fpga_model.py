"""Times and power of a training step's operations on an FPGA board, from one of our families."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dse.device import Device
from dse.errors import InputError
from dse.model import ParallelismModel
from dse.offload.profile import Cost
from dse.power import PowerModel
from dse.workload import PHASES, Workload

__all__ = ["FpgaSide", "fpga_side"]


@dataclass(frozen=True)
class FpgaSide:
    """One accelerator: the design, its phases' costs, its power in watts when it waits."""

    description: str
    costs: Mapping[tuple[str, str], Cost]
    idle_w: float
    lanes: int


def fpga_side(
    workload: Workload,
    device: Device,
    family: ParallelismModel,
    point: Mapping[str, int] | None = None,
    *,
    watts: float = math.nan,
    trials: int = 200,
) -> FpgaSide:
    """Costs of the phases that take cycles on the accelerator ``point``, or on the best one that a sweep finds.

    Power is the board's fitted model at that design, or ``watts``; the fit's static power counts as idle where it has
    one, else the whole. Raises InputError where nothing fits the board, and where power is neither published nor given.
    """
    chosen = dict(point) if point else _best(workload, device, family, trials)
    legal = family.space(workload, device).as_point(chosen)
    estimate = family.evaluate(workload, device, legal, detail=True)
    assert estimate.layers is not None
    if not bool(estimate.feasible):
        short = ", ".join(f"{name} {100 * float(v):.0f} %" for name, v in estimate.violation.items() if float(v) > 0)
        raise InputError(f"device {device.name}", "the accelerator does not fit; over by", short, "a smaller batch")
    power = watts if not math.isnan(watts) else float(estimate.power_w)
    if math.isnan(power):
        raise InputError(f"device {device.name}", "no power is published for this board", None, "--fpga-power W")
    static_w = PowerModel.of(device).static_w if math.isnan(watts) else math.nan
    costs = {}
    for number, layer in enumerate(workload.network.layers):
        for place, phase in enumerate(PHASES):
            seconds = float(estimate.layers.cycles[number, place]) / device.clock_hz
            if seconds > 0:
                costs[layer.name, phase] = Cost(seconds, power, power)
    values = ", ".join(f"{name}={int(value)}" for name, value in chosen.items())
    return FpgaSide(
        description=f"{device.name}, {family.name}, {values}",
        costs=costs,
        idle_w=static_w if 0 < static_w < power else power,
        lanes=math.prod(int(chosen[name]) for name in family.lanes_of),
    )


def _best(workload: Workload, device: Device, family: ParallelismModel, trials: int) -> dict[str, int]:
    from dse.sweep import sweep

    cell = sweep(
        workload.network,
        device,
        [family],
        batch_sizes=[workload.batch_size],
        precision=workload.precision.name,
        trials=trials,
        prove=False,
    ).cells[0]
    if cell.best is None:
        short = "" if cell.diagnosis is None else ", ".join(cell.diagnosis.short)
        where = f"device {device.name}, family {family.name}"
        raise InputError(where, "no accelerator fits; short of", short or "unknown", "a smaller batch or another board")
    return dict(cell.best.point)
