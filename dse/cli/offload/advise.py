"""``dse offload advise``: a verdict for every profiled operation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.guard import OK
from dse.cli.offload.options import (
    FpgaIdle,
    FpgaPowerFactor,
    GpuIdle,
    Link,
    LinkLatency,
    decimal,
    fpga_idle_w,
    link_bytes_per_s,
    scaled,
)
from dse.cli.offload.scenario import (
    AsPrinted,
    Batch,
    Board,
    Family,
    FpgaPower,
    GpuName,
    MacShare,
    StreamShare,
    TraceFile,
    build_scenario,
)
from dse.cli.options import Json, PrecisionName, Settings, checked
from dse.cli.output import number, print_json
from dse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dse.offload.profile import OpProfile
    from dse.offload.rule import OffloadRule
    from dse.offload.scenario import Scenario
    from dse.workload import Workload

__all__ = ["advise"]

_Profiled = Annotated[
    str,
    typer.Argument(metavar="PROFILE", help="CSV file of operations, or hype_table1 (Hype-training's Table 1)."),
]
_Network = Annotated[
    str, typer.Option("--network", "-n", metavar="NET", help="Judge the operations of this network's training step.")
]
_Rule = Annotated[
    str, typer.Option("--rule", metavar="and|or|bandwidth|ipc", help="How the thresholds are combined; the paper: or.")
]
_Calibrate = Annotated[
    list[str] | None,
    typer.Option("--calibrate", metavar="OP...", help="Operations that the thresholds come from: MatMul and Conv2D."),
]
_MaxBandwidth = Annotated[
    str, typer.Option("--max-bandwidth", metavar="GB/s", help="Threshold of the GPU's memory bandwidth, instead.")
]
_MaxIpc = Annotated[str, typer.Option("--max-ipc", metavar="X", help="Threshold of the GPU's IPC, instead.")]


def advise(
    profile: _Profiled = "",
    network: _Network = "",
    batch: Batch = "256",
    precision: PrecisionName = "fp32",
    device: Board = "",
    family: Family = "channel",
    settings: Settings = None,
    fpga_power: FpgaPower = "",
    gpu: GpuName = "v100",
    mac_share: MacShare = "0.6",
    stream_share: StreamShare = "0.8",
    as_printed: AsPrinted = False,
    trace: TraceFile = None,
    rule: _Rule = "and",
    calibrate: _Calibrate = None,
    max_bandwidth: _MaxBandwidth = "",
    max_ipc: _MaxIpc = "",
    link: Link = "12",
    link_latency: LinkLatency = "0",
    gpu_idle: GpuIdle = "39",
    fpga_idle: FpgaIdle = "",
    fpga_power_factor: FpgaPowerFactor = "1",
    as_json: Json = False,
) -> int:
    """Judge operations one by one, of a profile or of a network: time, energy, break-even link bandwidth."""
    from dse.cli.offload.advise_text import advice_json, print_advice
    from dse.offload.advice import advise as judge
    from dse.offload.platform import Platform
    from dse.offload.rule import COMBINE

    checked("--rule", rule, COMBINE)
    if network:
        workload, scenario = build_scenario(
            network, batch, precision, profile, gpu, device, family, settings, fpga_power, fpga_power_factor,
            mac_share, stream_share, as_printed, trace,
        )  # fmt: skip
        operations, assumptions = _of_network(workload, scenario)
        idle_w = scenario.fpga_idle_w
    else:
        of_network = {"--device": device, "--set": settings, "--fpga-power": fpga_power, "--trace": trace}
        for flag in [name for name, value in of_network.items() if value]:
            raise InputError(flag, "is of a network's step", allowed="with --network")
        operations, idle_w, assumptions = _of_profile(profile or "hype_table1", fpga_power_factor)
    platform = Platform(
        gpu_idle_w=decimal("--gpu-idle", gpu_idle, 0, 1e4),
        fpga_idle_w=decimal("--fpga-idle", fpga_idle, 0, 1e4) if fpga_idle else idle_w,
        link_bytes_per_s=link_bytes_per_s(link),
        link_latency_s=decimal("--link-latency", link_latency, 0, 1e9) / 1e6,
    )
    thresholds, brackets = _thresholds(operations, calibrate, rule, max_bandwidth, max_ipc)
    advice = judge(operations, platform, thresholds)
    stated = {
        **assumptions,
        "rule": _rule_text(thresholds, brackets),
        "link": platform.assumptions()["link"],
        "idle power": f"GPU {platform.gpu_idle_w:g} W, FPGA {platform.fpga_idle_w:g} W",
    }
    if as_json:
        print_json(advice_json(stated, advice))
    else:
        print_advice(stated, advice)
    return OK


def _of_profile(reference: str, power_factor: str) -> tuple[list[OpProfile], float, dict[str, str]]:
    """A profile's operations, the idle power of its FPGA, and what they rest on."""
    from dse.offload.profile import load_profile

    loaded = scaled(load_profile(reference), power_factor)
    assumptions = {
        "profile": loaded.source,
        "FPGA power": f"the profile's times {power_factor}",
        "moved bytes": "column link_mb, else the operation's DRAM traffic on the GPU, an upper bound",
    }
    return list(loaded.operations), fpga_idle_w("", loaded), assumptions


def _of_network(workload: Workload, scenario: Scenario) -> tuple[list[OpProfile], dict[str, str]]:
    """A step's operations and what they rest on."""
    from dse.offload.scenario import operations_of

    moved = "inputs, weights and output of the operation, if it alone is offloaded"
    return operations_of(scenario.graph, workload), {**scenario.assumptions, "moved bytes": moved}


def _thresholds(
    operations: Sequence[OpProfile], calibrate: list[str] | None, combine: str, max_bandwidth: str, max_ipc: str
) -> tuple[OffloadRule, dict[str, tuple[float, float]]]:
    """The calibrated rule, a threshold that a flag gives in place of its own.

    Where no operation to calibrate with is named and the usual ones are not in the profile, thresholds stay unknown.
    """
    from dse.offload import rule as rules

    known = {operation.op for operation in operations}
    names = calibrate or [name for name in rules.CALIBRATION if name in known]
    found, brackets = rules.calibrate(operations, names, combine)
    bandwidth, ipc = found.max_gpu_dram_bytes_per_s, found.max_gpu_ipc
    if max_bandwidth:
        bandwidth = decimal("--max-bandwidth", max_bandwidth, 0, 1e6) * 1e9
        brackets = {**brackets, "bandwidth": (bandwidth, bandwidth)}
    if max_ipc:
        ipc = decimal("--max-ipc", max_ipc, 0, 1e3)
        brackets = {**brackets, "ipc": (ipc, ipc)}
    return rules.OffloadRule(bandwidth, ipc, combine), brackets


def _rule_text(rule: OffloadRule, brackets: dict[str, tuple[float, float]]) -> str:
    from dse.offload.rule import COMBINE

    (low, high), (least, most) = brackets["bandwidth"], brackets["ipc"]
    if math.isnan(low) and math.isnan(least):
        return f"{COMBINE[rule.combine]}; thresholds unknown: nothing to calibrate with"
    return (
        f"{COMBINE[rule.combine]}: {number(rule.max_gpu_dram_bytes_per_s / 1e9, 2)} GB/s ({low / 1e9:.2f} to "
        f"{high / 1e9:.2f}), IPC {number(rule.max_gpu_ipc, 3)} ({least:.3f} to {most:.3f})"
    )
