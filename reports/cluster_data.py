"""What a cluster's plan and its scaling show, as data frames: placement, use of nodes, timeline, scaling curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dse.cluster.lanes import lanes_text

__all__ = ["RESOURCE_TITLES", "edge_data", "scaling_data", "stage_data", "timeline_data", "usage_data"]

RESOURCE_TITLES = {
    "dsp": "DSP",
    "ram_bits": "RAM",
    "dram_read_bits_per_s": "DRAM read",
    "dram_write_bits_per_s": "DRAM write",
    "egress_bits_per_s": "egress",
    "ingress_bits_per_s": "ingress",
    "connections": "connections",
}
"""Resource of a node in a plan -> title, in the order of the figure."""


def stage_data(plan: Mapping[str, Any]) -> pd.DataFrame:
    """One row a stage in topological order: position, stage, layers, node, weights, lanes, dsp, ram_mb, depth.

    ``depth`` counts how often the way from the input has crossed the network.
    """
    depth = _depths(plan)
    rows = [
        {
            "position": position, "stage": stage["name"], "layers": len(stage["layers"]), "node": stage["node"],
            "weights": stage["weights"], "dsp": stage["dsp"], "ram_mb": stage["ram_bits"] / 1e6,
            "lanes": "; ".join(lanes_text(u) for u in stage["unroll"].values()),
            "depth": depth[stage["name"]],
        }
        for position, stage in enumerate(plan["stages"])
    ]  # fmt: skip
    return pd.DataFrame(rows)


def _depths(plan: Mapping[str, Any]) -> dict[str, int]:
    depth: dict[str, int] = {}
    for stage in plan["stages"]:
        into = [e for e in plan["edges"] if e["to"] == stage["name"] and e["from"] in depth]
        depth[stage["name"]] = max((depth[e["from"]] + e["crosses"] for e in into), default=0)
    return depth


def edge_data(plan: Mapping[str, Any]) -> pd.DataFrame:
    """One row an edge: source, target (positions of stages), crosses, bits_per_s (the larger direction)."""
    position = {stage["name"]: number for number, stage in enumerate(plan["stages"])}
    rows = [
        {
            "source": position[edge["from"]],
            "target": position[edge["to"]],
            "crosses": bool(edge["crosses"]),
            "bits_per_s": max(edge["forward_bits"], edge["backward_bits"]) * plan["fps"],
        }
        for edge in plan["edges"]
    ]
    return pd.DataFrame(rows, columns=["source", "target", "crosses", "bits_per_s"])


def usage_data(plan: Mapping[str, Any]) -> pd.DataFrame:
    """One row a node and resource: node, device, resource, used, limit, share (NaN where there is no limit)."""
    rows = [
        {
            "node": node["name"], "device": node["device"], "resource": resource,
            "used": node["used"][resource], "limit": node["limit"][resource],
            "share": node["used"][resource] / node["limit"][resource] if node["limit"][resource] else math.nan,
        }
        for node in plan["nodes"]
        for resource in RESOURCE_TITLES
    ]  # fmt: skip
    return pd.DataFrame(rows)


def timeline_data(plan: Mapping[str, Any]) -> pd.DataFrame:
    """One row a stage, direction and frame of the simulated batch: stage, position, node, phase, frame, end_s.

    The last rows are the update of all stages (phase ``update``, frame -1). Empty where nothing was simulated.
    """
    columns = ["stage", "position", "node", "phase", "frame", "end_s"]
    done = plan.get("simulation")
    if not done:
        return pd.DataFrame(columns=columns)
    rows = [
        (stage["name"], position, stage["node"], phase, frame, end_s)
        for position, stage in enumerate(done["stages"])
        for phase, ends in (("forward", stage["forward_end_s"]), ("backward", stage["backward_end_s"]))
        for frame, end_s in enumerate(ends)
    ]
    total_s = done["frames_s"] + done["update_s"]
    rows += [(s["name"], p, s["node"], "update", -1, total_s) for p, s in enumerate(done["stages"])]
    return pd.DataFrame(rows, columns=columns)


def scaling_data(plans: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """One row a plan: nodes, fps (NaN where none was found), aggregate_fps, bound_fps, batch_fps, binding."""
    rows = [
        {
            "nodes": len(plan["nodes"]),
            "fps": plan["fps"] if plan["feasible"] else math.nan,
            "aggregate_fps": plan["aggregate"]["fps"],
            "bound_fps": plan["bound_fps"],
            "batch_fps": plan["batch"]["fps"] if plan["feasible"] else math.nan,
            "binding": f"{plan['binding']['resource']}: {plan['binding']['where']}",
        }
        for plan in plans
    ]
    return pd.DataFrame(rows)
