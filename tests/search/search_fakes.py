"""Small families whose whole space can be enumerated: without slack, with slack, with buffers that must hold a tile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dse.device import Device, OperatorCost, PowerMeasurement
from dse.estimate import RESOURCES
from dse.model import Costs, ParallelismModel
from dse.network import Layer, Network
from dse.space import Parameter, SearchSpace
from dse.workload import PRECISIONS, Workload

NETWORK = Network(
    "tiny",
    "made up",
    (3, 8, 8),
    (Layer("conv1", "conv", ("input",), (3, 8, 8), (8, 8, 8), (3, 3), (1, 1), (1, 1, 1, 1), parameters=216),),
    digest="0" * 64,
)
WORKLOAD = Workload(NETWORK, 4, PRECISIONS["fp32"])

_POWER = tuple(
    PowerMeasurement(f"d{n}", dsp, bram, 1e8, 1.0 + 0.01 * dsp + 0.02 * bram, "made up")
    for n, (dsp, bram) in enumerate([(10, 10), (50, 20), (20, 60), (70, 80)])
)

DEVICE = Device(
    name="board",
    part="part",
    vendor="xilinx",
    lut=10_000,
    ff=20_000,
    dsp=60,
    bram36=50.0,
    uram288=0,
    clock_hz=1e8,
    dram_bytes=10**9,
    dram_bytes_per_s=1e9,
    dma_ports=4,
    dma_port_bits=128,
    dma_restart_cycles=10,
    dsp_cost={"fp32": OperatorCost(3.0, 2.0)},
    usable=dict.fromkeys(RESOURCES, 1.0),
    power=_POWER,
    sources={},
    digest="1" * 64,
)
DARK_BOARD = replace(DEVICE, name="dark", power=())
SMALL_DRAM = replace(DEVICE, name="small_dram", dram_bytes=10)
FEW_DSP = replace(DEVICE, name="few_dsp", dsp=2)


@dataclass(frozen=True)
class Plain(ParallelismModel):
    """Lanes ``t`` x ``u`` that divide 100 units of work with ceilings; no slack."""

    most: int = 12
    seed: int = 0

    name = "plain"
    title = "plain"
    reference = "Nobody, 2020"
    precisions = ("fp32",)
    readings: ClassVar = {"exact": "the formulas", "published": "twice as slow"}
    lanes_of = ("t", "u")

    def _space(self, workload, device):
        values = np.arange(1, self.most + 1)
        return SearchSpace((Parameter("t", values, "rows", "lanes"), Parameter("u", values, "columns", "lanes")))

    def _time(self, point):
        return -(-100 // point["t"]) * -(-60 // point["u"]) + 3 * point["t"] + point["u"]

    def floor_cycles(self, workload, device, point, reading=""):
        """Somewhat below the time with the largest buffers."""
        return 0.9 * self._fastest(point)

    def _fastest(self, point):
        return self._time(point)

    def _costs(self, workload, device, point, reading, tiling):
        time = self._time(point) * (2.0 if reading == "published" else 1.0)
        return Costs(
            layer=np.array([0]),
            phase=np.array([0]),
            cycles=time[:, None],
            dram_bytes=np.full((len(time), 1), 64.0),
            bound=np.zeros((len(time), 1), dtype=np.int8),
            tiling={},
        )

    def _resources(self, workload, device, point, reading):
        lanes = np.asarray(point["t"] * point["u"], dtype=float)
        return {"lut": 10 * lanes, "ff": 5 * lanes, "dsp": 3 * lanes, "bram36": lanes, "uram288": 0 * lanes}

    def _dram_capacity(self, workload, point, reading):
        return 1000.0

    def _heuristics(self, workload, device):
        return [{"t": 4, "u": 4}, {"t": 12, "u": 12}, {"t": 1000, "u": 1}]


@dataclass(frozen=True)
class Buffered(Plain):
    """Lanes and two buffers; a seed draws tables that make time fall and block RAM grow with each buffer.

    ``need`` > 0 adds tiles that must fit the first buffer, the more lanes the larger.
    """

    most: int = 5
    depths: int = 4
    need: int = 0

    name = "buffered"
    readings: ClassVar = {"exact": "the formulas"}

    def _space(self, workload, device):
        words = 2 ** np.arange(self.depths)
        return SearchSpace(
            (
                Parameter("t", np.arange(1, self.most + 1), "rows", "lanes"),
                Parameter("a_words", words, "first buffer", "words", slack=True),
                Parameter("u", np.arange(1, self.most + 1), "columns", "lanes"),
                Parameter("b_words", words, "second buffer", "words", slack=True),
            )
        )

    def _tables(self):
        draw = np.random.default_rng(self.seed)
        shape = (self.most, self.depths, self.most, self.depths)
        time = draw.integers(0, 4, shape).astype(float)
        for axis in (1, 3):
            time = np.flip(np.cumsum(np.flip(time, axis), axis), axis)
        base = draw.integers(5, 60 if self.seed % 2 else 9, (self.most, 1, self.most, 1))  # few values: ties
        bram = np.cumsum(np.cumsum(draw.integers(0, 3, (self.depths, self.depths)), axis=0), axis=1)
        return base + time, bram

    def _fastest(self, point):
        return self._tables()[0][point["t"] - 1, -1, point["u"] - 1, -1]

    def _index(self, point):
        a, b = (np.log2(point[name]).round().astype(int) for name in ("a_words", "b_words"))
        return point["t"] - 1, a, point["u"] - 1, b

    def _costs(self, workload, device, point, reading, tiling):
        t, a, u, b = self._index(point)
        costs = super()._costs(workload, device, point, "exact", tiling)
        extra = {"a_words": (point["t"] + self.need - 1) / point["a_words"] - 1.0} if self.need else {}
        return replace(costs, cycles=self._tables()[0][t, a, u, b][:, None], violation=extra)

    def _resources(self, workload, device, point, reading):
        _, a, _, b = self._index(point)
        out = super()._resources(workload, device, point, reading)
        bram = np.ceil(point["t"] * (1.0 + self._tables()[1][a, b]) / 2)
        return {**out, "bram36": bram}

    def _heuristics(self, workload, device):
        return [{"t": 2, "u": 2, "a_words": 2, "b_words": 2}]


def enumerated(model, device=DEVICE, objectives=("latency",), reading=""):
    """All points of the space, their objective values [N,K] and feasibility, from one plain call."""
    space = model.space(WORKLOAD, device)
    points = space.points(0, space.size)
    estimate = model.evaluate(WORKLOAD, device, points, reading=reading)
    values = np.stack([estimate.objective(name) for name in objectives], axis=1)
    return points, values, estimate
