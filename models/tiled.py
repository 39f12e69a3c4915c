"""Base of the families that work on tiles: columns of time and traffic, buffers' resources, and what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.errors import InputError
from dse.estimate import Float
from dse.model import Costs, ParallelismModel, Tiling, phase_macs
from dse.models.auxiliary import AuxiliaryCosts, port_costs, published_dram_capacity
from dse.models.idle_lanes import attributed, tile_fill
from dse.models.lanes import lane_dsp, lane_logic, streaming_dsp
from dse.models.loop_nest import loop_nests
from dse.models.memory import bank_bram36, depth_granule, legal_depths, published_bank_bram36
from dse.models.tile_geometry import BUFFERS, TileGeometry
from dse.models.tile_pipeline import TileReading
from dse.models.tiling import DMA, Solved, TiledReading, TilingProblem
from dse.network import Network
from dse.rtl_shape import RtlShape
from dse.space import DesignPoint, Parameter
from dse.training_graph import training_memory
from dse.workload import PHASES, Workload

__all__ = ["READINGS", "SETTINGS", "TiledModel"]

_UPDATE = PHASES.index("update")

READINGS: Mapping[str, str] = {
    "exact": "exact last chunks, layout penalty, fully connected layers folded over the batch, all operations",
    "prefetch": "exact, and the next tile's first chunk is loaded while this one computes",
}
"""The readings that every tiled family has, the default first."""

SETTINGS: Mapping[str, TiledReading] = {
    name: TiledReading(TileReading(full_last_chunk=False, hide_first_weights=False, prefetch=name == "prefetch"))
    for name in READINGS
}
"""Their settings."""


class TiledModel(ParallelismModel):
    """A point is the hardware: lanes, and the depth of three double buffers' banks. Tilings are solved exactly."""

    tiles: ClassVar[tuple[str, ...]] = ("tr", "m_on", "tn")
    chunk_points: ClassVar[int] = 256
    geometry: ClassVar[TileGeometry]
    settings: ClassVar[Mapping[str, TiledReading]]

    def rtl_shape(self, point: Mapping[str, int]) -> RtlShape:
        """The unrolled axes, and the depths of the buffers."""
        features, sums, weights = BUFFERS
        depths = {"feature": features, "operand": weights, "sum": sums}
        return RtlShape(
            {axis: (name, point[name]) for axis, name in self.geometry.unrolled.items()},
            {buffer: (name, point[name]) for buffer, name in depths.items()},
            self.geometry.planar,
        )

    def buffers_for(
        self, workload: Workload, device: Device, point: Mapping[str, int], tiling: Tiling, reading: str = ""
    ) -> dict[str, int]:
        """The smallest legal depth of each buffer that holds every tile of ``tiling``; ``point`` names the lanes."""
        space = self.space(workload, device)
        corner = {k: v.reshape(1) for k, v in space.corner(low=True).items()}
        corner |= {k: np.array([v]) for k, v in point.items()}
        need = [0, 0, 0]
        for k, fixed in self._fixed(workload, tiling).items():
            if fixed:
                words = self._problem(workload, device, corner, self._reading(reading), k).best(fixed).need
                need = [max(n, int(w[0])) for n, w in zip(need, words, strict=True)]
        depths = {}
        for name, words_needed in zip(BUFFERS, need, strict=True):
            values = space[name].values
            depths[name] = int(values[min(int(np.searchsorted(values, words_needed)), len(values) - 1)])
        return depths

    def floor_cycles(self, workload: Workload, device: Device, point: DesignPoint, reading: str = "") -> Float:
        """Each nest at the pace of its lanes or of its ports, whichever is slower, and all other operations [S]."""
        name = self._reading(reading)
        total = self._auxiliary(workload, device, point, name).cycles.sum(axis=-1)
        total = np.broadcast_to(total, (next(iter(point.values())).size,)).copy()
        for k, times in zip(*_distinct(workload.network), strict=True):
            total += times * self._problem(workload, device, point, name, int(k)).floor_cycles()
        return total

    def _auxiliary(self, workload: Workload, device: Device, point: DesignPoint, reading: str) -> AuxiliaryCosts:
        channels = self.geometry.burst_channels(self.geometry.lanes(point))
        return port_costs(workload, device, channels, self.settings[reading].auxiliary)

    def _problem(self, workload: Workload, device: Device, point: DesignPoint, reading: str, k: int) -> TilingProblem:
        nests = loop_nests(workload.network)
        return TilingProblem.of(self.geometry, workload, device, self.settings[reading], point, nests, k)

    def _check_tiling(self, workload: Workload, tiling: Tiling) -> None:
        """Beyond the names: no tile is larger than what it cuts."""
        super()._check_tiling(workload, tiling)
        nests, layers = loop_nests(workload.network), workload.network.layers
        keys = {
            (layers[int(i)].name, PHASES[int(p)]): k
            for k, (i, p) in enumerate(zip(nests.layer, nests.phase, strict=True))
        }
        for key, tiles in tiling.items():
            if key not in keys:
                raise InputError(f"tiling: {key[0]}.{key[1]}", "this layer has no such phase on the multiplier array")
            k = keys[key]
            rows = max(int(nests.r[k]), workload.batch_size if nests.is_fc[k] else 1)
            groups = int(nests.groups[k])
            limits = {"tr": rows, "m_on": int(nests.m[k]) * groups, "tn": int(nests.n[k]) * groups}
            for tile, size in tiles.items():
                if size > limits[tile]:
                    where = f"tiling: {key[0]}.{key[1]}.{tile}"
                    raise InputError(where, "is larger than the layer", size, f"1 to {limits[tile]}")

    def _fixed(self, workload: Workload, tiling: Tiling) -> dict[int, Mapping[str, int]]:
        """Nest number -> its given tiles."""
        nests, layers = loop_nests(workload.network), workload.network.layers
        keys = [(layers[int(i)].name, PHASES[int(p)]) for i, p in zip(nests.layer, nests.phase, strict=True)]
        return {k: tiling.get(key, {}) for k, key in enumerate(keys)}

    def _costs(self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling) -> Costs:
        nests, count = loop_nests(workload.network), next(iter(point.values())).size
        solved = self._solved(workload, device, point, reading, self._fixed(workload, tiling))
        grads = np.flatnonzero(nests.of_phase("weight_grad"))
        aux = self._auxiliary(workload, device, point, reading)
        parameters = workload.network.table["parameters"][nests.layer[grads]]
        exchanged = 2.0 * parameters * workload.precision.bytes

        def columns(nest_part: Sequence[NDArray[Any]], update_part: Any, aux_part: Any) -> NDArray[np.float64]:
            parts = [np.stack(nest_part, axis=1)] if nest_part else []
            parts.append(np.broadcast_to(np.asarray(update_part), (count, len(grads))))
            parts.append(np.broadcast_to(np.asarray(aux_part), (count, len(aux.layer))))
            return np.concatenate(parts, axis=1)

        update = np.stack([solved[k].update for k in grads], axis=1) if len(grads) else 0.0
        return Costs(
            layer=np.concatenate([nests.layer, nests.layer[grads], aux.layer]),
            phase=np.concatenate([nests.phase, np.full(len(grads), _UPDATE), aux.phase]),
            cycles=columns([s.cycles for s in solved], update, aux.cycles),
            dram_bytes=columns([s.dram_bytes for s in solved], exchanged, aux.dram_bytes),
            bound=columns([s.bound for s in solved], DMA, DMA).astype(np.int8),
            tiling={t: columns([s.tiles[t] for s in solved], 0, 0).astype(np.int64) for t in self.tiles},
            violation=_buffer_violation(point, solved),
        )

    def _solved(
        self,
        workload: Workload,
        device: Device,
        point: DesignPoint,
        reading: str,
        fixed: Mapping[int, Mapping[str, int]],
    ) -> list[Solved]:
        """The best tiling of every nest; nests with the same bounds and given tiles share one."""
        known: dict[tuple[object, ...], Solved] = {}
        solved = []
        for k, same in enumerate(_same(workload.network)):
            key = (same, *sorted(fixed[k].items()))
            if key not in known:
                known[key] = self._problem(workload, device, point, reading, k).best(fixed[k])
            solved.append(known[key])
        return solved

    def _resources(self, workload: Workload, device: Device, point: DesignPoint, reading: str) -> dict[str, Float]:
        precision = workload.precision
        unrolled = self.geometry.lanes(point)
        lanes = unrolled.count
        lut, ff = lane_logic(device, precision, lanes)
        dsp, bram = lane_dsp(device, precision, lanes), np.zeros(lanes.shape)
        for name, memory in zip(BUFFERS, self.geometry.memories(unrolled, precision), strict=True):
            if reading == "published":
                bram = bram + 2 * memory.banks * memory.words * published_bank_bram36(point[name])
            else:
                bram = bram + 2 * memory.banks * bank_bram36(device, point[name], memory.words * memory.bits)
        if reading != "published":
            width = np.asarray(max(device.dma_port_bits // precision.bits, 1))
            dsp = dsp + streaming_dsp(device, precision, width)
        return {"lut": lut, "ff": ff, "dsp": dsp, "bram36": bram, "uram288": np.zeros(lanes.shape)}

    def _dram_capacity(self, workload: Workload, point: DesignPoint, reading: str) -> float:
        if reading == "published":
            return published_dram_capacity(workload)
        return training_memory(workload).peak_bytes

    def _losses(
        self, workload: Workload, device: Device, point: DesignPoint, costs: Costs, reading: str, tiling: Tiling
    ) -> dict[str, Float]:
        """The loops that do not fill their lanes; updates and operations beside them are streams."""
        count = len(loop_nests(workload.network))
        macs = phase_macs(workload)
        lost: dict[str, Float] = {"streams": costs.cycles.copy()}
        lost["streams"][:, :count] = 0.0
        for k in range(count):
            problem = self._problem(workload, device, point, reading, k)
            busy, padded = tile_fill(problem, costs.tiling["tr"][:, k], costs.tiling["tn"][:, k])
            floor = macs[costs.layer[k], costs.phase[k]] / problem.lanes.count
            for name, cycles in attributed(busy, floor, padded).items():
                lost.setdefault(name, np.zeros(costs.cycles.shape))[:, k] = cycles
        return lost

    def _has_roofline(self, reading: str) -> bool:
        return self.settings[reading].memory_time

    def _buffer_parameters(self, workload: Workload, device: Device, lanes: Sequence[Parameter]) -> list[Parameter]:
        """The three depths, up to what a whole map or all weights need, or what the board holds."""
        lowest = {p.name: p.values[:1] for p in lanes}
        memories = self.geometry.memories(self.geometry.lanes(lowest), workload.precision)
        most_halves = int(device.bram36)  # two halves of the double buffer, half a block each
        sums = -(-workload.precision.accumulator_bits // workload.precision.bits)
        nests, batch = loop_nests(workload.network), workload.batch_size
        maps = ((nests.r - 1) * nests.sr + nests.kr) * ((nests.c - 1) * nests.sc + nests.kc)
        needs = (
            max(int(maps.max()), batch),
            max(int((nests.r * nests.c).max()), batch),
            int((nests.taps * -(-nests.n // 2) * nests.m).max()) * sums,
        )
        meanings = ("input", "output", "weight")
        return [
            Parameter(
                name,
                legal_depths(depth_granule(device, 36 if memory.wide else memory.bits), words, most_halves),
                f"depth of a bank of each half of the {meaning} buffer",
                "words",
                slack=True,
            )
            for name, memory, words, meaning in zip(BUFFERS, memories, needs, meanings, strict=True)
        ]


@lru_cache(maxsize=64)
def _same(network: Network) -> tuple[int, ...]:
    """For each nest the first one with the same bounds."""
    nests = loop_nests(network)
    bounds = np.stack([getattr(nests, f.name) for f in fields(nests) if f.name not in ("layer", "reads")])
    first: dict[tuple[int, ...], int] = {}
    return tuple(first.setdefault(tuple(column), k) for k, column in enumerate(bounds.T.tolist()))


def _distinct(network: Network) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nests that differ in their bounds, and how often each occurs."""
    numbers, counts = np.unique(np.array(_same(network), dtype=np.int64), return_counts=True)
    return numbers, counts


def _buffer_violation(point: DesignPoint, solved: list[Solved]) -> dict[str, Float]:
    violation = {}
    for number, name in enumerate(BUFFERS):
        needs = [s.need[number] for s in {id(s): s for s in solved}.values()] or [np.zeros_like(point[name])]
        violation[name] = np.max(needs, axis=0) / point[name] - 1.0
    return violation
