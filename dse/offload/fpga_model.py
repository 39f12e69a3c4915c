"""Times and power of a training step's operations on an FPGA board, from one of our families."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dse.device import Device
from dse.errors import InputError
from dse.model import ParallelismModel
from dse.models.auxiliary import moved_bytes
from dse.models.operators import stream_table
from dse.network import Layer
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


def fpga_side(
    workload: Workload,
    device: Device,
    family: ParallelismModel,
    point: Mapping[str, int] | None = None,
    *,
    watts: float = math.nan,
    trials: int = 200,
    on_progress: Callable[[int, int], None] | None = None,
) -> FpgaSide:
    """Costs of the phases that take cycles on the accelerator ``point``, or on the best one that a sweep finds.

    An operation that the family fuses into another takes at least the time of its own maps through DRAM. The board
    need not hold the whole step: a phase is left out if its own maps, gradients and weights do not fit the board's
    DRAM, and where the step does not fit, the sweep is done at the largest batch (a power of two) that does. Power is
    the board's fitted model at that design, or ``watts``; the fit's static power counts as idle where it has one, else
    the whole. Raises InputError where nothing fits the board, and where power is neither published nor given;
    KeyboardInterrupt if the sweep was interrupted.
    """
    chosen = dict(point) if point else _best(workload, device, family, trials, on_progress)
    legal = family.space(workload, device).as_point(chosen)
    estimate = family.evaluate(workload, device, legal, detail=True)
    assert estimate.layers is not None
    over = {name: float(value) for name, value in estimate.violation.items() if name != "dram_bytes"}
    if any(value > 0 for value in over.values()):
        short = ", ".join(f"{name} by {100 * value:.0f} %" for name, value in over.items() if value > 0)
        raise InputError(f"device {device.name}", f"the accelerator does not fit: over {short}")
    power = watts if not math.isnan(watts) else float(estimate.power_w)
    if math.isnan(power):
        raise InputError(f"device {device.name}", "no power is published for this board", None, "--fpga-power W")
    static_w = PowerModel.of(device).static_w if math.isnan(watts) else math.nan
    costs, alone = {}, _streaming_s(workload, device)
    for number, layer in enumerate(workload.network.layers):
        held = _held_bytes(workload, layer)
        for place, phase in enumerate(PHASES):
            seconds = float(estimate.layers.cycles[number, place]) / device.clock_hz
            if seconds > 0 and held <= device.dram_bytes:
                costs[layer.name, phase] = Cost(max(seconds, alone.get((layer.name, phase), 0.0)), power, power)
    values = ", ".join(f"{name}={int(value)}" for name, value in chosen.items())
    known = 0 < static_w < power
    idle = "" if known else "; its idle power is not known and counted as the working one"
    return FpgaSide(
        description=f"{device.name}, {family.name}, {values}, {power:.3g} W{idle}",
        costs=costs,
        idle_w=static_w if known else power,
    )


def _streaming_s(workload: Workload, device: Device) -> dict[tuple[str, str], float]:
    """Least seconds of operations beside convolution by themselves: all their streams through DRAM.

    A family that fuses a gate into the operation before it moves its mask only; alone it moves both maps.
    """
    table = stream_table(workload, sums=False)
    bytes_per_s = device.dram_bytes_per_cycle * device.clock_hz
    layers = workload.network.layers
    return {
        (layers[int(layer)].name, PHASES[int(phase)]): float(moved) / bytes_per_s
        for layer, phase, moved in zip(table.layer, table.phase, moved_bytes(workload, table), strict=True)
    }


def _held_bytes(workload: Workload, layer: Layer) -> float:
    """What a phase of a layer keeps in DRAM at most: its input, its output, weights and their gradient."""
    maps = (layer.in_elements + layer.out_elements) * workload.batch_size
    return (maps + 2 * layer.parameters) * workload.precision.bytes


def _fitting(workload: Workload, device: Device, family: ParallelismModel) -> Workload:
    """The step with the largest batch, halved from the given one, of which the board's DRAM holds everything."""
    smallest = family.space(workload, device).corner(low=True)
    size = workload.batch_size
    while size > 1:
        step = replace(workload, batch_size=size)
        if family.evaluate(step, device, smallest).violation["dram_bytes"] <= 0:
            break
        size //= 2
    return replace(workload, batch_size=size)


def _best(
    workload: Workload,
    device: Device,
    family: ParallelismModel,
    trials: int,
    on_progress: Callable[[int, int], None] | None,
) -> dict[str, int]:
    from dse.sweep import sweep

    step = _fitting(workload, device, family)
    result = sweep(
        step.network,
        device,
        [family],
        batch_sizes=[step.batch_size],
        precision=step.precision.name,
        trials=trials,
        prove=False,
        on_progress=None if on_progress is None else lambda now: on_progress(now.done, now.total),
    )
    if result.run.interrupted:
        raise KeyboardInterrupt
    (cell,) = result.cells
    if cell.best is None:
        short = ", ".join(cell.diagnosis.short) if cell.diagnosis is not None else "something unknown"
        where = f"device {device.name}, family {family.name}"
        raise InputError(where, f"no accelerator fits: short of {short}", None, "another board")
    return dict(cell.best.point)
