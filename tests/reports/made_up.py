"""A result made up by hand, with round figures that tests can check: nothing in it comes from a model."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from dse.device import Device
from dse.results import Candidate, Cell, Diagnosis, Proof, ResultSet, RunInfo

CLOCK_HZ = 100e6
BATCH = 4
LAYERS = (
    # name, op, MACs of one sample and phase, needs an input gradient
    ("conv1", "conv", 105_415_200, False), ("relu1", "relu", 0, True), ("pool1", "maxpool", 0, True),
    ("conv2", "conv", 447_897_600, True), ("relu2", "relu", 0, True), ("pool2", "maxpool", 0, True),
    ("conv3", "conv", 149_520_384, True), ("relu3", "relu", 0, True),
    ("conv4", "conv", 224_280_576, True), ("relu4", "relu", 0, True),
    ("conv5", "conv", 149_520_384, True), ("relu5", "relu", 0, True), ("pool5", "maxpool", 0, True),
    ("fc6", "fc", 37_748_736, True), ("relu6", "relu", 0, True), ("fc7", "fc", 16_777_216, True),
    ("relu7", "relu", 0, True), ("fc8", "fc", 4_096_000, True), ("loss", "softmax_loss", 0, True),
)  # fmt: skip


def board(name: str, *, dsp: int = 2520, bram36: float = 912.0, uram288: int = 0) -> Device:
    """A board of which 95 % of the DSPs may be used."""
    return Device(
        name=name, part="xc-test", vendor="xilinx", lut=274_080, ff=548_160, dsp=dsp, bram36=bram36, uram288=uram288,
        clock_hz=CLOCK_HZ, dram_bytes=4 * 10**9, dram_bytes_per_s=19.2e9, dma_ports=4, dma_port_bits=128,
        dma_restart_cycles=400,
        dsp_cost={}, usable={"lut": 0.8, "ff": 0.8, "dsp": 0.95, "bram36": 0.95, "uram288": 0.95}, power=(), sources={},
    )  # fmt: skip


def phase(cycles: float, macs: float, lanes: int, bound: str = "compute") -> dict[str, Any]:
    """Costs of one layer's phase."""
    tiling = {"tr": 27, "m_on": 96} if macs else {}
    return {
        "cycles": cycles, "macs": macs, "mac_floor_cycles": macs / lanes, "dram_bytes": 4096 * 1024, "bound": bound,
        "lost_cycles": {"wait": cycles - macs / lanes}, "tiling": tiling,
    }  # fmt: skip


def layers_of(lanes: int, efficiency: float, layers: Any = LAYERS) -> list[dict[str, Any]]:
    """Per-layer costs: the MAC floor over ``efficiency``, and auxiliary layers of 100,000 cycles a phase."""
    out = []
    for name, op, macs, has_input_grad in layers:
        phases = {}
        if macs:
            work = macs * BATCH
            names = ["forward", *(["input_grad"] if has_input_grad else []), "weight_grad"]
            for i, key in enumerate(names):
                phases[key] = phase(work / lanes / (efficiency - 0.05 * i), work, lanes, ("compute", "dma", "dram")[i])
            phases["update"] = phase(30_000.0, 0, lanes, "dram")
        else:
            phases = {"forward": phase(100_000.0, 0, lanes, "dma"), "input_grad": phase(100_000.0, 0, lanes, "dma")}
        out.append({"name": name, "op": op, "phases": phases})
    return out


def estimate(
    lanes: int, efficiency: float, *, dsp: float, bram36: float, power_w: float | None, feasible: bool = True,
    detail: bool = True, layers: Any = LAYERS,
) -> dict[str, Any]:  # fmt: skip
    """An estimate's JSON form."""
    rows = layers_of(lanes, efficiency, layers)
    cycles = sum(p["cycles"] for row in rows for p in row["phases"].values())
    dram = sum(p["dram_bytes"] for row in rows for p in row["phases"].values())
    time_s = cycles / CLOCK_HZ
    out: dict[str, Any] = {
        "feasible": feasible, "violations": {} if feasible else {"dsp": dsp / 2394 - 1}, "iteration_cycles": cycles,
        "iteration_s": time_s, "samples_per_s": BATCH / time_s, "power_w": power_w,
        "energy_j": None if power_w is None else power_w * time_s, "dram_bytes": dram, "dram_capacity_bytes": 10**9,
        "dram_bytes_per_s": dram / time_s,
        "resources": {"lut": 90.5 * lanes, "ff": 120.0 * lanes, "dsp": dsp, "bram36": bram36, "uram288": 0},
    }  # fmt: skip
    return out | ({"layers": rows} if detail else {})


def candidate(point: dict[str, int], origin: str, lanes: int, efficiency: float, **kwargs: Any) -> Candidate:
    """A candidate whose objectives are latency and DSP blocks."""
    made = estimate(lanes, efficiency, **kwargs)
    return Candidate(point, made, origin, (made["iteration_s"],))


