"""The contract of a model family: the base class validates and derives, a family counts cycles, bytes and blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dse.device import Device
from dse.errors import InputError, did_you_mean
from dse.estimate import BOUNDS, LOSSES, RESOURCES, Estimate, Float, LayerCosts
from dse.power import PowerModel
from dse.rtl_shape import RtlShape
from dse.space import DesignPoint, SearchSpace
from dse.workload import PHASES, Workload

__all__ = ["Costs", "ParallelismModel", "Tiling", "Totals", "phase_macs"]

Tiling = Mapping[tuple[str, str], Mapping[str, int]]
"""(layer name, phase) -> tile name -> size: tiles that are given instead of being solved for."""


@dataclass(frozen=True)
class Costs:
    """What a family's hook returns: K columns, each one phase of one layer that takes time; S points."""

    layer: NDArray[np.int64]
    """Layer number of each column [K]."""
    phase: NDArray[np.int64]
    """Phase number of each column [K]."""
    cycles: Float
    """[S,K], before the DRAM roofline."""
    dram_bytes: Float
    """[S,K]."""
    bound: NDArray[np.int8]
    """Index into BOUNDS [S,K]: what sets ``cycles``."""
    tiling: Mapping[str, NDArray[np.int64]]
    """Tile name -> [S,K], 0 where the column has no such tile."""
    violation: Mapping[str, Float] = field(default_factory=dict)
    """Constraints of the family's own: name -> needed / available - 1 [S]."""


@dataclass(frozen=True)
class Totals:
    """Sums over all columns, float [S], and the family's own constraints."""

    cycles: Float
    dram_bytes: Float
    violation: Mapping[str, Float] = field(default_factory=dict)


def _total(costs: Costs, cycles: Float) -> Totals:
    return Totals(cycles.sum(axis=1), costs.dram_bytes.sum(axis=1), costs.violation)


