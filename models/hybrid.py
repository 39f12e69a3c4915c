"""Any of samples, channels, rows and columns in space, on any of three DRAM layouts: the other families are settings.

A layout decides how maps lie in DRAM, and with that which schedule the lanes run. *Streamed* maps (DarkFPGA's CHWB) are
read as matrix products without keeping more than a small tile: ``ub`` samples by ``un`` products, as in the batch
family. *Planar* and *blocked* maps are cut into tiles (see ``tile_geometry``) on which all five unroll factors work.
What a point costs is what the formulas of its schedule say, the same as for the other families.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import RESOURCES, Float
from dse.model import Costs, ParallelismModel, Tiling, Totals
from dse.models import FAMILIES
from dse.models.batch import Batch
from dse.models.channel import Channel
from dse.models.feature_map import FeatureMap
from dse.models.tile_geometry import BUFFERS, TileGeometry
from dse.models.tiled import READINGS, SETTINGS, TiledModel
from dse.models.tiling import TiledReading
from dse.rtl_shape import RtlShape
from dse.space import DesignPoint, Parameter, SearchSpace
from dse.workload import Workload

__all__ = ["CONTAINED", "LAYOUTS", "Contained", "Hybrid"]

LAYOUTS = {"streamed": 1, "planar": 2, "blocked": 3}
"""Name of a DRAM layout -> value of the parameter ``layout``."""

_UNROLLED = {"b": "ub", "m": "um", "n": "un", "r": "ur", "c": "uc"}
_IDLE = ("um", "ur", "uc")
"""What the streamed schedule does not unroll."""


_MEANINGS = {
    "ub": ("samples in parallel", "samples"),
    "um": ("output channels in parallel", "channels"),
    "un": ("input channels in parallel (streamed: products)", "channels"),
    "ur": ("output rows in parallel", "rows"),
    "uc": ("output columns in parallel", "columns"),
}


@dataclass(frozen=True)
class Contained:
    """How a point of another family is written as one of this family."""

    layout: int
    names: Mapping[str, str]
    """This family's parameter -> the other's; unroll factors that are not named are 1."""

    @property
    def fixed(self) -> dict[str, int]:
        """The values that this family's parameters have at all points of the other."""
        return {"layout": self.layout} | {name: 1 for name in _UNROLLED.values() if name not in self.names}


_SAME = {name: name for name in BUFFERS}
CONTAINED: Mapping[str, Contained] = {
    "batch": Contained(LAYOUTS["streamed"], {"ub": "t_b", "un": "t_i"}),
    "feature_map": Contained(LAYOUTS["planar"], {"um": "tm", "ur": "tf_rows", "uc": "tf_cols", **_SAME}),
    "channel": Contained(LAYOUTS["blocked"], {"um": "tm", "un": "tn", **_SAME}),
}
"""The families that are settings of this one."""


_FAMILIES: Mapping[str, ParallelismModel] = {"batch": Batch(), "feature_map": FeatureMap(), "channel": Channel()}


class _Tiles(TiledModel):
    """The schedule on tiles: all five unroll factors, one layout."""

    name = "hybrid"
    title = FAMILIES["hybrid"].title
    reference = FAMILIES["hybrid"].reference
    precisions = ("int8", "int16", "bf16", "fp32")
    lanes_of = tuple(_UNROLLED.values())
    readings: ClassVar[Mapping[str, str]] = READINGS
    settings: ClassVar[Mapping[str, TiledReading]] = SETTINGS

    def _space(self, workload: Workload, device: Device) -> SearchSpace:
        """Every axis as far as any of the contained families goes on it."""
        spaces = {name: family.space(workload, device) for name, family in _FAMILIES.items()}
        streamed = ("layout", LAYOUTS["streamed"])
        unrolled = []
        for ours, (meaning, unit) in _MEANINGS.items():
            most = max(
                int(spaces[name][contained.names[ours]].values[-1])
                for name, contained in CONTAINED.items()
                if ours in contained.names
            )
            idle = streamed if ours in _IDLE else None
            unrolled.append(Parameter(ours, np.arange(1, most + 1), meaning, unit, idle=idle))
        buffers = [replace(p, idle=streamed) for p in self._buffer_parameters(workload, device, unrolled)]
        meaning = "maps in DRAM: " + ", ".join(f"{value} {name}" for name, value in LAYOUTS.items())
        layout = Parameter("layout", np.array(list(LAYOUTS.values())), meaning, "", choice=True)
        return SearchSpace((layout, *unrolled, *buffers))


