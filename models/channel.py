"""Channel-level parallelism: ``tm`` output channels by ``tn`` input channels in space (EF-Train, ACM TODAES 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from dse.device import Device
from dse.models import FAMILIES
from dse.models.algorithm1 import algorithm1_buffers
from dse.models.loop_nest import LoopNests, loop_nests
from dse.models.tile_geometry import TileGeometry
from dse.models.tile_pipeline import TileReading
from dse.models.tiled import READINGS, SETTINGS, TiledModel
from dse.models.tiling import TiledReading
from dse.space import Parameter, SearchSpace
from dse.workload import Workload

__all__ = ["Channel"]


class Channel(TiledModel):
    """EF-Train's architecture with tm and tn free of each other."""

    name = "channel"
    title = FAMILIES["channel"].title
    reference = FAMILIES["channel"].reference
    precisions = ("int8", "int16", "bf16", "fp32")
    lanes_of = ("tm", "tn")
    geometry: ClassVar[TileGeometry] = TileGeometry({"m": "tm", "n": "tn"}, planar=False)
    readings: ClassVar[Mapping[str, str]] = {
        **READINGS,
        "published": "EF-Train's formulas as its Table 6 computes them",
    }
    settings: ClassVar[Mapping[str, TiledReading]] = {
        **SETTINGS,
        "published": TiledReading(TileReading.published(), layout_penalty=False, fold_fc=False, auxiliary="published"),
    }

    def _space(self, workload: Workload, device: Device) -> SearchSpace:
        nests = loop_nests(workload.network)
        lanes = np.arange(1, _widest(nests, device, workload) + 1)
        unrolled = [
            Parameter("tm", lanes, "output channels in parallel", "channels"),
            Parameter("tn", lanes, "input channels in parallel", "channels"),
        ]
        return SearchSpace((*unrolled, *self._buffer_parameters(workload, device, unrolled)))

    def _heuristics(self, workload: Workload, device: Device) -> Sequence[dict[str, int]]:
        """Algorithm 1 at its 80 % bound on DSPs, at the power of two below, and at the largest square that fits."""
        cost = device.dsp_cost[workload.precision.name]
        per_lane = cost.multiplier_dsp + cost.adder_dsp
        bound = max(int((0.8 * device.dsp / per_lane) ** 0.5), 1)
        largest = max(int((device.dsp / per_lane) ** 0.5), 1)
        sides = dict.fromkeys((1 << (bound.bit_length() - 1), bound, largest))
        widest = int(self._space(workload, device)["tm"].values[-1])
        return [
            {"tm": side, "tn": side, **algorithm1_buffers(self, workload, device, side)}
            for side in sides
            if side <= widest
        ]


def _widest(nests: LoopNests, device: Device, workload: Workload) -> int:
    """The most channels that any convolution has (any layer where there is none), or the most lanes on the board."""
    conv = nests.is_fc == 0
    pick = conv if conv.any() else np.ones_like(conv)
    widest = int(np.max(np.maximum(nests.m, nests.n)[pick] * nests.groups[pick]))
    cost = device.dsp_cost[workload.precision.name]
    per_lane = cost.multiplier_dsp + cost.adder_dsp
    return max(min(widest, int(device.dsp / per_lane)), 1)
