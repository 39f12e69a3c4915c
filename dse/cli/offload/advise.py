"""``dse offload advise``: a verdict for every profiled operation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli.guard import OK
from dse.cli.offload.options import FpgaIdle, FpgaPowerFactor, GpuIdle, Link, LinkLatency, decimal, platform_of, scaled
from dse.cli.options import Json, checked
from dse.cli.output import Table, number, print_json, print_tables, seconds

if TYPE_CHECKING:
    from dse.offload.advice import Advice
    from dse.offload.rule import OffloadRule

__all__ = ["advise"]

Profiled = Annotated[
    str,
    typer.Argument(metavar="PROFILE", help="A CSV file of operations, or hype_table1 (Hype-training's Table 1)."),
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
    profile: Profiled = "hype_table1",
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
    """Judge every operation of a profile: rule against measurement, energy, break-even link bandwidth."""
    from dse.offload.advice import advise as judge
    from dse.offload.advice import score
    from dse.offload.profile import load_profile
    from dse.offload.rule import COMBINE

    checked("--rule", rule, COMBINE)
    loaded = scaled(load_profile(profile), fpga_power_factor)
    platform = platform_of(loaded, link, link_latency, gpu_idle, fpga_idle)
    thresholds, brackets = _thresholds(loaded.operations, calibrate, rule, max_bandwidth, max_ipc)
    advice = judge(loaded.operations, platform, thresholds)
    assumptions = {
        "profile": loaded.source,
        "rule": _rule_text(thresholds, brackets),
        "link": platform.assumptions()["link"],
        "idle power": f"GPU {platform.gpu_idle_w:g} W, FPGA {platform.fpga_idle_w:g} W",
        "FPGA power": f"the profile's times {fpga_power_factor}",
        "moved bytes": "column link_mb, else the operation's DRAM traffic on the GPU, an upper bound",
    }
    counts = score(advice)
    if as_json:
        _print_json(assumptions, advice, counts)
        return OK
    _print(assumptions, advice)
    print(
        f"rule against measured times: {counts.right} rightly offloaded, {counts.false_positive} wrongly, "
        f"{counts.missed} missed"
    )
    return OK


def _thresholds(
    operations: Any, calibrate: list[str] | None, combine: str, max_bandwidth: str, max_ipc: str
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


def _print_json(assumptions: dict[str, str], advice: list[Advice], counts: Any) -> None:
    from dataclasses import asdict

    from dse.schema import plain

    rows = []
    for one in advice:
        content = asdict(one)
        content.pop("operation")
        rows.append({"name": one.operation.name, "calls": one.operation.calls, **content})
    print_json({"assumptions": assumptions, "rule_score": plain(asdict(counts)), "operations": plain(rows)})


def _print(assumptions: dict[str, str], advice: list[Advice]) -> None:
    from dse.offload.advice import VERDICTS

    rows = [
        (
            one.operation.name,
            seconds(one.operation.gpu.seconds),
            seconds(one.operation.fpga.seconds) if one.operation.fpga else "unknown",
            seconds(one.transfer_s),
            _yes(one.rule),
            _yes(one.faster),
            number(one.energy_ratio, 3),
            f"{one.saved_j * 1e3:+,.1f}" if math.isfinite(one.saved_j) else "unknown",
            _bandwidth(one.break_even_bytes_per_s),
            _bandwidth(one.break_even_energy_bytes_per_s),
            one.verdict,
        )
        for one in advice
    ]
    columns = (
        "operation", "GPU", "FPGA", "transfer", "rule", "faster", "energy FPGA/GPU", "saved, mJ",
        "GB/s for time", "GB/s for energy", "verdict",
    )  # fmt: skip
    print_tables(
        Table("operations, per call", columns, rows, "lrrrllrrrrl"),
        Table("assumptions", ("", ""), list(assumptions.items()), "ll"),
    )
    print()
    for verdict in dict.fromkeys(one.verdict for one in advice):
        print(f"{verdict}: {VERDICTS[verdict]}")


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _bandwidth(value: float) -> str:
    """GB/s, ``never`` where no bandwidth is enough."""
    return "never" if value == math.inf else number(value / 1e9, 2)