class _Planar(_Tiles):
    geometry: ClassVar[TileGeometry] = TileGeometry(_UNROLLED, planar=True)


class _Blocked(_Tiles):
    geometry: ClassVar[TileGeometry] = TileGeometry(_UNROLLED, planar=False)


_SCHEDULES: Mapping[int, tuple[ParallelismModel, Mapping[str, str]]] = {
    LAYOUTS["streamed"]: (_FAMILIES["batch"], CONTAINED["batch"].names),
    LAYOUTS["planar"]: (_Planar(), {name: name for name in (*_UNROLLED.values(), *BUFFERS)}),
    LAYOUTS["blocked"]: (_Blocked(), {name: name for name in (*_UNROLLED.values(), *BUFFERS)}),
}
"""Layout -> the formulas of its schedule, and how they call the parameters."""


class Hybrid(ParallelismModel):
    """Unroll factors on b, m, n, r, c, buffers, and the layout of maps in DRAM."""

    name = "hybrid"
    title = FAMILIES["hybrid"].title
    reference = FAMILIES["hybrid"].reference
    precisions = _Tiles.precisions
    lanes_of = _Tiles.lanes_of
    tiles: ClassVar[tuple[str, ...]] = _Tiles.tiles
    readings: ClassVar[Mapping[str, str]] = READINGS
    chunk_points: ClassVar[int] = 512

    def subspaces(self, workload: Workload, device: Device) -> list[dict[str, int]]:
        """The values that are fixed where this family is one that it contains."""
        return [contained.fixed for contained in CONTAINED.values()]

    def rtl_shape(self, point: Mapping[str, int]) -> RtlShape:
        """That of the schedule which the layout means."""
        model, names = _SCHEDULES[point["layout"]]
        shape = model.rtl_shape({theirs: point[ours] for ours, theirs in names.items()})
        return shape.renamed({theirs: ours for ours, theirs in names.items()})

    def _space(self, workload: Workload, device: Device) -> SearchSpace:
        return _SCHEDULES[LAYOUTS["blocked"]][0].space(workload, device)

    def _heuristics(self, workload: Workload, device: Device) -> Sequence[dict[str, int]]:
        """The designs of the papers whose families are contained."""
        lowest = {name: int(value) for name, value in self._space(workload, device).corner(low=True).items()}
        return [
            {**lowest, **contained.fixed, **{ours: point[theirs] for ours, theirs in contained.names.items()}}
            for name, contained in CONTAINED.items()
            for point in _FAMILIES[name].heuristics(workload, device)
        ]

    def _parts(self, point: DesignPoint) -> Iterator[tuple[NDArray[np.int64], ParallelismModel, DesignPoint]]:
        """The points of each layout: their rows, the formulas, and the points as those call them."""
        for layout, (model, names) in _SCHEDULES.items():
            rows = np.flatnonzero(point["layout"] == layout)
            if len(rows):
                yield rows, model, {theirs: point[ours][rows] for ours, theirs in names.items()}

    def _costs(self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling) -> Costs:
        """Every layout's columns side by side; those of other layouts are 0 at a point."""
        parts = [
            (rows, model._costs(workload, device, part, _reading(model, reading), tiling))
            for rows, model, part in self._parts(point)
        ]
        layer, phase = (np.concatenate([getattr(c, name) for _, c in parts]) for name in ("layer", "phase"))

        def spread(of: Callable[[Costs], NDArray[Any]]) -> NDArray[Any]:
            return _spread(len(point["layout"]), [(rows, of(costs)) for rows, costs in parts])

        return Costs(
            layer=layer,
            phase=phase,
            cycles=spread(lambda c: c.cycles),
            dram_bytes=spread(lambda c: c.dram_bytes),
            bound=spread(lambda c: c.bound),
            tiling={tile: spread(partial(_tile, tile)) for tile in self.tiles},
            violation=_violation(point, [(rows, costs.violation) for rows, costs in parts]),
        )

    def _losses(
        self, workload: Workload, device: Device, point: DesignPoint, costs: Costs, reading: str, tiling: Tiling
    ) -> dict[str, Float]:
        parts = []
        for rows, model, part in self._parts(point):
            setting = _reading(model, reading)
            own = model._costs(workload, device, part, setting, tiling)
            parts.append((rows, own, model._losses(workload, device, part, own, setting, tiling)))
        names = dict.fromkeys(name for _, _, lost in parts for name in lost)
        return {
            name: _spread(
                len(point["layout"]),
                [(rows, lost.get(name, np.zeros(own.cycles.shape))) for rows, own, lost in parts],
            )
            for name in names
        }

    def _totals(self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling) -> Totals:
        cycles, moved = np.zeros(len(point["layout"])), np.zeros(len(point["layout"]))
        violations = []
        for rows, model, part in self._parts(point):
            totals = model._totals(workload, device, part, _reading(model, reading), tiling)
            cycles[rows], moved[rows] = totals.cycles, totals.dram_bytes
            violations.append((rows, totals.violation))
        return Totals(cycles, moved, _violation(point, violations))

    def floor_cycles(self, workload: Workload, device: Device, point: DesignPoint, reading: str = "") -> Float:
        """Each layout's own floor [S]."""
        floor = np.zeros(len(point["layout"]))
        for rows, model, part in self._parts(point):
            floor[rows] = model.floor_cycles(workload, device, part, _reading(model, self._reading(reading)))
        return floor

    def _resources(self, workload: Workload, device: Device, point: DesignPoint, reading: str) -> dict[str, Float]:
        shape = point["layout"].shape
        flat = {name: column.reshape(-1) for name, column in point.items()}
        used = {name: np.zeros(flat["layout"].shape) for name in RESOURCES}
        for rows, model, part in self._parts(flat):
            for name, amount in model._resources(workload, device, part, _reading(model, reading)).items():
                used[name][rows] = amount
        return {name: amount.reshape(shape) for name, amount in used.items()}

    def _dram_capacity(self, workload: Workload, point: DesignPoint, reading: str) -> Float:
        capacity = np.zeros(len(point["layout"]))
        for rows, model, part in self._parts(point):
            capacity[rows] = model._dram_capacity(workload, part, _reading(model, reading))
        return capacity


