"""Depths of the engine's buffers: what the point says, what the layers need, what the board has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dse.device import Device
from dse.emit.chip import check_fits, fits
from dse.engine import MOST_WORDS, EngineParameters, Tiling, buffer_words
from dse.engine.layers import EngineLayer
from dse.engine.resources import NOTHING, Resources, buffer_rams, engine_resources, ram_resources
from dse.errors import InputError
from dse.rtl_shape import BUFFERS, RtlShape

__all__ = ["LEAST_DEPTH", "Resized", "resized", "with_buffers"]

LEAST_DEPTH = 512
"""Words of half a buffer whose depth is no parameter of the family: the fewest of a block RAM."""

_GRANULE = {"feature": LEAST_DEPTH // 2, "operand": LEAST_DEPTH // 2, "sum": LEAST_DEPTH}
"""Words of a half that fill rows of block RAM: both halves of a feature or operand buffer share a memory."""


@dataclass(frozen=True, slots=True)
class Resized:
    """A buffer whose depth in the RTL is not the point's; words are of half a double buffer."""

    buffer: str
    """Of ``dse.rtl_shape.BUFFERS``."""
    parameter: str
    """The point's."""
    point_words: int
    words: int
    bram36: float
    """Block RAM, in RAMB36, that it takes beyond what the point's depth would take; negative if less."""

    def __str__(self) -> str:
        change = "deepened" if self.words > self.point_words else "shortened"
        words = f"from {self.point_words:,} to {self.words:,} words"
        return f"{self.parameter} ({self.buffer} buffer) {change} {words} ({self.bram36:+g} bram36)"


def with_buffers(
    hw: EngineParameters,
    shape: RtlShape,
    layers: Sequence[EngineLayer],
    device: Device,
    beside: Resources = NOTHING,
) -> EngineParameters:
    """``hw`` with buffers that every layer's smallest tile fits and that the board, less ``beside``, has room for.

    A buffer has the point's depth, or the least power of two from LEAST_DEPTH on if it is no parameter of the point. It
    is deeper where a layer needs it: the families count gradients to the weights' buffer, which the RTL keeps among the
    sums. Where the board has too few block RAMs, the buffer that takes the most is halved, again and again, down to
    what the layers need. Raises InputError where that is too much, or where the board has too few DSP blocks.
    """
    check_fits(engine_resources(hw) + beside, device, hw.operand_bits, ("dsp",))
    least = _least(hw, layers)
    given = {buffer: min(words, MOST_WORDS) for buffer, (_, words) in shape.depth.items()}
    depth = {}
    for buffer, words in least.items():
        free = 1 << (max(LEAST_DEPTH, words) - 1).bit_length()
        depth[buffer] = max(given.get(buffer, free), words)
        least[buffer] = min(words, depth[buffer])
    out = _with(hw, depth)
    while not fits(engine_resources(out) + beside, device, hw.operand_bits):
        long = [buffer for buffer in BUFFERS if depth[buffer] > least[buffer]]
        if not long:
            check_fits(engine_resources(out) + beside, device, hw.operand_bits, note=_note(shape, out))
        most = max(long, key=lambda buffer: engine_resources(out, buffers=(buffer,)).bram36)
        depth[most] = max(_round(most, depth[most] // 2), least[most])
        out = _with(hw, depth)
    return out


def resized(shape: RtlShape, hw: EngineParameters) -> tuple[Resized, ...]:
    """The buffers of ``hw`` that have another depth than the point's ``shape``."""
    found = []
    for buffer, (name, words) in shape.depth.items():
        ours = _depths(hw)[buffer]
        if ours != words:
            rams = [ram for ram in buffer_rams(hw) if ram.buffer == buffer]
            point_rams = [replace(ram, depth=ram.depth // ours * words) for ram in rams]
            before, after = (ram_resources(each).bram36 for each in (point_rams, rams))
            found.append(Resized(buffer, name, words, ours, after - before))
    return tuple(found)


def _least(hw: EngineParameters, layers: Sequence[EngineLayer]) -> dict[str, int]:
    """Buffer -> words that the smallest tiles need, in whole granules: what is left of one costs no block RAM."""
    nests = [(layer, layer.nest(phase, hw.channel_block)) for layer in layers for phase in layer.phases]
    need = [(buffer_words(hw, nest, Tiling()), nest.phase, layer.layer.name) for layer, nest in nests]
    least = {}
    for number, buffer in enumerate(BUFFERS):
        words, phase, name = max((words[number], phase, name) for words, phase, name in need)
        if words > MOST_WORDS:
            where = f"{buffer}_depth for {phase} of layer {name}"
            raise InputError(where, "is more than the RTL can have", words, f"up to {MOST_WORDS}")
        least[buffer] = _round(buffer, words)
    return least


def _round(buffer: str, words: int) -> int:
    """``words`` and what the last row of block RAM has left."""
    return min(-(-words // _GRANULE[buffer]) * _GRANULE[buffer], MOST_WORDS)


def _depths(hw: EngineParameters) -> dict[str, int]:
    return {"feature": hw.feature_depth, "operand": hw.operand_depth, "sum": hw.sum_depth}


def _with(hw: EngineParameters, depth: Mapping[str, int]) -> EngineParameters:
    return replace(hw, **{f"{buffer}_depth": words for buffer, words in depth.items()})


def _note(shape: RtlShape, hw: EngineParameters) -> str:
    changed = ", ".join(map(str, resized(shape, hw)))
    return f", even with {changed}" if changed else ""
