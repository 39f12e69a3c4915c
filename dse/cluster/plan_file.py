"""A plan as JSON: everything that is needed to build it and to check it again without the solver."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dse.cluster.lanes import LANES
from dse.cluster.planner import Plan
from dse.cluster.simulate import simulate
from dse.cluster.usage import RESOURCE_NAMES, Usage
from dse.errors import InputError
from dse.results import SCHEMA_VERSION
from dse.schema import plain

__all__ = ["plan_json", "read_plan", "simulation_json", "write_plan"]

MAX_SIMULATED = 64
"""Frames of a batch that are simulated: enough for a steady pipeline."""

MAX_PLAN_BYTES = 50_000_000


def plan_json(plan: Plan) -> dict[str, Any]:
    """The plan in plain JSON types; docs/cluster.md says what each key is."""
    table, found = plan.table, plan.found
    content = {
        "network": {"name": plan.network.name, "path": plan.network.path, "sha256": plan.network.digest},
        "cluster": {
            "name": table.cluster.name,
            "path": table.cluster.path,
            "sha256": table.cluster.digest,
            "nodes": [node.name for node in table.cluster.nodes],
        },
        "precision": table.precision.name,
        "reading": table.reading.name,
        "micro_batch": table.micro_batch,
        "batch_size": plan.batch_size,
        "model_parallel": dict(plan.slices),
        "notes": list(table.graph.network.notes),
        "feasible": found.placement is not None,
        "fps": found.fps if found.placement else None,
        "bound_fps": found.bound_fps,
        "gap": found.gap,
        "aggregate": _bound(found.aggregate),
        "binding": _bound(plan.binding),
        "interrupted": found.interrupted,
        "search": {"ended": found.ended, "work": sum(p.work for p in found.probes), "seconds": round(found.seconds, 3)},
        "probes": [{"fps": p.fps, "status": p.status, "work": p.work} for p in found.probes],
        "batch": _batch(plan),
        "nodes": _nodes(plan, plan.usage),
        "stages": _stages(plan),
        "edges": _edges(plan),
    }
    result: dict[str, Any] = plain(content)
    return result


def simulation_json(plan: Plan) -> dict[str, Any]:
    """A batch of the plan simulated, up to MAX_SIMULATED frames of it; the plan must have a placement."""
    assert plan.found.placement is not None
    frames = min(plan.batch_size, MAX_SIMULATED)
    done = simulate(plan.table, plan.found.placement, plan.fps, frames)
    names = ("frames", "planned_fps", "steady_fps", "batch_fps", "fill_s", "frames_s", "update_s")
    content = {name: getattr(done, name) for name in names}
    content["link_busy"] = dict(zip((n.name for n in plan.table.cluster.nodes), done.link_busy, strict=True))
    content["stages"] = [asdict(stage) for stage in done.stages]
    result: dict[str, Any] = plain(content)
    return result


def _bound(bound: Any) -> dict[str, Any]:
    return {"fps": bound.fps, "resource": bound.resource, "where": bound.where}


def _batch(plan: Plan) -> dict[str, Any] | None:
    batch = plan.batch
    if batch is None:
        return None
    names = ("batch_size", "frames_s", "latency_s", "update_s", "all_reduce_s", "total_s", "fps")
    return {name: getattr(batch, name) for name in names}


def _nodes(plan: Plan, taken: Usage | None) -> list[dict[str, Any]]:
    rows = []
    for number, node in enumerate(plan.table.cluster.nodes):
        row: dict[str, Any] = {"name": node.name, "device": node.device.name, "clock_hz": node.clock_hz}
        if taken is not None:
            row["used"] = dict(zip(RESOURCE_NAMES, taken.used[number].tolist(), strict=True))
            row["limit"] = dict(zip(RESOURCE_NAMES, taken.limit[number].tolist(), strict=True))
        rows.append(row)
    return rows


def _stages(plan: Plan) -> list[dict[str, Any]]:
    table, placement = plan.table, plan.found.placement
    if placement is None:
        return []
    rows = []
    for number, stage in enumerate(table.graph.stages):
        node = placement.node[number]
        kept = table.storages[number][placement.storage[number]]
        demand = table.demand(number, node, plan.fps, placement.storage[number])
        assert demand is not None
        rows.append({
            "name": stage.name,
            "layers": [layer.name for layer in stage.layers],
            "node": table.cluster.nodes[node].name,
            "weights": kept.weights,
            "rows": kept.rows,
            "frames": kept.frames,
            "unroll": {name: dict(zip(LANES, u, strict=True)) for name, u in demand.unroll.items()},
            "dsp": demand.dsp,
            "ram_bits": kept.ram_bits,
            "dram_read_bits": kept.dram_read_bits,
            "dram_write_bits": kept.dram_write_bits,
            "cycles": demand.cycles,
        })  # fmt: skip
    return rows


def _edges(plan: Plan) -> list[dict[str, Any]]:
    graph, placement = plan.table.graph, plan.found.placement
    rows = []
    for edge, forward, backward in zip(graph.edges, *plan.table.edge_bits(), strict=True):
        row = {
            "from": graph.stages[edge.source].name,
            "to": graph.stages[edge.target].name,
            "forward_bits": forward,
            "backward_bits": backward,
        }
        if placement is not None:
            row["crosses"] = placement.node[edge.source] != placement.node[edge.target]
        rows.append(row)
    return rows


def write_plan(content: dict[str, Any], path: Path) -> None:
    """Write ``content`` (of ``plan_json``) with the schema's version. Raises OSError."""
    path.write_text(json.dumps({"schema_version": SCHEMA_VERSION, **content}, indent=1) + "\n", encoding="utf-8")


def read_plan(path: Path) -> dict[str, Any]:
    """A plan's JSON. Raises InputError for an unreadable file, for what is no JSON object, and for another version."""
    try:
        if path.stat().st_size > MAX_PLAN_BYTES:
            raise InputError(str(path), "is too large for a plan", path.stat().st_size, f"up to {MAX_PLAN_BYTES} bytes")
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(str(path), f"is not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise InputError(str(path), "must be a JSON object", type(content).__name__)
    if content.get("schema_version") != SCHEMA_VERSION:
        raise InputError(f"{path}: schema_version", "is not supported", content.get("schema_version"), SCHEMA_VERSION)
    return content