def _reading(model: ParallelismModel, reading: str) -> str:
    """The schedule's reading of that name; one that has it not, as it keeps no tile to load ahead, is exact."""
    return reading if reading in model.readings else next(iter(model.readings))


def _spread(count: int, parts: Sequence[tuple[NDArray[np.int64], NDArray[Any]]]) -> NDArray[Any]:
    """The parts' columns side by side [count,K]: each at its own rows, 0 at those of others."""
    out = np.zeros((count, sum(part.shape[1] for _, part in parts)), dtype=parts[0][1].dtype)
    start = 0
    for rows, part in parts:
        out[rows[:, None], np.arange(start, start + part.shape[1])] = part
        start += part.shape[1]
    return out


def _tile(name: str, costs: Costs) -> NDArray[np.int64]:
    """The sizes of one tile [S,K], 0 where the schedule has none."""
    return costs.tiling.get(name, np.zeros(costs.cycles.shape, dtype=np.int64))


def _violation(point: DesignPoint, parts: Sequence[tuple[NDArray[np.int64], Mapping[str, Float]]]) -> dict[str, Float]:
    """The schedules' own constraints, and that what the streamed one has no use for is 1."""
    violation = {name: np.full(len(point["layout"]), -1.0) for name in BUFFERS}
    for rows, own in parts:
        for name, over in own.items():
            violation[name][rows] = over
    idle = np.prod([point[name] for name in _IDLE], axis=0) - 1.0
    violation["idle_lanes"] = np.where(point["layout"] == LAYOUTS["streamed"], idle, -1.0)
    return violation
