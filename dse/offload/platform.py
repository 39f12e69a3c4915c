"""The machine that operations run on: every assumption about it, in one place, so that a result can state them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dse.errors import InputError

__all__ = ["V100_IDLE_W", "Platform"]

V100_IDLE_W = 39.0
"""Hype-training section 3.2: 300 W at most, 261 W between peak and static power."""


@dataclass(frozen=True)
class Platform:
    """GPUs and FPGAs on one host. Powers in watts, bandwidth in bytes per second, times in seconds.

    A transfer between memories takes ``link_latency_s`` + bytes / ``link_bytes_per_s`` and holds the link of either
    end. Beside offloaded work a GPU operation takes 1/``contention`` of its time. At a ``dvfs_levels`` entry f the
    compute-bound share of a GPU operation takes 1/f of the time, and power above idle falls with f^``dvfs_exponent``.
    """

    gpus: int = 1
    fpgas: int = 1
    gpu_idle_w: float = V100_IDLE_W
    fpga_idle_w: float = 0.0
    host_w: float = 0.0
    link_bytes_per_s: float = 12e9
    """12 GB/s: what PCI Express 3.0 x16 (15.75 GB/s) leaves after protocol; infinite for transfers that cost nothing"""
    link_latency_s: float = 0.0
    contention: float = 1.0
    dvfs_levels: tuple[float, ...] = (1.0,)
    dvfs_exponent: float = 3.0
    compute_share: float = 1.0
    """Share of a GPU operation's time that scales with its clock."""
    cap_w: float = math.inf

    def __post_init__(self) -> None:
        """Refuse what no machine has. Raises InputError naming the field."""
        for name in ("gpu_idle_w", "fpga_idle_w", "host_w", "link_latency_s", "dvfs_exponent"):
            _check(name, getattr(self, name), getattr(self, name) >= 0 and math.isfinite(getattr(self, name)), ">= 0")
        for name in ("link_bytes_per_s", "cap_w"):
            _check(name, getattr(self, name), getattr(self, name) > 0, "> 0")
        _check("contention", self.contention, 1 <= self.contention <= 10, "1 to 10")
        _check("compute_share", self.compute_share, 0 <= self.compute_share <= 1, "0 to 1")
        _check("gpus", self.gpus, 1 <= self.gpus <= 64, "1 to 64")
        _check("fpgas", self.fpgas, 0 <= self.fpgas <= 64, "0 to 64")
        legal = bool(self.dvfs_levels) and all(0 < level <= 1 for level in self.dvfs_levels) and 1 in self.dvfs_levels
        _check("dvfs_levels", self.dvfs_levels, legal, "numbers above 0 up to 1, with 1 among them")

    def with_fpga_idle(self, watts: float) -> Platform:
        """The same machine with FPGAs that draw ``watts`` when they wait."""
        return replace(self, fpga_idle_w=watts)

    def without_fpgas(self) -> Platform:
        """The same GPUs and host in a machine without FPGAs."""
        return replace(self, fpgas=0)

    def transfer_s(self, count_bytes: float) -> float:
        """Seconds that the link is held for a transfer; 0 for one of nothing."""
        return self.link_latency_s + count_bytes / self.link_bytes_per_s if count_bytes > 0 else 0.0

    def assumptions(self) -> dict[str, str]:
        """What a result rests on: name -> value with its unit."""
        link = "infinite" if math.isinf(self.link_bytes_per_s) else f"{self.link_bytes_per_s / 1e9:g} GB/s"
        levels = ", ".join(f"{level:g}" for level in self.dvfs_levels)
        scaling = f"; power above idle by the power {self.dvfs_exponent:g}, {100 * self.compute_share:g} % of time"
        return {
            "devices": f"{self.gpus} GPU, {self.fpgas} FPGA",
            "link": f"{link}, latency {self.link_latency_s * 1e6:g} us",
            "idle power": f"GPU {self.gpu_idle_w:g} W, FPGA {self.fpga_idle_w:g} W, host {self.host_w:g} W",
            "contention relief": f"{self.contention:g}",
            "GPU clock levels": levels + (scaling if len(self.dvfs_levels) > 1 else ""),
            "power cap": "none" if math.isinf(self.cap_w) else f"{self.cap_w:g} W",
        }


def _check(name: str, value: object, legal: bool, allowed: str) -> None:
    if not legal:
        raise InputError(f"platform: {name}", "is out of range", value, allowed)
