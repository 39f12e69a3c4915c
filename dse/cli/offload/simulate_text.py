"""A simulated step as tables and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.cli.output import Table, joules, number, print_tables, seconds, share
from dse.schema import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dse.offload.schedule import Schedule
    from dse.offload.simulation import Simulation

__all__ = ["print_simulation", "simulation_json"]


def simulation_json(simulation: Simulation, assumptions: Mapping[str, str]) -> dict[str, Any]:
    """Assumptions, the plan and the GPUs alone, ratios, bounds, kinds of operations, runs and transfers."""
    plan = simulation.plan
    out = {
        "assumptions": {**assumptions, **simulation.platform.assumptions()},
        "goal": plan.goal,
        "proof": plan.proof,
        "evaluated": plan.evaluated,
        "interrupted": plan.interrupted,
        "gpu_only": _totals(simulation, plan.baseline),
        "hybrid": _totals(simulation, plan.schedule),
        "throughput_ratio": plan.throughput_ratio,
        "energy_ratio": plan.energy_ratio,
        "efficiency_ratio": 1 / plan.energy_ratio if plan.energy_ratio else math.nan,
        "lower_bound": asdict(simulation.bound),
        "critical_path": simulation.critical_path,
        "critical_path_s": simulation.critical_s,
        "kinds": [asdict(kind) for kind in simulation.kinds],
        "runs": [asdict(run) for run in plan.schedule.runs] if plan.schedule else [],
        "transfers": [asdict(t) for t in plan.schedule.transfers] if plan.schedule else [],
    }
    content: dict[str, Any] = plain(out)
    return content


def _totals(simulation: Simulation, schedule: Schedule | None) -> dict[str, Any] | None:
    if schedule is None:
        return None
    return {
        "iteration_s": schedule.seconds,
        "samples_per_s": simulation.samples_per_s(schedule),
        "mean_power_w": schedule.mean_w,
        "peak_power_w": schedule.peak_w,
        "energy_j": schedule.energy_j,
        "offloaded": sorted(schedule.offloaded),
    }


def print_simulation(simulation: Simulation, assumptions: Mapping[str, str]) -> None:
    """The comparison, what is offloaded, and every assumption."""
    plan = simulation.plan
    stated = {**assumptions, **simulation.platform.assumptions()}
    tables = [_comparison(simulation)] if plan.schedule or plan.baseline else []
    if plan.schedule is not None:
        tables.append(_kinds(simulation))
    print_tables(*tables, Table("assumptions", ("", ""), list(stated.items()), "ll"))
    print()
    if plan.schedule is None:
        print(f"no assignment of operations stays within {simulation.platform.cap_w:g} W")
        return
    print(_bound_text(simulation, plan.schedule))
    tried = f"{plan.evaluated} assignments tried"
    print(f"{tried}: all there are" if plan.proof == "exhaustive" else f"{tried}, best kept")
    print("a scenario from the assumptions above, not a measurement; the schedule passed an independent check")


def _bound_text(simulation: Simulation, schedule: Schedule) -> str:
    """How far the goal's figure is from what no schedule can undercut."""
    bound = simulation.bound
    if simulation.plan.goal == "cap":
        gap = schedule.seconds / bound.seconds - 1 if bound.seconds else math.nan
        return (
            f"without the cap no schedule takes less than {seconds(bound.seconds)}; this is {share(gap, '.1f')} above"
        )
    gap = schedule.energy_j / bound.energy_j - 1 if bound.energy_j else math.nan
    return f"no schedule takes less than {joules(bound.energy_j, 2)} J; this is {share(gap, '.1f')} above"


def _gigabytes(schedule: Schedule) -> float:
    return sum(transfer.count_bytes for transfer in schedule.transfers) / 1e9


def _comparison(simulation: Simulation) -> Table:
    plan = simulation.plan
    both = (plan.baseline, plan.schedule)
    faster, energy = plan.throughput_ratio, plan.energy_ratio

    def row(title: str, text: Callable[[Schedule], str], change: str) -> tuple[str, ...]:
        return (title, *(text(schedule) if schedule is not None else "over the cap" for schedule in both), change)

    rows = [
        row("time per iteration", lambda s: seconds(s.seconds), _change(1 / faster)),
        row("samples per second", lambda s: number(simulation.samples_per_s(s), 1), _change(faster)),
        row("mean power, W", lambda s: number(s.mean_w, 1), _change(energy * faster)),
        row("peak power, W", lambda s: number(s.peak_w, 1), ""),
        row("energy per iteration, J", lambda s: joules(s.energy_j, 2), _change(energy)),
        row("samples per joule", lambda s: number(simulation.graph.samples / s.energy_j, 3), _change(1 / energy)),
    ]
    title = f"{simulation.graph.name}, goal {plan.goal}"
    return Table(title, ("", "GPU only", "with FPGA", ""), rows, "lrrr")


def _change(ratio: float) -> str:
    return share(ratio - 1, "+.1f") if math.isfinite(ratio) else ""


def _kinds(simulation: Simulation) -> Table:
    rows = [
        (kind.op, kind.phase, f"{kind.offloaded} of {kind.tasks}", seconds(kind.gpu_s), seconds(kind.fpga_s))
        for kind in simulation.kinds
        if kind.offloaded
    ]
    total = sum(kind.offloaded for kind in simulation.kinds)
    title = f"offloaded: {total} of {sum(kind.tasks for kind in simulation.kinds)} operations that an FPGA could run"
    if not rows:
        return Table(f"{title}: each is best left on the GPU", ("",), (), "l")
    return Table(title, ("operation", "phase", "tasks", "on the GPU", "on the FPGA"), rows, "llrrr")
