"""Which of several winners is the fastest as RTL: families and RTL do not agree on that everywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dse.device import Device
from dse.emit.choice import Choice
from dse.emit.design import Design, design_of
from dse.errors import InputError
from dse.network import Network

__all__ = ["Ranking", "rank"]


@dataclass(frozen=True)
class Ranking:
    """``designs``: what RTL can realise, best first; ``refused``: why the others cannot be."""

    designs: tuple[Design, ...]
    refused: tuple[InputError, ...]

    @property
    def best(self) -> Design:
        """The first one. Raises the reason of the first refusal where there is none."""
        if not self.designs:
            raise self.refused[0]
        return self.designs[0]


def rank(choices: Sequence[Choice], inputs: Callable[[Choice], tuple[Network, Device]]) -> Ranking:
    """Designs of ``choices`` by the time that the schedule of the RTL is predicted to take.

    ``choices`` come in the families' order. It stays where their first objective is not the latency, and for designs
    without a schedule, which come last.
    """
    designs, refused = [], []
    for choice in choices:
        try:
            designs.append(design_of(choice, *inputs(choice)))
        except InputError as error:
            refused.append(error)
    if all(choice.cell.objectives[0] == "latency" for choice in choices):
        designs.sort(key=lambda design: design.predicted_s)
    return Ranking(tuple(designs), tuple(refused))
