"""Feature-map-level parallelism: output rows and columns, and output channels, in space.

EF-Train (ACM TODAES 2022) section 2.3 gives the plain form, Tf x Tf pixels at a time; Venkataramanaiah et al. (FPL
2019) unroll columns, rows and output channels. In weight_grad the pixels are the reduction: the lanes of a channel are
then summed by the adders that accumulate per lane otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from dse.device import Device
from dse.models import FAMILIES
from dse.models.loop_nest import loop_nests
from dse.models.tile_geometry import BUFFERS, TileGeometry
from dse.models.tile_pipeline import TileReading
from dse.models.tiled import READINGS, SETTINGS, TiledModel
from dse.models.tiling import TiledReading
from dse.space import Parameter, SearchSpace
from dse.workload import Workload

__all__ = ["FeatureMap"]


class FeatureMap(TiledModel):
    """Lanes on output rows, columns and channels, with the buffers and schedule of the tiled families."""

    name = "feature_map"
    title = FAMILIES["feature_map"].title
    reference = FAMILIES["feature_map"].reference
    precisions = ("int8", "int16", "bf16", "fp32")
    lanes_of = ("tf_rows", "tf_cols", "tm")
    geometry: ClassVar[TileGeometry] = TileGeometry({"r": "tf_rows", "c": "tf_cols", "m": "tm"}, planar=True)
    readings: ClassVar[Mapping[str, str]] = {
        **READINGS,
        "published": "lanes alone, memory takes no time: B*ceil(M/Tm)*N*ceil(R/Tf)*ceil(C/Tf)*K^2 cycles a pass",
    }
    settings: ClassVar[Mapping[str, TiledReading]] = {
        **SETTINGS,
        "published": TiledReading(
            TileReading.published(), memory_time=False, layout_penalty=False, fold_fc=False, auxiliary="published"
        ),
    }

    def _space(self, workload: Workload, device: Device) -> SearchSpace:
        nests = loop_nests(workload.network)
        cost = device.dsp_cost[workload.precision.name]
        lanes = max(int(device.dsp / (cost.multiplier_dsp + cost.adder_dsp)), 1)
        conv = nests.is_fc == 0
        pick = conv if conv.any() else np.ones_like(conv)
        limits = (int(nests.r[pick].max()), int(nests.c[pick].max()), int(nests.m[pick].max()))
        rows, columns, channels = (np.arange(1, max(min(limit, lanes), 1) + 1) for limit in limits)
        unrolled = [
            Parameter("tf_rows", rows, "output rows in parallel", "rows"),
            Parameter("tf_cols", columns, "output columns in parallel", "columns"),
            Parameter("tm", channels, "output channels in parallel", "channels"),
        ]
        return SearchSpace((*unrolled, *self._buffer_parameters(workload, device, unrolled)))

    def _heuristics(self, workload: Workload, device: Device) -> Sequence[dict[str, int]]:
        """The plain form: the largest square of pixels that the DSPs allow, one channel, the least buffers that do."""
        cost = device.dsp_cost[workload.precision.name]
        lanes = int(device.dsp / (cost.multiplier_dsp + cost.adder_dsp))
        space = self._space(workload, device)
        side = max(min(int(lanes**0.5), int(space["tf_rows"].values[-1]), int(space["tf_cols"].values[-1])), 1)
        point = {p.name: p.values[:1] for p in space.parameters}
        point |= {"tf_rows": np.array([side]), "tf_cols": np.array([side])}
        lacking = self.evaluate(workload, device, point).violation
        for name in BUFFERS:
            need = (float(lacking[name][0]) + 1) * int(point[name][0])
            values = space[name].values
            point[name] = values[[min(int(np.searchsorted(values, need)), len(values) - 1)]]
        return [{name: int(value[0]) for name, value in point.items()}]
