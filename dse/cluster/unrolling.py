"""The lanes of one layer's engine: the cheapest unrolling over channels, columns, rows and frames.

A layer-parallel cluster builds an engine for every layer (NADA 2023, Table I: parallel output channels, input channels,
horizontal): the lanes of the single-board families' template (``dse.models.tile_geometry``) along m, n and c, and as
the hybrid family has them along r and b, with the loop bounds of ``dse.models.loop_nest``. Forward, input gradient and
weight gradient have lanes of their own and run at the same time, each in

    ceil(rows / pr) * ceil(columns / ph) * ceil(m / poc) * ceil(n / pic) * taps

cycles for ``pb`` frames, m and n exchanged in the input gradient. With p = ph pr pb pixels at a time, DSP blocks are
``lane_dsp`` of every phase; where a block's adder follows its multiplier (Intel's floating point), each accumulator is
one block more, so that the three phases take poc p (pic + 1), 2 poc pic p and poc pic p + pic blocks.
"""

from __future__ import annotations

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

    def cycles(self, lanes: Int) -> NDArray[np.float64]:
        """Cycles a frame of the slowest phase [K]; ``lanes`` [K,5] are in the order of LANES."""
        poc, pic, ph, pr, pb = lanes.T
        m, n, rows, columns = self.forward
        slowest = _walk(self.taps, (m * self.groups, n, rows, columns), poc, pic, ph, pr)
        if self.input_grad:
            m, n, rows, columns = self.input_grad
            slowest = np.maximum(slowest, _walk(self.taps, (m, n * self.groups, rows, columns), pic, poc, ph, pr))
        return np.asarray(slowest / pb)

    def blocks(self, lanes: Int, operator: OperatorBlocks) -> NDArray[np.float64]:
        """DSP blocks of all phases' lanes and accumulators [K]."""
        poc, pic, *pixels = lanes.T
        count = lanes.prod(axis=1)
        total = 2 * count * operator.lane + (poc * np.prod(pixels, axis=0) + count) * operator.accumulator
        if self.input_grad:
            total = total + count * operator.lane + pic * operator.accumulator
        return np.asarray(total, dtype=np.float64)


_TEMPLATE = TileGeometry({"m": "m", "n": "n", "c": "c", "r": "r"}, planar=True)


def _walk(taps: int, loops: tuple[int, int, int, int], produced: Int, reduced: Int, columns: Int, rows: Int) -> Int:
    """Cycles [K] of one nest over (m, n, rows, columns), by the template's count of a tile that is the whole map."""
    m, n, r, c = loops
    one = np.ones((1, 1), dtype=np.int64)
    nest = Nest("forward", False, m * one, n * one, one, one, one, one, False, r, c, taps, 1, 1, c, 1)
    point = dict(zip("mncr", (produced, reduced, columns, rows), strict=True))
    tile = _TEMPLATE.compute(_TEMPLATE.lanes(point), nest, n * one, r * one)[:, 0]
    return np.asarray(tile * -(-m // produced))


@dataclass(frozen=True)
class Frontier:
    """The unrollings worth building, fewest cycles last: cycles fall and DSP blocks rise along the arrays [K]."""

    cycles: NDArray[np.float64]
    dsp: NDArray[np.float64]
    unroll: Int
    """Lanes [K,5] in the order of LANES."""

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
def frontier(
    bounds: Bounds, operator: OperatorBlocks, rows: int = 1, samples: int = 1, *, hybrid: bool = False
) -> Frontier:
    """For every number of cycles the fewest blocks, then the fewest lanes, then the most ``poc``: that gives NADA's
    Table I.

    Lanes divide their loops, or, with ``hybrid``, have any number; up to ``rows`` rows, or a divisor of
    ``samples`` frames of one row each.
    """
    if (rows, samples) == (1, 1):
        return _with_pixels(bounds, operator, 1, 1, hybrid)
    pixels = [*((pr, 1) for pr in range(1, rows + 1)), *((1, pb) for pb in _sizes(samples, False)[1:])]
    known = [_with_pixels(bounds, operator, pr, pb, hybrid) for pr, pb in pixels]
    return _cheapest(bounds, operator, np.concatenate([one.unroll for one in known]))


@lru_cache(maxsize=4096)
def _with_pixels(bounds: Bounds, operator: OperatorBlocks, pr: int, pb: int, hybrid: bool) -> Frontier:
    """Over all channels and columns with just ``pr`` lanes along rows and ``pb`` along frames."""
    m, n, _, columns = bounds.forward
    sizes = [_sizes(m * bounds.groups, hybrid), _sizes(n, hybrid), _sizes(columns, hybrid)]
    if hybrid and bounds.input_grad:
        sizes[2] = sorted({*sizes[2], *_sizes(bounds.input_grad[3], hybrid)})
    grid = np.meshgrid(*(np.array(s, dtype=np.int64) for s in sizes), [pr], [pb], indexing="ij")
    return _cheapest(bounds, operator, np.stack([axis.reshape(-1) for axis in grid], axis=1))


def _cheapest(bounds: Bounds, operator: OperatorBlocks, lanes: Int) -> Frontier:
    """Of ``lanes`` [K,5] those that are worth building: faster than all cheaper ones."""
    cycles, dsp = bounds.cycles(lanes), bounds.blocks(lanes, operator)
    order = np.lexsort((-lanes[:, 0], lanes.sum(axis=1), dsp))
    best = np.minimum.accumulate(cycles[order])
    kept = order[np.flatnonzero(np.diff(best, prepend=np.inf) < 0)]
    return Frontier(cycles[kept], dsp[kept], lanes[kept])


def _sizes(number: int, hybrid: bool) -> list[int]:
    """Lanes worth trying on a loop: its divisors, or the fewest for every number of rounds."""
    if hybrid:
        return sorted({-(-number // rounds) for rounds in range(1, number + 1)})
    return [d for d in range(1, number + 1) if number % d == 0]
