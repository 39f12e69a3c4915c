"""Tables of one estimate, made from its JSON form so that text and JSON cannot differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.cli.output import Table, joules, number, percent, point_text, seconds

if TYPE_CHECKING:
    from dse.device import Device

__all__ = ["batch_text", "layer_table", "resource_table", "total_table", "violation_text"]


def layer_table(estimate: Mapping[str, Any], title: str) -> Table:
    """One row per layer and phase."""
    rows = []
    for layer in estimate["layers"]:
        for position, (phase, costs) in enumerate(layer["phases"].items()):
            name, op = (layer["name"], layer["op"]) if position == 0 else ("", "")
            rows.append(
                (
                    name,
                    op,
                    phase,
                    number(costs["cycles"], 1),
                    number(costs["mac_floor_cycles"], 1),
                    costs["bound"],
                    _lost(costs),
                    number(costs["dram_bytes"]),
                    point_text(costs["tiling"]),
                )
            )
    columns = ("layer", "op", "phase", "cycles", "MAC floor", "bound", "lost to", "DRAM bytes", "tiling")
    return Table(title, columns, rows, "lllrrllrl")


def _lost(costs: Mapping[str, Any]) -> str:
    """The two causes that cost most of the cycles, in percent of them."""
    ranked = sorted(costs["lost_cycles"].items(), key=lambda item: -item[1])[:2]
    shown = [f"{name} {100 * lost / costs['cycles']:.0f} %" for name, lost in ranked if lost >= 0.01 * costs["cycles"]]
    return ", ".join(shown)


def total_table(estimate: Mapping[str, Any]) -> Table:
    """Time, throughput, traffic and power of the whole iteration."""
    rows = [
        ("cycles per iteration", number(estimate["iteration_cycles"], 1)),
        ("time per iteration", seconds(estimate["iteration_s"])),
        ("samples per second", number(estimate["samples_per_s"], 2)),
        ("DRAM bytes per iteration", number(estimate["dram_bytes"])),
        ("mean DRAM bandwidth, bytes per second", number(estimate["dram_bytes_per_s"])),
        ("DRAM bytes held", number(estimate["dram_capacity_bytes"])),
        ("power, W", number(estimate["power_w"], 3)),
        ("energy per iteration, J", joules(estimate["energy_j"])),
    ]
    return Table("totals", ("", ""), rows, "lr")


def resource_table(estimate: Mapping[str, Any], device: Device) -> Table:
    """Each resource: used, usable, on the chip, and the share of the chip."""
    rows = [
        (
            name,
            number(used, 1),
            number(device.capacity[name] * device.usable[name], 1),
            number(device.capacity[name], 1),
            percent(used, device.capacity[name]),
            "" if name not in estimate["violations"] else "too much" if used is not None else "unknown",
        )
        for name, used in estimate["resources"].items()
    ]
    return Table(f"resources on {device.name}", ("resource", "used", "usable", "chip", "of chip", ""), rows, "lrrrrl")


def batch_text(most: int) -> str:
    """What DRAM holds, where the batch that was asked for does not fit."""
    return f"holds batches of up to {most:,} samples" if most else "does not even hold a batch of one sample"


def violation_text(violations: Mapping[str, float | None]) -> str:
    """``dsp 12.3 % over, lut unknown``: what a point has too much of."""
    return ", ".join(
        f"{name} {100 * over:.1f} % over" if over is not None else f"{name} unknown or absent on this board"
        for name, over in violations.items()
    )
