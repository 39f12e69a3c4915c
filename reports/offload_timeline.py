"""The timeline and the power of a simulated step as data frames."""

from __future__ import annotations

import pandas as pd

from dse.offload.platform import Platform
from dse.offload.schedule import Schedule, power_steps
from dse.offload.simulation import Simulation

__all__ = ["power_data", "timeline_data"]

_COLUMNS = ("lane", "name", "op", "phase", "start_s", "end_s", "watts", "level", "count_bytes")


def timeline_data(simulation: Simulation) -> pd.DataFrame:
    """One row a run and a transfer; columns lane, name, op, phase, start_s, end_s, watts, level, count_bytes.

    Lanes: ``gpu0, GPU only`` (the baseline), then each unit, then each link by the unit where transfers arrive
    (``link to fpga0``, phase ``transfer``). Runs that take no time are left out.
    """
    plan = simulation.plan
    rows: list[dict[str, object]] = []
    if plan.baseline is not None:
        rows += _runs(simulation, plan.baseline, ", GPU only")
    if plan.schedule is not None:
        rows += _runs(simulation, plan.schedule, "")
        rows += [
            {
                "lane": f"link to {t.target}", "name": t.tensor, "op": "", "phase": "transfer", "start_s": t.start_s,
                "end_s": t.end_s, "watts": 0.0, "level": 1.0, "count_bytes": t.count_bytes,
            }
            for t in plan.schedule.transfers
            if t.end_s > t.start_s
        ]  # fmt: skip
    return pd.DataFrame(rows, columns=_COLUMNS)


def _runs(simulation: Simulation, schedule: Schedule, suffix: str) -> list[dict[str, object]]:
    tasks = simulation.graph.by_name
    return [
        {
            "lane": f"{run.unit}{suffix}", "name": run.task, "op": tasks[run.task].op, "phase": tasks[run.task].phase,
            "start_s": run.start_s, "end_s": run.end_s, "watts": run.watts, "level": run.level, "count_bytes": 0.0,
        }
        for run in sorted(schedule.runs, key=lambda run: (run.unit, run.start_s))
        if run.end_s > run.start_s
    ]  # fmt: skip


def power_data(simulation: Simulation) -> pd.DataFrame:
    """Columns plan (``GPU only``, ``with FPGA``), time_s, watts: the power from each time on, up to the step's end."""
    machine, plan = simulation.platform, simulation.plan
    frames = []
    if plan.baseline is not None:
        frames.append(_steps("GPU only", plan.baseline, machine.without_fpgas()))
    if plan.schedule is not None:
        frames.append(_steps("with FPGA", plan.schedule, machine))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["plan", "time_s", "watts"])


def _steps(name: str, schedule: Schedule, machine: Platform) -> pd.DataFrame:
    steps = power_steps(schedule.runs, machine)
    return pd.DataFrame({"plan": name, "time_s": [t for t, _ in steps], "watts": [w for _, w in steps]})
