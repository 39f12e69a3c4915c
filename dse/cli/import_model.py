"""``dse import``: an ONNX or Darknet file as a network file that can be read, checked and changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.file import check_file, write_file
from dse.cli.guard import OK
from dse.cli.options import Json
from dse.cli.output import Table, number, print_json, print_tables
from dse.errors import InputError

if TYPE_CHECKING:
    from dse.network import Network

__all__ = ["import_model"]

_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A .onnx file, or a .cfg file of Darknet.")]
_File = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The .toml file to write.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def import_model(model: _Model, output: _File, force: _Force = False, as_json: Json = False) -> int:
    """Write the network of an ONNX or Darknet file as TOML; weights are not read."""
    from dse.networks.loader import IMPORTED, describe_network, load_network
    from dse.networks.toml_writer import toml_text

    if model.suffix.lower() not in IMPORTED:
        raise InputError(str(model), "is of no format that is imported", model.suffix, ", ".join(IMPORTED))
    check_file(output, ".toml", "network", force)
    description = describe_network(model)
    network = description.network(output, "")
    write_file(output, toml_text(description))
    written = load_network(output)
    if as_json:
        print_json({"import": _content(network, str(output), written.digest)})
    else:
        _print(network, output)
    return OK


def _content(network: Network, file: str, digest: str) -> dict[str, object]:
    return {
        "name": network.name,
        "source": network.source,
        "file": file,
        "sha256": digest,
        "layers": len(network.layers),
        "macs": network.macs,
        "training_flop": network.training_flop,
        "parameters": network.parameters,
        "notes": list(network.notes),
    }


def _print(network: Network, output: Path) -> None:
    rows = [
        ("layers", number(len(network.layers))),
        ("MACs, forward", number(network.macs)),
        ("operations of a training step (1 MAC = 2)", number(network.training_flop)),
        ("parameters", number(network.parameters)),
    ]
    print_tables(Table(f"{network.name}: per sample", ("", "count"), rows, "lr"))
    for text in network.notes:
        print(f"note: {text}")
    print(f"written: {output}")
