"""What a family's point means for the accelerator template: unroll factors and depths of buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["AXES", "BUFFERS", "RtlShape"]

AXES = ("b", "m", "n", "r", "c")
"""The loops that lanes may unroll: samples, produced channels, channels summed over, rows, columns."""

BUFFERS = ("feature", "operand", "sum")
"""Double buffers: input maps (or errors), weights (or errors), running sums."""


@dataclass(frozen=True)
class RtlShape:
    """``unroll``: axis -> the parameter that unrolls it, and its value; ``depth``: buffer -> likewise, words of a half.

    Axes that are not unrolled have one lane; buffers that are not named get the depth that the emitter chooses.
    """

    unroll: Mapping[str, tuple[str, int]]
    depth: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    planar: bool = False
    """Whether maps lie in DRAM channel by channel, instead of in blocks of channels."""

    def renamed(self, names: Mapping[str, str]) -> RtlShape:
        """The same with the parameters called ``names[name]``."""
        unroll = {axis: (names[name], value) for axis, (name, value) in self.unroll.items()}
        depth = {buffer: (names[name], value) for buffer, (name, value) in self.depth.items()}
        return RtlShape(unroll, depth, self.planar)
