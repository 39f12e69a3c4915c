"""Flags of a training step on GPUs and FPGAs, and the scenario that they describe."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.offload.options import decimal, scaled
from dse.cli.options import MAX_BATCH, checked, parameters, whole
from dse.cli.progress import step_bar
from dse.errors import InputError

if TYPE_CHECKING:
    from dse.offload.fpga_model import FpgaSide
    from dse.offload.scenario import Scenario
    from dse.workload import Workload

__all__ = [
    "AsPrinted",
    "Batch",
    "Board",
    "Family",
    "FpgaPower",
    "GpuName",
    "MacShare",
    "ProfileFlag",
    "StreamShare",
    "TraceFile",
    "build_scenario",
]

ProfileFlag = Annotated[
    str,
    typer.Option("--profile", metavar="FILE", help="CSV file of operations, hype_table1 (default), or none."),
]
Batch = Annotated[str, typer.Option("--batch", "-b", metavar="BATCH", help="Samples per iteration and GPU.")]
Board = Annotated[
    str,
    typer.Option("--device", "-d", metavar="DEV", help="Board whose accelerator is the FPGA side, not the profile's."),
]
Family = Annotated[str, typer.Option("--family", "-m", metavar="FAMILY", help="Family of the board's accelerator.")]
FpgaPower = Annotated[
    str, typer.Option("--fpga-power", metavar="W", help="Power of the board's accelerator where none is published.")
]
GpuName = Annotated[str, typer.Option("--gpu", metavar="GPU", help="Card whose roofline fills the profile's gaps.")]
MacShare = Annotated[
    str, typer.Option("--mac-share", metavar="X", help="Share of the card's peak operations that it reaches (assumed).")
]
StreamShare = Annotated[
    str, typer.Option("--stream-share", metavar="X", help="Share of the card's memory bandwidth (assumed).")
]
TraceFile = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Trace of the PyTorch profiler (Chrome JSON): the GPU's times."),
]
AsPrinted = Annotated[
    bool, typer.Option("--as-printed", help="Take a kernel's times from the profile as they stand, not stretched.")
]


def build_scenario(
    network: str,
    batch: str,
    precision: str,
    profile: str,
    gpu: str,
    device: str,
    family: str,
    settings: list[str] | None,
    fpga_power: str,
    power_factor: str,
    mac_share: str,
    stream_share: str,
    as_printed: bool,
    trace: Path | None,
    gpus: int = 1,
) -> tuple[Workload, Scenario]:
    """The network's step and its scenario. Raises InputError naming the flag that is wrong."""
    from dse.networks import load_network
    from dse.offload.gpu_model import load_gpu
    from dse.offload.profile import load_profile
    from dse.offload.scenario import training_scenario
    from dse.offload.trace import read_trace
    from dse.workload import PRECISIONS, Workload

    checked("--precision", precision, PRECISIONS)
    workload = Workload(load_network(network), whole("--batch", batch, 1, MAX_BATCH), PRECISIONS[precision])
    side = _fpga_side(workload, device, family, settings, fpga_power)
    default = "none" if side is not None else "hype_table1"
    chosen = profile or default
    loaded = None if chosen == "none" else scaled(load_profile(chosen), power_factor)
    if loaded is None and side is None:
        raise InputError("--profile", "nothing is known of an FPGA", "none", "a profile, or --device")
    card = load_gpu(gpu)
    times = read_trace(trace, workload.network) if trace is not None else None
    shares = [
        decimal(flag, text, 0.01, 1) for flag, text in (("--mac-share", mac_share), ("--stream-share", stream_share))
    ]
    scenario = training_scenario(
        workload,
        card,
        loaded,
        side,
        trace=times,
        gpus=gpus,
        mac_share=shares[0],
        stream_share=shares[1],
        scaled=not as_printed,
    )
    return workload, scenario


def _fpga_side(
    workload: Workload, device: str, family: str, settings: list[str] | None, fpga_power: str
) -> FpgaSide | None:
    from dse.devices import load_device
    from dse.offload.fpga_model import fpga_side
    from dse.registry import families

    if not device:
        if settings or fpga_power:
            raise InputError("--set" if settings else "--fpga-power", "is of a board", allowed="with --device")
        return None
    model = families()[checked("--family", family, families())]
    watts = decimal("--fpga-power", fpga_power, 1e-3, 1e4) if fpga_power else math.nan
    with step_bar(f"searching the best {family} accelerator for {device}") as report:
        point = parameters(settings or [])
        return fpga_side(workload, load_device(device), model, point, watts=watts, on_progress=report)