class ParallelismModel(ABC):
    """One family of accelerators. To add one: subclass, implement the hooks, list it in ``models/__init__.py``.

    A *reading* is a named set of settings of the same formulas, e.g. the one that reproduces a paper to the cycle.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    precisions: ClassVar[tuple[str, ...]]
    readings: ClassVar[Mapping[str, str]]
    """Reading -> what it means, the default one first."""
    lanes_of: ClassVar[tuple[str, ...]]
    """The parameters whose product is the number of multiplier-accumulator lanes."""
    tiles: ClassVar[tuple[str, ...]] = ()
    """Names of the tiles that a Tiling may fix."""
    chunk_points: ClassVar[int] = 4096
    """Points evaluated at a time, so that intermediate arrays stay in cache."""

    def space(self, workload: Workload, device: Device) -> SearchSpace:
        """The hardware parameters worth trying for this workload on this board. Raises InputError (precision)."""
        self._check(workload, device)
        return self._space(workload, device)

    def heuristics(self, workload: Workload, device: Device) -> list[dict[str, int]]:
        """Points that the family's paper would choose here; they may be infeasible, but are in the space."""
        self._check(workload, device)
        space = self._space(workload, device)
        legal = [p for p in self._heuristics(workload, device) if bool(space.contains(p))]
        return [p for number, p in enumerate(legal) if p not in legal[:number]]

    def subspaces(self, workload: Workload, device: Device) -> list[dict[str, int]]:
        """Parts of the space worth searching first, each by the values that its parameters have throughout."""
        return []

    def resources(self, workload: Workload, device: Device, point: DesignPoint, reading: str = "") -> dict[str, Float]:
        """Resource name -> amount used, float [S]. ``point`` must be legal (see ``SearchSpace.as_point``)."""
        return self._resources(workload, device, point, self._reading(reading))

    def evaluate(
        self,
        workload: Workload,
        device: Device,
        point: Mapping[str, ArrayLike],
        *,
        reading: str = "",
        detail: bool = False,
        tiling: Tiling | None = None,
    ) -> Estimate:
        """Estimate one point (shape ()) or many (shape (N,)) in one call.

        ``detail`` adds the per-layer arrays. ``tiling`` fixes tiles by (layer, phase); the others are solved exactly.
        Raises InputError for an unknown reading, a precision the family or board lacks, or an illegal tiling.
        """
        self._check(workload, device)
        setting = self._reading(reading)
        self._check_tiling(workload, tiling or {})
        arrays = {k: np.asarray(v, dtype=np.int64) for k, v in point.items()}
        shape = np.broadcast_shapes(*(a.shape for a in arrays.values()))
        flat = {k: np.broadcast_to(a, shape).reshape(-1) for k, a in arrays.items()}
        count = flat[next(iter(flat))].size
        step = max(count, 1) if detail else self.chunk_points
        parts = [
            self._evaluate(
                workload, device, {k: v[i : i + step] for k, v in flat.items()}, setting, detail, tiling or {}
            )
            for i in range(0, max(count, 1), step)
        ]
        return _join(parts, shape)

    def rtl_shape(self, point: Mapping[str, int]) -> RtlShape:
        """What ``point`` means for the accelerator template. Raises InputError where the family has no RTL."""
        raise InputError(f"family {self.name}", "has no RTL")

    def _evaluate(
        self, workload: Workload, device: Device, point: DesignPoint, reading: str, detail: bool, tiling: Tiling
    ) -> Estimate:
        layers = None
        if detail:
            costs = self._costs(workload, device, point, reading, tiling)
            layers = self._layer_costs(workload, device, point, costs, reading, tiling)
            totals = _total(costs, self._roofline(device, costs, reading))
        else:
            totals = self._totals(workload, device, point, reading, tiling)
        seconds = totals.cycles / device.clock_hz
        resources = self._resources(workload, device, point, reading)
        dram = np.broadcast_to(self._dram_capacity(workload, point, reading), seconds.shape)
        power = PowerModel.of(device).watts(resources["dsp"], resources["bram36"], device.clock_hz)
        violation = {**_violations(device, resources, dram), **totals.violation}
        feasible = np.logical_and.reduce([v <= 0 for v in violation.values()])
        return Estimate(
            iteration_cycles=totals.cycles,
            iteration_s=seconds,
            samples_per_s=workload.batch_size / seconds,
            dram_bytes=totals.dram_bytes,
            dram_capacity_bytes=dram,
            resources=resources,
            power_w=power,
            energy_j=power * seconds,
            violation=violation,
            feasible=feasible,
            layers=layers,
        )

    def _roofline(self, device: Device, costs: Costs, reading: str) -> Float:
        """Cycles [S,K] with the DRAM's share: a column takes as long as its lanes or ports, or as the DRAM, needs."""
        if not self._has_roofline(reading):
            return costs.cycles
        return np.maximum(costs.cycles, costs.dram_bytes / device.dram_bytes_per_cycle)

    def _layer_costs(
        self, workload: Workload, device: Device, point: DesignPoint, costs: Costs, reading: str, tiling: Tiling
    ) -> LayerCosts:
        cycles = self._roofline(device, costs, reading)
        bound = np.where(cycles > costs.cycles, np.int8(BOUNDS.index("dram")), costs.bound)
        points, layers = cycles.shape[0], len(workload.network.layers)
        macs = phase_macs(workload)
        lanes = np.prod([point[name] for name in self.lanes_of], axis=0)

        def dense(columns: NDArray[Any]) -> NDArray[Any]:
            out = np.zeros((points, layers, len(PHASES)), dtype=columns.dtype)
            for k, (layer, phase) in enumerate(zip(costs.layer, costs.phase, strict=True)):
                out[:, layer, phase] += columns[:, k]
            return out

        floor = macs / lanes[:, None, None]
        losses = {
            name: dense(lost) for name, lost in self._losses(workload, device, point, costs, reading, tiling).items()
        }
        losses["dram"] = dense(cycles - costs.cycles)
        losses["wait"] = dense(cycles) - floor - np.sum(list(losses.values()), axis=0)
        return LayerCosts(
            cycles=dense(cycles),
            dram_bytes=dense(costs.dram_bytes),
            macs=macs,
            mac_floor_cycles=floor,
            lost_cycles={name: losses[name] for name in LOSSES if name in losses},
            bound=_dominant(cycles, bound, costs, (points, layers, len(PHASES))),
            tiling={k: dense(v).astype(np.int64) for k, v in costs.tiling.items()},
        )

    def _reading(self, reading: str) -> str:
        name = reading or next(iter(self.readings))
        if name not in self.readings:
            raise InputError("reading", f"unknown for family {self.name}", name, did_you_mean(name, self.readings))
        return name

    def _check(self, workload: Workload, device: Device) -> None:
        precision = workload.precision.name
        if precision not in self.precisions:
            raise InputError(
                "precision", f"family {self.name} lacks it", precision, did_you_mean(precision, self.precisions)
            )
        if precision not in device.dsp_cost:
            raise InputError(
                f"device {device.name}", "no DSP cost for this precision", precision, ", ".join(device.dsp_cost)
            )

    def _check_tiling(self, workload: Workload, tiling: Tiling) -> None:
        names = [layer.name for layer in workload.network.layers]
        for (layer, phase), tiles in tiling.items():
            where = f"tiling: {layer}.{phase}"
            if layer not in names:
                raise InputError(where, "unknown layer", layer, did_you_mean(layer, names))
            if phase not in PHASES:
                raise InputError(where, "unknown phase", phase, did_you_mean(phase, PHASES))
            for tile, size in tiles.items():
                if tile not in self.tiles:
                    raise InputError(
                        where, f"family {self.name} has no such tile", tile, ", ".join(self.tiles) or "none"
                    )
                if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                    raise InputError(f"{where}.{tile}", "must be a whole number >= 1", size)

    def largest_batch(
        self, workload: Workload, device: Device, point: Mapping[str, int] | None = None, reading: str = ""
    ) -> int:
        """The most samples of an iteration whose training step fits the board's DRAM; 0 where not even one does.

        ``point`` is a legal one; None stands for the lowest, which matters only where the DRAM depends on the point.
        """
        name = self._reading(reading)
        chosen = self._space(workload, device).corner(low=True) if point is None else point
        flat = {key: np.asarray(value, dtype=np.int64).reshape(1) for key, value in chosen.items()}

        def fits(size: int) -> bool:
            held = self._dram_capacity(replace(workload, batch_size=size), flat, name)
            return float(np.ravel(held)[0]) <= device.dram_bytes

        if not fits(1):
            return 0
        return bisect(range(2, 2**20 + 1), False, key=lambda size: not fits(size)) + 1

    def floor_cycles(self, workload: Workload, device: Device, point: DesignPoint, reading: str = "") -> Float:
        """A cheap lower bound on ``iteration_cycles``, float [S], whatever the slack parameters.

        Here every lane does a useful MAC in every cycle; a family may know a higher bound.
        """
        lanes = np.prod([point[name] for name in self.lanes_of], axis=0)
        return np.asarray(phase_macs(workload).sum() / lanes)

    # Hooks of a family -----------------------------------------------------------------------------------------

    @abstractmethod
    def _space(self, workload: Workload, device: Device) -> SearchSpace: ...

    @abstractmethod
    def _costs(self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling) -> Costs: ...

    @abstractmethod
    def _resources(self, workload: Workload, device: Device, point: DesignPoint, reading: str) -> dict[str, Float]: ...

    @abstractmethod
    def _dram_capacity(self, workload: Workload, point: DesignPoint, reading: str) -> ArrayLike: ...

    def _totals(self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling) -> Totals:
        """Sums over the columns; a family may have a faster way to the same figures."""
        costs = self._costs(workload, device, point, reading, tiling)
        return _total(costs, self._roofline(device, costs, reading))

    def _heuristics(self, workload: Workload, device: Device) -> Sequence[dict[str, int]]:
        return []

    def _losses(
        self, workload: Workload, device: Device, point: DesignPoint, costs: Costs, reading: str, tiling: Tiling
    ) -> dict[str, Float]:
        """Why lanes are idle: cause (see LOSSES; not wait or dram) -> cycles [S,K]. What is not said is waiting."""
        return {}

    def _has_roofline(self, reading: str) -> bool:
        return True


