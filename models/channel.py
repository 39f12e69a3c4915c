"""Channel-level parallelism: ``tm`` output channels by ``tn`` input channels in space (EF-Train, ACM TODAES 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from dse.device import Device
from dse.models import FAMILIES
from dse.models.algorithm1 import algorithm1_buffers
from dse.models.loop_nest import LoopNests, loop_nests
from dse.models.tile_geometry import Int, Memory, Nest, TileGeometry
from dse.models.tile_pipeline import TileReading
from dse.models.tiled import READINGS, SETTINGS, TiledModel
from dse.models.tiling import TiledReading
from dse.space import DesignPoint, Parameter, SearchSpace
from dse.workload import Precision, Workload

__all__ = ["Channel"]


class ChannelGeometry(TileGeometry):
    """Maps lie in DRAM as blocks of gcd(tm, tn) channels [block][row][column][channel]; a tile has all columns."""

    def side_by_side(self, point: DesignPoint, m: Int, n: Int, groups: Int) -> Int:
        """As many groups as fit both unrolled dimensions: their weights lie on the diagonal of the lanes."""
        fit = np.minimum(point["tm"][:, None] // m, point["tn"][:, None] // n)
        return np.asarray(np.clip(fit, 1, groups))

    def memories(self, point: DesignPoint, precision: Precision) -> tuple[Memory, Memory, Memory]:
        """``tn`` banks of inputs, ``tm`` of running sums, one of weights for every lane; all banks share an address."""
        return (
            Memory(point["tn"], precision.bits, wide=True),
            Memory(point["tm"], precision.accumulator_bits, wide=True),
            Memory(point["tm"] * point["tn"], precision.bits, wide=True),
        )

    def layout_block(self, point: DesignPoint) -> Int:
        """gcd(tm, tn) channels."""
        return np.gcd(point["tm"], point["tn"])[:, None]

    def m_tile(self, point: DesignPoint) -> Int:
        """``tm`` channels."""
        return np.asarray(point["tm"][:, None])

    def chunks(self, point: DesignPoint, nest: Nest) -> list[Int]:
        """``tn`` channels: a chunk is what the lanes take at once."""
        return [point["tn"][:, None]]

    def compute(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int) -> Int:
        """A pixel and a tap per cycle."""
        return tr * nest.c * nest.taps

    def load_beats(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int, width: int) -> Int:
        """A pixel's channels fill whole beats; a layer with fewer than ``tn`` channels stores only those."""
        return -(-np.minimum(nest.n, chunk) // width) * nest.rows(tr) * nest.cols

    def tile_beats(self, point: DesignPoint, nest: Nest, tr: Int, width: int) -> Int:
        """``tm`` channels of every pixel."""
        return -(-point["tm"][:, None] // width) * tr * nest.c

    def load_bursts(self, point: DesignPoint, nest: Nest, chunk: Int) -> Int:
        """A burst for each of the layout's blocks that a chunk spans."""
        return -(-np.minimum(nest.n, chunk) // self.layout_block(point))

    def tile_bursts(self, point: DesignPoint) -> Int:
        """A burst for each of the layout's blocks in ``tm`` channels."""
        return point["tm"][:, None] // self.layout_block(point)

    def weight_beats(self, point: DesignPoint, nest: Nest, chunk: Int, width: int) -> Int:
        """``tm`` x ``tn`` weights per tap, those of side-by-side groups on the diagonal only."""
        words = -(-point["tm"][:, None] * point["tn"][:, None] // nest.side)
        return -(-words // width) * nest.taps

    def weight_fragments(self, point: DesignPoint, chunk: Int) -> Int:
        """Transposed, a tile meets the stored ones block by block: one burst only where tm = tn."""
        block = self.layout_block(point)
        return (point["tm"][:, None] // block) * (point["tn"][:, None] // block)

    def map_words(self, point: DesignPoint, nest: Nest, chunk: Int, tr: Int) -> tuple[Int, Int]:
        """A bank per channel (eqs. 29 and 30)."""
        return nest.rows(tr) * nest.cols, tr * nest.c

    def weight_words(self, point: DesignPoint, nest: Nest) -> Int:
        """A bank per lane; the two halves of the double buffer hold alternate chunks (eq. 31)."""
        return np.asarray(nest.taps * -(-nest.n // (2 * point["tn"][:, None])))


class Channel(TiledModel):
    """EF-Train's architecture with tm and tn free of each other."""

    name = "channel"
    title = FAMILIES["channel"].title
    reference = FAMILIES["channel"].reference
    precisions = ("int8", "int16", "bf16", "fp32")
    lanes_of = ("tm", "tn")
    geometry: ClassVar[ChannelGeometry] = ChannelGeometry()
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
        need = (
            int(np.max(((nests.r - 1) * nests.sr + nests.kr) * ((nests.c - 1) * nests.sc + nests.kc))),
            int(np.max(nests.r * nests.c)),
            int(np.max(nests.taps * -(-nests.n // 2) * nests.m)),
        )
        unrolled = [
            Parameter("tm", lanes, "output channels in parallel", "channels"),
            Parameter("tn", lanes, "input channels in parallel", "channels"),
        ]
        return SearchSpace((*unrolled, *self._buffer_parameters(workload, device, unrolled, need)))

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
