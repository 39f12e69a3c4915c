"""The command's verbs put together."""

from __future__ import annotations

from typing import Annotated

import typer

from dse.cli.cluster import cluster
from dse.cli.emit import emit
from dse.cli.estimate import estimate
from dse.cli.guard import GuardedGroup
from dse.cli.import_model import import_model
from dse.cli.listing import listing
from dse.cli.offload import offload
from dse.cli.show import show
from dse.cli.sweep import sweep
from dse.cli.train import train
from dse.cli.validate import validate
from dse.cli.verify import verify

__all__ = ["app"]

_NO_HELP = {"help": False}
_DEFAULTS = {
    **_NO_HELP,
    "list": {**_NO_HELP, **dict.fromkeys(("networks", "devices", "families", "samplers"), _NO_HELP)},
    "offload": {**_NO_HELP, **dict.fromkeys(("advise", "simulate", "rank"), _NO_HELP)},
}
"""Defaults by command: typer loads pydantic, which takes longer than ``dse list``, to convert a flag that has none."""

app = typer.Typer(
    name="dse",
    cls=GuardedGroup,
    help="Explore FPGA accelerators that train neural networks.",
    epilog="Exit codes: 0 done, 1 nothing feasible, a published value missed, RTL wrong, 2 bad input, 130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "default_map": _DEFAULTS},
)
app.command("sweep")(sweep)
app.command("estimate")(estimate)
app.command("emit")(emit)
app.command("verify")(verify)
app.command("validate")(validate)
app.command("import")(import_model)
app.add_typer(offload, name="offload")
app.command("train")(train)
app.add_typer(cluster, name="cluster")
app.add_typer(listing, name="list")
app.add_typer(show, name="show")


def _print_version(wanted: bool) -> None:
    if wanted:
        from dse._version import __version__

        print(f"dse {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
