"""``dse list``: what there is to choose from."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from dse.cli.guard import OK, VerbGroup
from dse.cli.options import Json
from dse.cli.output import Table, print_json, print_tables

__all__ = ["listing"]

listing = typer.Typer(cls=VerbGroup, help="List networks, devices, families or samplers.", rich_markup_mode=None)


@listing.command("networks")
def networks(as_json: Json = False) -> int:
    """List the networks: the shipped ones and those of installed packages."""
    from dse.networks import list_networks

    entries = [{"name": name, "source": _head(path, "source")} for name, path in list_networks().items()]
    return _print("networks", entries, as_json)


@listing.command("devices")
def devices(as_json: Json = False) -> int:
    """List the devices: the shipped ones and those of installed packages."""
    from dse.devices import list_devices

    entries = [{"name": name, "part": _head(path, "part")} for name, path in list_devices().items()]
    return _print("devices", entries, as_json)


@listing.command("families")
def families(as_json: Json = False) -> int:
    """List the families of accelerators: the shipped ones and those of installed packages."""
    from dse.registry import families as known_families
    from dse.registry import family_entries

    if not as_json:
        heads = family_entries().items()
        return _print("families", [{"name": n, "title": e.title, "reference": e.reference} for n, e in heads], as_json)
    entries = [
        {
            "name": name,
            "title": model.title,
            "precisions": model.precisions,
            "readings": tuple(model.readings),
            "reference": model.reference,
        }
        for name, model in known_families().items()
    ]
    return _print("families", entries, as_json)


@listing.command("samplers")
def samplers(as_json: Json = False) -> int:
    """List the samplers that `dse sweep --sampler` takes."""
    from dse.search import SAMPLERS

    return _print("samplers", [{"name": name, "meaning": meaning} for name, meaning in SAMPLERS.items()], as_json)


def _print(kind: str, entries: Sequence[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        print_json({kind: entries})
    else:
        columns = tuple(entries[0]) if entries else ("name",)
        rows = [tuple(_text(entry[column]) for column in columns) for entry in entries]
        print_tables(Table("", columns, rows, "l" * len(columns)))
    return OK


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _head(path: Path, key: str) -> str:
    """A top-level string of a TOML file; empty where it cannot be read: ``dse show`` says what is wrong.

    Reads the one line, where the string is on one, since parsing a dozen files takes longer than all the rest.
    """
    try:
        text = path.read_text("utf-8")
        line = re.search(rf"^{key}\s*=\s*(?:\"(?!\"\")|'(?!'')).*$", text.split("\n[", 1)[0], re.MULTILINE)
        return str(tomllib.loads(line[0] if line else text).get(key, ""))
    except (OSError, ValueError, RecursionError):
        return ""