def cloud(names: tuple[str, str], seed: int, count: int, limit: float = 2394) -> pd.DataFrame:
    """Evaluated points: the more lanes, the faster, up to noise; those over ``limit`` DSP blocks do not fit."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, 65, count), rng.integers(2, 65, count)
    lanes = a * b
    seconds = 13.2e9 / lanes / CLOCK_HZ / rng.uniform(0.2, 0.6, count)
    dsp = 5.0 * lanes
    return pd.DataFrame(
        {
            names[0]: a, names[1]: b, "iteration_s": seconds, "energy_j": seconds * (3 + dsp / 400), "dsp": dsp,
            "bram36": 2.0 * (a + b), "feasible": dsp <= limit,
        }
    )  # fmt: skip


def cell(family: str, device: str, best: Candidate | None, lanes: int, **changes: Any) -> Cell:
    """A cell with a bound proof and 500 trials that came within 0.12 %."""
    gap = 0.0012 if best else float("nan")
    optimum = best.objectives if best else ()
    base = Cell(
        network="alexnet", device=device, family=family, batch_size=BATCH, precision="fp32", reading="exact",
        objectives=("latency",), method="optuna", sampler="tpe", seed=7, evaluated=500, search_s=0.9,
        proof=Proof("bound", gap, 20_000, 65_536, 4.2, optimum), best=best, pareto=(best,) if best else (), papers=(),
        lanes=lanes,
    )  # fmt: skip
    return dataclasses.replace(base, **changes)


def channel_cell(device: str = "zcu102", power_w: float | None = 7.5, **changes: Any) -> Cell:
    """[48,8] wins; the paper's [16,16] fits and is slower, its [32,32] does not fit."""
    best = candidate({"tm": 48, "tn": 8}, "proof", 384, 0.9, dsp=1920, bram36=672, power_w=power_w)
    paper = candidate({"tm": 16, "tn": 16}, "EF-Train", 256, 0.8, dsp=1280, bram36=672, power_w=power_w)
    large = candidate(
        {"tm": 32, "tn": 32}, "EF-Train, scaled", 1024, 0.7, dsp=5120, bram36=900, power_w=power_w, feasible=False
    )
    small = candidate({"tm": 8, "tn": 8}, "search", 64, 0.95, dsp=320, bram36=200, power_w=power_w, detail=False)
    made = {
        "papers": (large, paper),
        "pareto": (best, small),
        "points": cloud(("tm", "tn"), 1, 500),
    }
    return cell("channel", device, best, 384, **(made | changes))


def batch_cell(**changes: Any) -> Cell:
    """(4,96), not proven; the paper's own point does not fit."""
    best = candidate({"tb": 4, "ti": 96}, "search", 384, 0.45, dsp=2000, bram36=310, power_w=7.9)
    paper = candidate(
        {"tb": 128, "ti": 48}, "DarkFPGA", 6144, 0.3, dsp=30_720, bram36=616, power_w=40.0, feasible=False
    )
    made = {
        "papers": (paper,), "points": cloud(("tb", "ti"), 2, 400),
        "proof": Proof("none", float("nan"), 0, 65_536, 0.0),
    }  # fmt: skip
    return cell("batch", "zcu102", best, 384, **(made | changes))


def infeasible_cell(**changes: Any) -> Cell:
    """Nothing fits: the nearest point needs 2601 DSP blocks of 2394 usable ones, and the board has no URAM."""
    nearest = candidate({"tr": 51, "tc": 51}, "search", 2601, 0.2, dsp=2601, bram36=500, power_w=9.0, feasible=False)
    short = {"dsp": 2601 / 2394 - 1, "uram288": float("inf")}
    made = {
        "diagnosis": Diagnosis(short, nearest, "vcu1525"), "points": cloud(("tr", "tc"), 3, 100, limit=0),
    }  # fmt: skip
    return cell("feature_map", "zcu102", None, 0, **(made | changes))


def run_info(**changes: Any) -> RunInfo:
    """How the made-up result came about."""
    base = RunInfo(
        version="0.1.0", git_revision="0123abc", seed=7, created="2026-01-02T03:04:05Z", inputs={},
        argv=("dse", "sweep", "-n", "alexnet", "-d", "zcu102"), packages={"numpy": "2.4", "optuna": "5.0"},
    )  # fmt: skip
    return dataclasses.replace(base, **changes)


def made_up(*cells: Cell, **changes: Any) -> ResultSet:
    """Three families on one board, one of them infeasible, and one on a board without published power."""
    default = (channel_cell(), batch_cell(), infeasible_cell(), channel_cell("mute", None, papers=()))
    return ResultSet(cells or default, run_info(**changes))


BOARDS = {"zcu102": board("zcu102"), "mute": board("mute", uram288=640)}


def deep_layers(blocks: int) -> tuple[tuple[str, str, int, bool], ...]:
    """A chain of conv, batch normalisation and ReLU."""
    return tuple(
        row
        for i in range(blocks)
        for row in (
            (f"stage{i // 8}.block{i}.conv", "conv", 50_000_000, i > 0),
            (f"stage{i // 8}.block{i}.bn", "batch_norm", 0, True),
            (f"stage{i // 8}.block{i}.relu", "relu", 0, True),
        )
    )


def deep_cell(blocks: int = 54) -> Cell:
    """A network of 3 * ``blocks`` layers."""
    best = candidate(
        {"tm": 48, "tn": 8}, "proof", 384, 0.9, dsp=1920, bram36=672, power_w=7.5, layers=deep_layers(blocks)
    )
    return cell("channel", "zcu102", best, 384, network="deep")
