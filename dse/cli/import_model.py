"""``dse import``: an ONNX or Darknet file as a network file that can be read, checked and changed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
    _check(output, force)
    description = describe_network(model)
    network = description.network(output, "")
    _write(output, toml_text(description))
    written = load_network(output)
    if as_json:
        print_json({"import": _content(network, str(output), written.digest)})
    else:
        _print(network, output)
    return OK


def _check(output: Path, force: bool) -> None:
    where = f"--output {output}"
    if output.suffix.lower() != ".toml":
        raise InputError(where, "is no network file", output.suffix, "a name that ends in .toml")
    if output.is_dir():
        raise InputError(where, "is a folder", allowed="the name of a file")
    if output.exists() and not force:
        raise InputError(where, "the file exists", allowed="a name that is free, or --force")
    if not output.parent.is_dir():
        raise InputError(where, "its folder does not exist", str(output.parent), "a folder that exists")


def _write(output: Path, text: str) -> None:
    """The whole file or none of it."""
    handle, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(output)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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
