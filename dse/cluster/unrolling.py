"""The lanes of one layer's engine: the cheapest unrolling over output channels, input channels and columns.

A layer-parallel cluster builds an engine for every layer (NADA 2023, Table I: parallel output channels, input channels,
horizontal): the lanes of the single-board families' template (``dse.models.tile_geometry``) along m, n and c, with the
loop bounds of ``dse.models.loop_nest``. Forward, input gradient and weight gradient have lanes of their own and run at
the same time, each in

    rows * ceil(columns / ph) * ceil(m / poc) * ceil(n / pic) * taps

cycles a frame, m and n exchanged in the input gradient; rows and frames are streamed, never unrolled. DSP blocks are
``lane_dsp`` of every phase; where a block's adder follows its multiplier (Intel's floating point), each accumulator is
one block more, so that the three phases take poc ph (pic + 1), 2 poc pic ph and poc pic ph + pic blocks.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.models.lanes import lane_dsp
from dse.models.loop_nest import LoopNests
from dse.models.tile_geometry import Nest, TileGeometry
from dse.workload import PHASES, Precision

__all__ = ["Bounds", "Frontier", "OperatorBlocks", "frontier", "layer_bounds"]

Int = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OperatorBlocks:
    """DSP blocks of a multiply-accumulate lane, of an accumulator on its own, and of a lone multiplier and adder."""

    lane: float
    accumulator: float
    multiplier: float
    adder: float

    @staticmethod
    def of(device: Device, precision: Precision) -> OperatorBlocks:
        """What ``device`` takes. An adder that is free behind its multiplier takes a block where it stands alone."""
        cost = device.dsp_cost[precision.name]
        fused = device.vendor == "intel" and precision.name == "fp32"
        return OperatorBlocks(
            lane=float(lane_dsp(device, precision, np.int64(1))),  # type: ignore[arg-type]
            accumulator=1.0 if fused else 0.0,
            multiplier=cost.multiplier_dsp,
            adder=1.0 if fused else cost.adder_dsp,
        )


@dataclass(frozen=True, slots=True)
class Bounds:
    """Loop bounds of one layer: channels over all groups, and of each phase (m, n, rows, columns) per frame."""

    taps: int
    groups: int
    forward: tuple[int, int, int, int]
    input_grad: tuple[int, int, int, int] | None
    """None where nobody reads the input's gradient."""

    def cycles(self, poc: Int, pic: Int, ph: Int) -> Int:
        """Cycles a frame of the slowest phase, int64 of the arguments' shape."""
        m, n, rows, columns = self.forward
        slowest = _walk(self.taps, (m * self.groups, n, rows, columns), poc, pic, ph)
        if self.input_grad:
            m, n, rows, columns = self.input_grad
            slowest = np.maximum(slowest, _walk(self.taps, (m, n * self.groups, rows, columns), pic, poc, ph))
        return slowest

    def blocks(self, poc: Int, pic: Int, ph: Int, operator: OperatorBlocks) -> NDArray[np.float64]:
        """DSP blocks of all phases' lanes and accumulators."""
        lanes = poc * pic * ph
        total = 2 * lanes * operator.lane + (poc * ph + lanes) * operator.accumulator
        if self.input_grad:
            total = total + lanes * operator.lane + pic * operator.accumulator
        return np.asarray(total, dtype=np.float64)


_TEMPLATE = TileGeometry({"m": "m", "n": "n", "c": "c"}, planar=True)


def _walk(taps: int, loops: tuple[int, int, int, int], produced: Int, reduced: Int, columns: Int) -> Int:
    """Cycles of one nest over (m, n, rows, columns), by the template's count of a tile that is the whole map."""
    m, n, r, c = loops
    one = np.ones((1, 1), dtype=np.int64)
    nest = Nest("forward", False, m * one, n * one, one, one, one, one, False, r, c, taps, 1, 1, c, 1)
    shape = np.broadcast_shapes(produced.shape, reduced.shape, columns.shape)
    point = {k: np.broadcast_to(v, shape).reshape(-1) for k, v in zip("mnc", (produced, reduced, columns), strict=True)}
    tile = _TEMPLATE.compute(_TEMPLATE.lanes(point), nest, n * one, r * one)[:, 0]
    return np.asarray((tile * -(-m // point["m"])).reshape(shape))


@dataclass(frozen=True)
class Frontier:
    """The unrollings worth building, fewest cycles last: cycles fall and DSP blocks rise along the arrays [K]."""

    cycles: Int
    dsp: NDArray[np.float64]
    unroll: Int
    """(poc, pic, ph) [K,3]."""

    def at(self, cycles: float) -> int:
        """Number of the cheapest unrolling that takes at most ``cycles`` a frame; -1 where none is fast enough."""
        found = int(np.searchsorted(-self.cycles, -cycles, side="left"))
        return found if found < len(self.cycles) else -1


def layer_bounds(nests: LoopNests, layer: int) -> Bounds | None:
    """The loop bounds of layer number ``layer``; None where it has no multiply-accumulates."""
    rows = {PHASES[int(nests.phase[k])]: int(k) for k in np.flatnonzero(nests.layer == layer)}
    if "forward" not in rows:
        return None

    def loops(k: int) -> tuple[int, int, int, int]:
        return int(nests.m[k]), int(nests.n[k]), int(nests.r[k]), int(nests.c[k])

    first = rows["forward"]
    back = loops(rows["input_grad"]) if "input_grad" in rows else None
    return Bounds(int(nests.taps[first]), int(nests.groups[first]), loops(first), back)


@lru_cache(maxsize=4096)
def frontier(bounds: Bounds, operator: OperatorBlocks) -> Frontier:
    """Over all divisors: for every number of cycles the fewest blocks, then the fewest lanes, then the most ``poc``.

    The order of preference gives NADA's Table I.
    """
    m, n, _, columns = bounds.forward
    options = itertools.product(_divisors(m * bounds.groups), _divisors(n), _divisors(columns))
    poc, pic, ph = np.array(list(options), dtype=np.int64).T
    cycles, dsp = bounds.cycles(poc, pic, ph), bounds.blocks(poc, pic, ph, operator)
    order = np.lexsort((-poc, poc + pic + ph, dsp))
    kept, fewest = [], np.iinfo(np.int64).max
    for k in order:  # cheapest first: worth building only where faster than all cheaper ones
        if cycles[k] < fewest:
            fewest = cycles[k]
            kept.append(k)
    return Frontier(cycles[kept], dsp[kept], np.stack([poc, pic, ph], axis=1)[kept])


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
