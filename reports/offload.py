"""A simulated training step on GPUs and FPGAs as a page: the timeline, the power, what was offloaded, what it gains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from dse._version import __version__
from dse.offload.schedule import Schedule
from dse.offload.simulation import Simulation
from dse.reports.offload_figure import power_figure, timeline_figure
from dse.reports.offload_timeline import power_data, timeline_data
from dse.reports.shell import fill_page, read_part, write_page
from dse.reports.text import escape, percent, seconds, significant
from dse.reports.theme import embed

__all__ = ["comparison_data", "render_offload", "write_offload_report"]


def write_offload_report(
    simulation: Simulation, path: Path, assumptions: Mapping[str, str], argv: Sequence[str] = ()
) -> None:
    """Write the page to ``path``, whole or not at all. Raises OSError where the file cannot be written."""
    write_page(render_offload(simulation, assumptions, argv), path)


def render_offload(simulation: Simulation, assumptions: Mapping[str, str], argv: Sequence[str] = ()) -> str:
    """The page; the same simulation gives the same text. ``argv`` is the command, printed where given."""
    stated = {**assumptions, **simulation.platform.assumptions()}
    items = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in stated.items())
    command = f'<p class="argv"><code>{escape(" ".join(argv))}</code></p>' if argv else ""
    return fill_page(
        title=f"{simulation.graph.name}: which operations an FPGA takes over",
        head=f"<dl>{items}</dl>{command}",
        answers=f"<li>{escape(_answer(simulation))}</li>",
        panels=_panel(simulation),
        notes=read_part("offload_notes.html"),
        version=__version__,
    )


def comparison_data(simulation: Simulation) -> pd.DataFrame:
    """Rows ``gpu_only`` and ``hybrid`` (those that the cap allows); columns seconds, samples_per_s, mean_w, peak_w,
    energy_j, samples_per_j.
    """
    plans = {"gpu_only": simulation.plan.baseline, "hybrid": simulation.plan.schedule}
    rows = {name: _totals(simulation, schedule) for name, schedule in plans.items() if schedule is not None}
    return pd.DataFrame.from_dict(rows, orient="index")


def _totals(simulation: Simulation, schedule: Schedule) -> dict[str, float]:
    return {
        "seconds": schedule.seconds,
        "samples_per_s": simulation.samples_per_s(schedule),
        "mean_w": schedule.mean_w,
        "peak_w": schedule.peak_w,
        "energy_j": schedule.energy_j,
        "samples_per_j": simulation.graph.samples / schedule.energy_j if schedule.energy_j else math.nan,
    }


def _answer(simulation: Simulation) -> str:
    plan = simulation.plan
    if plan.schedule is None:
        return f"No assignment of operations stays within {simulation.platform.cap_w:g} W."
    moved = f"{len(plan.schedule.offloaded)} of {len(simulation.graph.candidates)} operations go to FPGAs"
    if plan.baseline is None:
        return f"{moved}; the GPUs alone cannot keep the cap."
    faster, energy = plan.throughput_ratio - 1, 1 - plan.energy_ratio
    gain = f"{percent(abs(faster))} {'more' if faster >= 0 else 'less'} throughput"
    spent = f"{percent(abs(energy))} {'less' if energy >= 0 else 'more'} energy a step"
    return f"{moved}: {gain}, {spent} than the GPUs alone."


def _panel(simulation: Simulation) -> str:
    parts = [f"<h2>{escape(simulation.graph.name)}</h2>", _comparison(simulation)]
    if simulation.plan.schedule is not None:
        timeline = timeline_data(simulation)
        caption = "Who does what when. Hover for the operation, its time and its power."
        parts += [
            "<h3>Timeline</h3>",
            embed(timeline_figure(timeline), "timeline", caption),
            "<h3>Power</h3>",
            embed(power_figure(power_data(simulation), simulation.platform.cap_w), "power", _power_caption(simulation)),
            "<h3>What goes to FPGAs</h3>",
            _kinds(simulation),
        ]
    return f'<section class="panel" id="panel-1">{"".join(parts)}</section>'


def _power_caption(simulation: Simulation) -> str:
    cap_w = simulation.platform.cap_w
    cap = f" The dashed line is the cap, {cap_w:g} W of peak power." if cap_w < math.inf else ""
    return f"Mean power of the operations that run, over the step.{cap}"


_TITLES = {
    "seconds": "time per iteration", "samples_per_s": "samples per second", "mean_w": "mean power (W)",
    "peak_w": "peak power (W)", "energy_j": "energy per iteration (J)", "samples_per_j": "samples per joule",
}  # fmt: skip


def _comparison(simulation: Simulation) -> str:
    data = comparison_data(simulation)
    heads = {"gpu_only": "GPU only", "hybrid": "with FPGA"}
    rows = ""
    for column, title in _TITLES.items():
        cells = ""
        for name in heads:
            shown = "over the cap"
            if name in data.index:
                value = float(data[column].to_dict()[name])
                shown = seconds(value) if column == "seconds" else significant(value)
            cells += f"<td>{escape(shown)}</td>"
        rows += f'<tr><th scope="row">{escape(title)}</th>{cells}</tr>'
    columns = "".join(f'<th scope="col">{escape(text)}</th>' for text in ("", *heads.values()))
    return f'<div class="wide"><table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>'


def _kinds(simulation: Simulation) -> str:
    moved = [kind for kind in simulation.kinds if kind.offloaded]
    if not moved:
        return "<p>Nothing: under these assumptions every operation is best left on the GPU.</p>"
    columns = "".join(
        f'<th scope="col">{escape(text)}</th>' for text in ("operation", "phase", "tasks", "on the GPU", "on the FPGA")
    )
    rows = "".join(
        f'<tr><th scope="row">{escape(kind.op)}</th><td>{escape(kind.phase)}</td>'
        f"<td>{kind.offloaded} of {kind.tasks}</td><td>{escape(seconds(kind.gpu_s))}</td>"
        f"<td>{escape(seconds(kind.fpga_s))}</td></tr>"
        for kind in moved
    )
    return f'<div class="wide"><table><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>'
