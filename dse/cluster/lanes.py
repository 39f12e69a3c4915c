"""What the lanes of a layer's engine are called."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LANES", "Unrolling", "lanes_text"]

LANES = ("poc", "pic", "ph", "pr", "pb")
"""Parallel output channels, input channels, columns, rows and frames."""

Unrolling = tuple[int, int, int, int, int]
"""Lanes in the order of LANES."""


def lanes_text(lanes: Mapping[str, int]) -> str:
    """``poc x pic x ph`` of a plan's lanes, and rows and frames at a time where there are several."""
    more = [f", {lanes[key]} {name}" for key, name in (("pr", "rows"), ("pb", "frames")) if lanes[key] > 1]
    return " x ".join(str(lanes[key]) for key in LANES[:3]) + "".join(more)
