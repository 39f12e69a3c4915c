"""The JSON form of estimates; docs/json.md documents it. NaN and infinity become null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.estimate import BOUNDS, Estimate, LayerCosts
from dse.workload import PHASES, Workload

__all__ = ["estimate_json", "plain"]


def plain(value: Any) -> Any:
    """``value`` with numpy scalars and arrays, tuples and mappings as plain JSON types; not-finite numbers as None."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def estimate_json(workload: Workload, estimate: Estimate, index: int | None = None) -> dict[str, Any]:
    """One point of ``estimate`` (the whole of it where its shape is (), else number ``index``) as plain JSON types.

    Keys: feasible, violations (name -> used / usable - 1, the positive or unknown ones), iteration_cycles, iteration_s,
    samples_per_s, resources, power_w, energy_j, dram_bytes, dram_capacity_bytes, dram_bytes_per_s, and layers where
    the estimate has them.
    """

    def at(array: Any) -> Any:
        return array if index is None else array[index]

    out = {
        "feasible": bool(at(estimate.feasible)),
        "violations": {k: at(v) for k, v in estimate.violation.items() if not at(v) <= 0},
        "resources": {k: at(v) for k, v in estimate.resources.items()},
    }
    for name in (
        "iteration_cycles", "iteration_s", "samples_per_s", "power_w", "energy_j", "dram_bytes",
        "dram_capacity_bytes", "dram_bytes_per_s",
    ):  # fmt: skip
        out[name] = at(getattr(estimate, name))
    if estimate.layers is not None:
        out["layers"] = _layers(workload, estimate.layers, index)
    result: dict[str, Any] = plain(out)
    return result


def _layers(workload: Workload, costs: LayerCosts, index: int | None) -> list[dict[str, Any]]:
    where = () if index is None else (index,)
    rows = []
    for number, layer in enumerate(workload.network.layers):
        phases = {}
        for p, phase in enumerate(PHASES):
            cell = (*where, number, p)
            cycles = costs.cycles[cell]
            if cycles == 0 and costs.macs[number, p] == 0:
                continue
            phases[phase] = {
                "cycles": cycles,
                "macs": costs.macs[number, p],
                "mac_floor_cycles": costs.mac_floor_cycles[cell],
                "dram_bytes": costs.dram_bytes[cell],
                "bound": BOUNDS[costs.bound[cell]],
                "lost_cycles": {k: round(v[cell], 3) for k, v in costs.lost_cycles.items() if v[cell] > 1e-9 * cycles},
                "tiling": {name: sizes[cell] for name, sizes in costs.tiling.items() if sizes[cell] > 0},
            }
        rows.append({"name": layer.name, "op": layer.op, "phases": phases})
    return rows
