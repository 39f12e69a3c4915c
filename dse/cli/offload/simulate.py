"""``dse offload simulate``: a training step scheduled on GPUs and FPGAs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.folder import check_file
from dse.cli.guard import INTERRUPTED, NOTHING_FEASIBLE, OK
from dse.cli.offload.options import (
    FpgaIdle,
    FpgaPowerFactor,
    GpuIdle,
    Link,
    LinkLatency,
    decimal,
    link_bytes_per_s,
)
from dse.cli.offload.scenario import (
    AsPrinted,
    Batch,
    Board,
    Family,
    FpgaPower,
    GpuName,
    MacShare,
    ProfileFlag,
    StreamShare,
    TraceFile,
    build_scenario,
)
from dse.cli.options import Json, NetworkName, PrecisionName, Settings, checked, whole
from dse.cli.output import print_json
from dse.cli.progress import step_bar
from dse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["simulate"]

_Goal = Annotated[
    str,
    typer.Option("--goal", metavar="energy|cap", help="Least energy without a longer step, or shortest under --cap."),
]
_Cap = Annotated[str, typer.Option("--cap", metavar="W", help="Peak power that the machine must not exceed.")]
_Contention = Annotated[
    str, typer.Option("--contention", metavar="X", help="GPU speed-up beside offloaded work; the paper's own: 1.178.")
]
_Gpus = Annotated[str, typer.Option("--gpus", metavar="N", help="GPUs, each with a batch of its own.")]
_Fpgas = Annotated[str, typer.Option("--fpgas", metavar="N", help="FPGAs (or groups of them) as the profile has one.")]
_Host = Annotated[str, typer.Option("--host", metavar="W", help="Power of the host.")]
_Levels = Annotated[
    list[str] | None,
    typer.Option("--dvfs", metavar="X...", help="Clock levels of the GPU; default: 1, with a cap 1 to 0.5 by tenths."),
]
_Exponent = Annotated[
    str, typer.Option("--dvfs-exponent", metavar="X", help="Power above idle falls with the clock to this power.")
]
_ComputeShare = Annotated[
    str, typer.Option("--compute-share", metavar="X", help="Share of a GPU operation's time that its clock sets.")
]
_Evaluations = Annotated[str, typer.Option("--evaluations", metavar="N", help="Assignments that are tried at most.")]
_Report = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the timeline as a .html file.")
]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def simulate(
    context: typer.Context,
    network: NetworkName,
    profile: ProfileFlag = "",
    batch: Batch = "256",
    precision: PrecisionName = "fp32",
    goal: _Goal = "energy",
    cap: _Cap = "inf",
    contention: _Contention = "1",
    link: Link = "12",
    link_latency: LinkLatency = "0",
    gpus: _Gpus = "1",
    fpgas: _Fpgas = "1",
    gpu: GpuName = "v100",
    mac_share: MacShare = "0.6",
    stream_share: StreamShare = "0.8",
    as_printed: AsPrinted = False,
    trace: TraceFile = None,
    device: Board = "",
    family: Family = "channel",
    settings: Settings = None,
    fpga_power: FpgaPower = "",
    fpga_power_factor: FpgaPowerFactor = "1",
    gpu_idle: GpuIdle = "39",
    fpga_idle: FpgaIdle = "",
    host: _Host = "0",
    dvfs: _Levels = None,
    dvfs_exponent: _Exponent = "3",
    compute_share: _ComputeShare = "1",
    evaluations: _Evaluations = "2000",
    output: _Report = None,
    force: _Force = False,
    as_json: Json = False,
) -> int:
    """Schedule a training step on GPUs and FPGAs and compare it with the GPUs alone; exit 1 if the cap allows none."""
    from dse.cli.offload.simulate_text import print_simulation, simulation_json
    from dse.offload.assignment import GOALS
    from dse.offload.platform import Platform
    from dse.offload.simulation import simulate as run

    checked("--goal", goal, GOALS)
    if output is not None:
        check_file(output, ".html", force)
    cap_w = decimal("--cap", cap, 1e-3, 1e6, infinite=True)
    if goal == "cap" and math.isinf(cap_w):
        raise InputError("--cap", "is needed with --goal cap", allowed="a power in watts")
    count = whole("--gpus", gpus, 1, 16)
    limit = whole("--evaluations", evaluations, 1, 10**6)
    levels = _levels(dvfs, cap_w)
    platform = Platform(
        gpus=count,
        fpgas=whole("--fpgas", fpgas, 0, 16),
        gpu_idle_w=decimal("--gpu-idle", gpu_idle, 0, 1e4),
        host_w=decimal("--host", host, 0, 1e5),
        link_bytes_per_s=link_bytes_per_s(link),
        link_latency_s=decimal("--link-latency", link_latency, 0, 1e9) / 1e6,
        contention=decimal("--contention", contention, 1, 10),
        dvfs_levels=levels,
        dvfs_exponent=decimal("--dvfs-exponent", dvfs_exponent, 0, 10),
        compute_share=decimal("--compute-share", compute_share, 0, 1),
        cap_w=cap_w,
    )
    _, scenario = build_scenario(
        network, batch, precision, profile, gpu, device, family, settings, fpga_power, fpga_power_factor,
        mac_share, stream_share, as_printed, trace, count,
    )  # fmt: skip
    platform = platform.with_fpga_idle(decimal("--fpga-idle", fpga_idle, 0, 1e4) if fpga_idle else scenario.fpga_idle_w)
    with step_bar(f"assigning {len(scenario.graph.candidates)} operations") as report:
        simulation = run(scenario.graph, platform, goal, evaluations=limit, progress=report)
    if output is not None:
        from dse.reports.offload import write_offload_report

        write_offload_report(simulation, output, scenario.assumptions, ["dse", *(context.obj or [])])
    if as_json:
        print_json(simulation_json(simulation, scenario.assumptions))
    else:
        print_simulation(simulation, scenario.assumptions)
        if output is not None:
            print(f"report: {output}")
    if simulation.plan.interrupted:
        return INTERRUPTED
    return OK if simulation.plan.schedule is not None else NOTHING_FEASIBLE


def _levels(given: Sequence[str] | None, cap_w: float) -> tuple[float, ...]:
    if given:
        levels = tuple(decimal("--dvfs", text, 0.01, 1) for text in given)
        return levels if 1.0 in levels else (1.0, *levels)
    return (1.0,) if math.isinf(cap_w) else (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)