def phase_macs(workload: Workload) -> Float:
    """Multiply-accumulates per iteration of every layer and phase [L,P]."""
    table = workload.network.table
    macs = table["macs"].astype(np.float64) * workload.batch_size
    grads = macs * table["needs_input_grad"], macs * table["needs_weight_grad"]
    return np.stack([macs, *grads, np.zeros_like(macs)], axis=1)


def _violations(device: Device, resources: Mapping[str, Float], dram: Float) -> dict[str, Float]:
    limits = {name: device.capacity[name] * device.usable[name] for name in RESOURCES}
    violation = {name: _over(resources[name], limits[name]) for name in RESOURCES}
    violation["dram_bytes"] = _over(dram, float(device.dram_bytes))
    return violation


def _over(used: Float, limit: float) -> Float:
    if limit > 0:
        return np.asarray(used / limit - 1.0)
    return np.where(np.isnan(used), np.nan, np.where(used > 0, np.inf, -1.0))


def _dominant(cycles: Float, bound: NDArray[np.int8], costs: Costs, shape: tuple[int, int, int]) -> NDArray[np.int8]:
    """The bound of each layer and phase: that of its longest column."""
    out = np.zeros(shape, dtype=np.int8)
    longest = np.zeros(shape)
    for k, (layer, phase) in enumerate(zip(costs.layer, costs.phase, strict=True)):
        longer = cycles[:, k] > longest[:, layer, phase]
        longest[:, layer, phase] = np.where(longer, cycles[:, k], longest[:, layer, phase])
        out[:, layer, phase] = np.where(longer, bound[:, k], out[:, layer, phase])
    return out


def _join(parts: Sequence[Estimate], shape: tuple[int, ...]) -> Estimate:
    """Estimates of consecutive chunks as one, reshaped to the points' shape."""

    def cat(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return whole.reshape(shape + whole.shape[1:])

    def field(name: str) -> NDArray[Any]:
        return cat([getattr(part, name) for part in parts])

    def mapped(name: str) -> dict[str, NDArray[Any]]:
        return {key: cat([getattr(part, name)[key] for part in parts]) for key in getattr(parts[0], name)}

    layers = parts[0].layers
    if layers is not None:
        layers = LayerCosts(
            cycles=cat([layers.cycles]),
            dram_bytes=cat([layers.dram_bytes]),
            macs=layers.macs,
            mac_floor_cycles=cat([layers.mac_floor_cycles]),
            bound=cat([layers.bound]),
            tiling={k: cat([v]) for k, v in layers.tiling.items()},
            lost_cycles={k: cat([v]) for k, v in layers.lost_cycles.items()},
        )
    return Estimate(
        **{name: field(name) for name in _ARRAYS},
        resources=mapped("resources"),
        violation=mapped("violation"),
        layers=layers,
    )


_ARRAYS = (
    "iteration_cycles", "iteration_s", "samples_per_s", "dram_bytes", "dram_capacity_bytes", "power_w", "energy_j",
    "feasible",
)  # fmt: skip
