"""Flags that the verbs of ``dse offload`` share, and the machine that they describe."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from dse.errors import InputError

if TYPE_CHECKING:
    from dse.offload.profile import Profile

__all__ = [
    "FpgaIdle",
    "FpgaPowerFactor",
    "GpuIdle",
    "Link",
    "LinkLatency",
    "decimal",
    "fpga_idle_w",
    "link_bytes_per_s",
    "scaled",
]

Link = Annotated[
    str, typer.Option("--link", metavar="GB/s", help="Bandwidth between GPU and FPGA memory; inf: transfers are free.")
]
LinkLatency = Annotated[str, typer.Option("--link-latency", metavar="US", help="Microseconds before a transfer moves.")]
GpuIdle = Annotated[str, typer.Option("--gpu-idle", metavar="W", help="Power of a GPU that waits.")]
FpgaIdle = Annotated[
    str,
    typer.Option(
        "--fpga-idle", metavar="W", help="Power of an FPGA that waits; default: the least that the profile shows."
    ),
]
FpgaPowerFactor = Annotated[
    str,
    typer.Option(
        "--fpga-power-factor",
        metavar="X",
        help="Multiplies the profile's FPGA power, e.g. 3 if it is one board's of three.",
    ),
]


def decimal(flag: str, text: str, minimum: float, maximum: float, *, infinite: bool = False) -> float:
    """``text`` as a number. Raises InputError naming ``flag``, the text and the range."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if infinite and value == math.inf:
        return value
    if not minimum <= value <= maximum:
        allowed = f"{minimum:g} to {maximum:g}{' or inf' if infinite else ''}"
        raise InputError(flag, "must be a number", text, allowed)
    return value


def link_bytes_per_s(link: str) -> float:
    """``--link`` in bytes per second."""
    return decimal("--link", link, 1e-6, 1e6, infinite=True) * 1e9


def scaled(profile: Profile, factor: str) -> Profile:
    """The profile with its FPGA powers multiplied by ``--fpga-power-factor``."""
    value = decimal("--fpga-power-factor", factor, 1e-3, 1e3)
    return profile if value == 1 else profile.with_fpga_power(value)


def fpga_idle_w(text: str, profile: Profile) -> float:
    """``--fpga-idle``; where it is empty the least power that an FPGA draws in the profile, 0 without one."""
    if text:
        return decimal("--fpga-idle", text, 0, 1e4)
    return 0.0 if math.isnan(profile.least_fpga_w) else profile.least_fpga_w
