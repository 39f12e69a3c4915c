"""Commands of the elementwise unit: operations on whole tensors of one layout."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.layout.rows import RowImage

__all__ = ["ELEMENTWISE_FIELDS", "KINDS", "Elementwise", "elementwise_cycles", "elementwise_words"]

KINDS = ("pass", "sum", "differ", "update", "momentum")
"""What is done, in the order of the RTL's numbers."""

ELEMENTWISE_FIELDS = (
    "kind", "flags", "last_beats", "rows", "groups", "a_base", "b_base", "o_base", "a_beats", "b_beats", "o_beats",
    "shift",
)  # fmt: skip
"""Field of each 32-bit word, as in ``rtl_templates/vector/elementwise_pkg.sv``."""

_WIDE = 4
"""A wide element has this many times the width of a narrow one."""
_FLAGS = ("a_wide", "o_wide", "uses_b", "masks", "relu", "discards", "b_wide")


@dataclass(frozen=True)
class Elementwise:
    """One command. ``image`` is the layout of the tensors with narrow elements; bases are bytes.

    ``a_wide``, ``b_wide``, ``o_wide``: the operand, the result has wide elements. ``shift`` is added to that of the
    record. ``masks``: the result is 0 except where 0 < b < M. ``o`` None: nothing is written, only the scale of the
    first operand is wanted.
    """

    kind: str
    image: RowImage
    a: int = 0
    b: int | None = None
    o: int | None = None
    a_wide: bool = False
    b_wide: bool = False
    o_wide: bool = False
    masks: bool = False
    relu: bool = False
    shift: int = 0

    @property
    def uses_b(self) -> bool:
        """Whether there is a second operand."""
        return self.b is not None

    @property
    def discards(self) -> bool:
        """Whether nothing is written."""
        return self.o is None

    def __post_init__(self) -> None:
        """Raise ValueError for a scale of what is requantised: it would not be that of the sums."""
        if self.discards and not self.o_wide:
            raise ValueError("a command that writes nothing finds the scale of a wide result")

    @property
    def wide(self) -> RowImage:
        """The layout with wide elements."""
        return replace(self.image, element_bytes=_WIDE * self.image.element_bytes)

    @property
    def beats(self) -> tuple[int, int, int]:
        """Beats of the first operand, of the second, of the result."""
        narrow, wide = self.image.beats, self.wide.beats
        return (
            wide if self.a_wide else narrow,
            0 if not self.uses_b else wide if self.b_wide else narrow,
            0 if self.discards else wide if self.o_wide else narrow,
        )


def elementwise_words(command: Elementwise) -> NDArray[np.uint32]:
    """The words of a command, uint32 [len(ELEMENTWISE_FIELDS)]."""
    image, beat = command.image, command.image.beat_bytes
    flags = sum(int(getattr(command, name)) << bit for bit, name in enumerate(_FLAGS))
    last = command.wide.row_beats - _WIDE * (image.row_beats - 1)
    bases = [(base or 0) // beat for base in (command.a, command.b, command.o)]
    words = [KINDS.index(command.kind), flags, last, image.rows, image.row_beats, *bases, *command.beats, command.shift]
    return np.array(words, np.int64).astype(np.uint32)


def elementwise_cycles(command: Elementwise, latency: int = 1) -> int:
    """Cycles from the command being taken to ``done_o``, with a memory of a beat a cycle on every port."""
    if command.discards:
        return max(command.beats) + latency + 10
    late = _WIDE - 1 if command.o_wide and (command.a_wide or command.b_wide) else 0  # a whole group in, then out
    return max(command.beats) + 2 * latency + 9 + late
