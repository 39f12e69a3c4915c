"""Records of a schedule: what a unit is to do, where its shifts come from, and who counts its cycles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.schedule.tensors import SPACES

__all__ = ["HEADER_WORDS", "NO_RULE", "PHASES", "UNITS", "Rule", "Step", "step_words"]

UNITS = ("engine", "elementwise", "pool", "channel", "host")
"""In the order of the RTL's numbers (``rtl_templates/sequencer/sequencer_pkg.sv``), as the names of rules below."""
SHIFTS = ("zero", "normalise", "step", "align")
STARTS = ("zero", "a", "max")
PHASES = ("forward", "input_grad", "weight_grad", "update")
"""Parts of the work on a layer, each with a counter of cycles."""
HEADER_WORDS = 4


@dataclass(frozen=True)
class Rule:
    """Shifts of a command and the exponent of its result, from the slots of its operands.

    ``shift``: 0; what normalises a; what makes a step of gradient a (``extra`` more for vectors); what aligns a and b.
    ``start``: of the exponent, 0, that of a, or the larger; the shift is added if ``shifted``, and ``addend``.
    """

    shift: str = "zero"
    extra: int = 0
    start: str = "zero"
    shifted: bool = False
    addend: int = 0
    a: int | None = None
    b: int | None = None
    o: int | None = None
    weight: int | None = None
    bias: int | None = None


NO_RULE = Rule()
"""No shift, no exponent, nothing noted."""


@dataclass(frozen=True)
class Step:
    """One record: ``unit`` runs ``words`` for ``layer`` in ``phase``; operands in ``spaces`` (a, b, result)."""

    layer: str
    phase: str
    unit: str
    what: str
    words: NDArray[np.uint32] = field(repr=False)
    cycles: int
    """Predicted, from the command being taken to its end, with an ideal memory."""
    spaces: tuple[str, str, str] = (SPACES[0],) * 3
    rule: Rule = NO_RULE


def step_words(step: Step, counter: int) -> NDArray[np.uint32]:
    """The words of a record, uint32 [HEADER_WORDS + len(step.words)]."""
    rule = step.rule
    slots = [slot or 0 for slot in (rule.a, rule.b, rule.o, rule.weight, rule.bias)]
    writes = sum(int(slot is not None) << bit for bit, slot in enumerate((rule.o, rule.weight, rule.bias)))
    bases = sum(SPACES.index(space) << 2 * place for place, space in enumerate(step.spaces))
    flags = SHIFTS.index(rule.shift) << 8 | rule.extra << 10 | STARTS.index(rule.start) << 12 | rule.shifted << 14
    header = [
        UNITS.index(step.unit) | len(step.words) << 8 | counter << 16,
        bases | flags | writes << 16,
        slots[0] | slots[1] << 8 | slots[2] << 16,
        rule.addend & 0xFFFF | slots[3] << 16 | slots[4] << 24,
    ]
    return np.concatenate([np.array(header, np.uint32), step.words])
