"""``dse offload``: which operations of a training step an FPGA beside a GPU should take over."""

from __future__ import annotations

import typer

from dse.cli.guard import VerbGroup
from dse.cli.offload.advise import advise
from dse.cli.offload.rank import rank
from dse.cli.offload.simulate import simulate

__all__ = ["offload"]

offload = typer.Typer(
    cls=VerbGroup, help="Judge, simulate and rank operations that move from a GPU to an FPGA.", rich_markup_mode=None
)
offload.command("advise")(advise)
offload.command("simulate")(simulate)
offload.command("rank")(rank)
