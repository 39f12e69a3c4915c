"""A cluster's plan, or plans for several numbers of nodes, as one offline page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse._version import __version__
from dse.reports.cluster_data import edge_data, scaling_data, stage_data, timeline_data, usage_data
from dse.reports.cluster_figure import placement_figure, scaling_figure, timeline_figure, usage_figure
from dse.reports.shell import fill_page, write_page
from dse.reports.text import escape, percent
from dse.reports.theme import embed

__all__ = ["render_cluster", "write_cluster_report"]

_NOTES = (
    "<p>Analytic costs of every layer's engine; nothing was measured on boards. The throughput is the highest at which "
    "the placement fits; the bound is proven. Constants beside NADA's Tables I and III are assumed: "
    "dse/cluster/costs.toml says which.</p>"
)


def write_cluster_report(plans: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the page of ``plans`` (of ``plan_json``) to ``path``, whole or not at all. Raises OSError."""
    write_page(render_cluster(plans), path)


def render_cluster(plans: Sequence[Mapping[str, Any]]) -> str:
    """The page: the scaling curve where there are several plans, then each plan that has a placement."""
    first = plans[0]
    sections = [_scaling(plans)] if len(plans) > 1 else []
    sections += [_plan(plan, number) for number, plan in enumerate(plans) if plan["feasible"]]
    facts = {
        "network": first["network"]["name"],
        "cluster": f"{first['cluster']['name']}, {_counts(plans)} nodes",
        "precision": first["precision"],
        "reading": f"{first['reading']}, micro-batch {first['micro_batch']}, batch {first['batch_size']}",
        **{f"note {number}": note for number, note in enumerate(first["notes"], 1)},
    }
    return fill_page(
        title=f"{first['network']['name']} on a cluster",
        head="<dl>"
        + "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in facts.items())
        + "</dl>",
        answers="".join(f"<li>{escape(_answer(plan))}</li>" for plan in plans),
        panels="".join(sections) or "<p>Nothing fits.</p>",
        notes=_NOTES,
        version=__version__,
    )


def _counts(plans: Sequence[Mapping[str, Any]]) -> str:
    counts = [len(plan["nodes"]) for plan in plans]
    return str(counts[0]) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def _answer(plan: Mapping[str, Any]) -> str:
    nodes = f"{len(plan['nodes'])} nodes"
    if not plan["feasible"]:
        why = (plan.get("explanation") or {}).get("missing", "no placement was found")
        return f"{nodes}: does not fit; {why}"
    text = (
        f"{nodes}: {plan['fps']:,.1f} frames per second, {percent(plan['gap'], 2)} below the proven bound, "
        f"{plan['batch']['fps']:,.1f} with fill, drain and update; bound by {plan['binding']['resource']} of "
        f"{plan['binding']['where']}"
    )
    done = plan.get("simulation")
    return f"{text}; simulated {done['steady_fps']:,.1f}" if done and done["steady_fps"] else text


def _scaling(plans: Sequence[Mapping[str, Any]]) -> str:
    caption = "Throughput by number of nodes. Dashed: what all nodes allow together; the knee is where one edge binds."
    body = embed(scaling_figure({"planned": scaling_data(plans)}), "scaling", caption)
    return f'<section class="panel" id="panel-scaling"><h2>Scaling</h2>{body}</section>'


def _plan(plan: Mapping[str, Any], number: int) -> str:
    parts = [f"<h2>{len(plan['nodes'])} nodes</h2>", "<h3>Placement</h3>"]
    caption = "Every stage on its node, from the input to the loss. Hover for lanes, DSPs and RAM."
    parts.append(embed(placement_figure(stage_data(plan), edge_data(plan)), f"placement-{number}", caption))
    parts += ["<h3>Use of every node</h3>"]
    parts.append(embed(usage_figure(usage_data(plan)), f"usage-{number}", "Per cent of what the planner may use."))
    timeline = timeline_data(plan)
    if not timeline.empty:
        caption = (
            "The simulated batch: each line is a frame passing the stages, forward and back; the band is the update."
        )
        parts += ["<h3>A batch in the pipeline</h3>", embed(timeline_figure(timeline), f"timeline-{number}", caption)]
    return f'<section class="panel" id="panel-{number}">{"".join(parts)}</section>'
