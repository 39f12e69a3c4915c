"""Figures of Hype-training that ``dse validate`` asks for; each reads a row of ``models/published/hype.toml``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from statistics import mean

from dse.fields import Fields
from dse.networks import load_network
from dse.offload.advice import advise, score
from dse.offload.assignment import GOALS, Plan, choose, gpu_only
from dse.offload.first_order import first_order
from dse.offload.gpu_model import load_gpu
from dse.offload.indicator import Configuration, rank, rank_correlation
from dse.offload.platform import Platform
from dse.offload.profile import Profile, load_profile
from dse.offload.rule import COMBINE, calibrate
from dse.offload.scenario import Scenario, training_scenario
from dse.workload import Workload, precision_named

__all__ = ["OFFLOAD_MEASURES"]

_LEVELS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
_RATIOS = ("throughput", "power", "efficiency", "energy")


def _table_1() -> Profile:
    return load_profile("hype_table1")


def _rule(entry: Fields) -> float:
    """On how many of Table 1's operations a combination of the thresholds is right to offload, or agrees at all."""
    rule, _ = calibrate(_table_1().operations, combine=entry.string("combine", choices=tuple(COMBINE)))
    advice = advise(_table_1().operations, Platform(), rule)
    counts = score(advice)
    if entry.string("count", choices=("right", "agree")) == "right":
        return float(counts.right)
    return float(len(advice) - counts.false_positive - counts.missed)


def _energy_ratio(entry: Fields) -> float:
    """Lowest or highest FPGA over GPU energy of the sizes of an operation."""
    operations = [o for o in _table_1().operations if o.op == entry.string("op")]
    ratios = [o.fpga.joules / o.gpu.joules for o in operations if o.fpga is not None]
    return min(ratios) if entry.string("which", choices=("lowest", "highest")) == "lowest" else max(ratios)


def _configuration(entry: Fields) -> tuple[Configuration, int, int]:
    """The kernel, its problem's MACs, and the inner dimension."""
    table = entry.table("kernel")
    kernel = Configuration(
        op="MatMul",
        compute_units=table.integer("cu", 1, 1),
        simd_width=table.integer("simd", 1, 1),
        work_group=table.integer("work_group", minimum=1),
        unroll=table.integer("unroll", 1, 1),
        f_max_hz=table.number("f_max_mhz", positive=True) * 1e6,
    )
    size = entry.integers("size", 3, minimum=1)
    return kernel, math.prod(size), size[1]


def _indicator(entry: Fields) -> float:
    """Eq. 1 as printed, times the inner dimension where the row says so."""
    kernel, macs, inner = _configuration(entry)
    return rank([kernel], macs)[0].indicator * (inner if entry.boolean("inner_factor", False) else 1)


def _least_ms(entry: Fields) -> float:
    kernel, macs, _ = _configuration(entry)
    return rank([kernel], macs, entry.integer("boards", minimum=1))[0].least_s * 1e3


def _correlation(entry: Fields) -> float:
    points = [(t.number("first"), t.number("second")) for t in entry.tables("points")]
    return rank_correlation([first for first, _ in points], [second for _, second in points])


def _first_order(entry: Fields) -> float:
    """Percent gained (throughput, efficiency) or saved (power, energy), mean over the offloaded shares of Table 2."""
    shares, contention = entry.table("shares"), entry.number("contention")
    idle_w = entry.number("fpga_idle_w", 0.0)
    figure = entry.string("ratio", choices=_RATIOS)
    ratios = [
        getattr(first_order(shares.number(name), contention=contention, fpga_idle_w=idle_w), figure)
        for name in shares.keys()  # noqa: SIM118
    ]
    change = 100 * (float(mean(ratios)) - 1)
    return change if figure in ("throughput", "efficiency") else -change


@lru_cache(maxsize=8)
def _scenario(network: str, gpus: int = 1, power_factor: float = 1.0) -> Scenario:
    workload = Workload(load_network(network), 256, precision_named("fp32"))
    return training_scenario(workload, load_gpu("v100"), _table_1().with_fpga_power(power_factor), gpus=gpus)


@lru_cache(maxsize=32)
def _plan(network: str, factor: float, platform: Platform, goal: str, evaluations: int) -> Plan:
    graph = _scenario(network, platform.gpus, factor).graph
    return choose(graph, platform, goal, evaluations=evaluations)


def _simulated(entry: Fields) -> float:
    """Change in percent of a simulated step against the GPU alone, mean over networks at batch 256."""
    goal = entry.string("goal", choices=tuple(GOALS))
    cap_w = entry.number("cap_w", math.inf)
    scaled_baseline = math.isfinite(cap_w)
    links = entry.number("link_gb_per_s", math.inf)
    gpus, factor = entry.integer("gpus", 1, 1), entry.number("fpga_power_factor", 1.0)
    platform = Platform(
        gpus=gpus,
        fpgas=gpus,
        fpga_idle_w=_table_1().least_fpga_w * factor,
        link_bytes_per_s=links * 1e9,
        contention=entry.number("contention"),
        cap_w=cap_w,
        dvfs_levels=_LEVELS if entry.boolean("dvfs", False) else (1.0,),
    )
    evaluations = entry.integer("evaluations", 100, 1)
    figure = entry.string("ratio", choices=("throughput", "efficiency"))
    ratios = []
    for name in entry.strings("networks"):
        scenario = _scenario(name, gpus, factor)
        plan = _plan(name, factor, platform, goal, evaluations)
        alone = gpu_only(scenario.graph, _with_levels(platform)) if scaled_baseline else plan.baseline
        assert plan.schedule is not None
        assert alone is not None
        ratio = alone.seconds / plan.schedule.seconds
        ratios.append(ratio if figure == "throughput" else alone.energy_j / plan.schedule.energy_j)
    return 100 * (mean(ratios) - 1)


def _with_levels(platform: Platform) -> Platform:
    """The same machine with a GPU that scales its clock: what a capped GPU alone does."""
    return replace(platform, dvfs_levels=_LEVELS)


OFFLOAD_MEASURES: Mapping[str, Callable[[object, Fields], float]] = {
    "offload_rule": lambda _, entry: _rule(entry),
    "offload_energy_ratio": lambda _, entry: _energy_ratio(entry),
    "latency_indicator": lambda _, entry: _indicator(entry),
    "kernel_least_ms": lambda _, entry: _least_ms(entry),
    "rank_correlation": lambda _, entry: _correlation(entry),
    "offload_first_order": lambda _, entry: _first_order(entry),
    "offload_simulated": lambda _, entry: _simulated(entry),
}
"""Measure name -> reader of (design, row)."""
