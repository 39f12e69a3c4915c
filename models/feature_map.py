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
from dse.models.tile_geometry import BUFFERS, Int, Memory, Nest, TileGeometry, split_candidates
from dse.models.tile_pipeline import TileReading
from dse.models.tiled import READINGS, SETTINGS, TiledModel
from dse.models.tiling import TiledReading
from dse.space import DesignPoint, Parameter, SearchSpace
from dse.workload import Precision, Workload

__all__ = ["FeatureMap"]


class FeatureMapGeometry(TileGeometry):
    """Maps lie in DRAM channel by channel [channel][row][column]; banks interleave rows and columns over the lanes."""

    def row_candidates(self, point: DesignPoint, nest: Nest) -> Int:
        """Every multiple of the lanes' rows: the ragged last tile makes uneven tiles worth trying.

        A batch that stands in for rows is cut evenly.
        """
        unit = point["tf_rows"][:, None]
        if nest.is_fc:
            return unit * split_candidates(-(-np.full_like(nest.n, nest.r) // unit))
        return unit * np.arange(1, -(-nest.r // int(unit.min())) + 1, dtype=np.int64)[None, :]

    def memories(self, point: DesignPoint, precision: Precision) -> tuple[Memory, Memory, Memory]:
        """A bank of inputs per lane of pixels, addressed alone; a running sum per lane; a weight per output channel."""
        pixels = point["tf_rows"] * point["tf_cols"]
        return (
            Memory(pixels, precision.bits, wide=False),
            Memory(pixels * point["tm"], precision.accumulator_bits, wide=True),
            Memory(point["tm"], precision.bits, wide=True),
        )

    def layout_block(self, point: DesignPoint) -> Int:
        """A whole map of a sample is one burst."""
        return np.full((point["tm"].size, 1), np.iinfo(np.int64).max // 4)

    def m_tile(self, point: DesignPoint) -> Int:
        """``tm`` channels."""
        return point["tm"][:, None]

    def chunks(self, point: DesignPoint, nest: Nest) -> list[Int]:
        """Powers of four of channels, and all: one channel after another is computed, the burst is what grows."""
        most = int(nest.n.max())
        return [np.minimum(nest.n, 4**power) for power in range(((most - 1).bit_length() + 1) // 2 + 1)]

    def compute(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int) -> Int:
        """A tap of one input channel per cycle for a block of pixels as large as the lanes."""
        rows, columns = point["tf_rows"][:, None], point["tf_cols"][:, None]
        return chunk * nest.taps * -(-tr // rows) * -(-nest.c // columns)

    def load_beats(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int, width: int) -> Int:
        """Rows are packed into beats."""
        return -(-chunk * nest.rows(tr) * nest.cols // width)

    def tile_beats(self, point: DesignPoint, nest: Nest, tr: Int, width: int) -> Int:
        """``tm`` channels of rows packed into beats."""
        return -(-np.minimum(point["tm"][:, None], nest.m) * tr * nest.c // width)

    def load_bursts(self, point: DesignPoint, nest: Nest, chunk: Int) -> Int:
        """A burst per channel."""
        return chunk

    def tile_bursts(self, point: DesignPoint) -> Int:
        """A burst per channel."""
        return point["tm"][:, None]

    def weight_beats(self, point: DesignPoint, nest: Nest, chunk: Int, width: int) -> Int:
        """``tm`` x ``chunk`` kernels, packed."""
        return -(-point["tm"][:, None] * chunk * nest.taps // width)

    def weight_fragments(self, point: DesignPoint, chunk: Int) -> Int:
        """Transposed, a burst for each channel of the chunk."""
        return chunk

    def map_words(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int) -> tuple[Int, Int]:
        """A bank per lane of pixels for the input, per lane for the output."""
        rows, columns = point["tf_rows"][:, None], point["tf_cols"][:, None]
        ifm = chunk * -(-nest.rows(tr) // rows) * -(-nest.cols // columns)
        return ifm, -(-tr // rows) * -(-nest.c // columns) + 0 * chunk

    def weight_words(self, point: DesignPoint, nest: Nest) -> Int:
        """A bank per output channel; the halves of the double buffer hold alternate input channels."""
        return np.asarray(nest.taps * -(-nest.n // 2))


class FeatureMap(TiledModel):
    """Lanes on output rows, columns and channels, with the buffers and schedule of the tiled families."""

    name = "feature_map"
    title = FAMILIES["feature_map"].title
    reference = FAMILIES["feature_map"].reference
    precisions = ("int8", "int16", "bf16", "fp32")
    lanes_of = ("tf_rows", "tf_cols", "tm")
    geometry: ClassVar[FeatureMapGeometry] = FeatureMapGeometry()
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
        maps = ((nests.r - 1) * nests.sr + nests.kr) * ((nests.c - 1) * nests.sc + nests.kc)
        need = (
            int(np.max(maps)),
            int(np.max(nests.r * nests.c)),
            int(np.max(nests.taps * -(-nests.n // 2) * nests.m)),
        )
        unrolled = [
            Parameter("tf_rows", rows, "output rows in parallel", "rows"),
            Parameter("tf_cols", columns, "output columns in parallel", "columns"),
            Parameter("tm", channels, "output channels in parallel", "channels"),
        ]
        return SearchSpace((*unrolled, *self._buffer_parameters(workload, device, unrolled, need)))

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
