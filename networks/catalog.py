"""Which networks there are: the shipped files, and those that other packages publish as entry points."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

from dse.errors import InputError, did_you_mean

__all__ = ["ENTRY_POINT_GROUP", "list_networks", "network_path"]

ENTRY_POINT_GROUP = "dse.networks"
"""An entry's name is the network's; its object is the path of a TOML file, or a function returning one."""


SUFFIXES = (".toml", ".onnx", ".cfg")
"""How the name of a network's file may end."""


def list_networks() -> dict[str, Path]:
    """Name of every known network -> its TOML file, in order of name.

    Raises InputError for an entry point that fails to load, gives no existing file or takes a name already in use.
    """
    found = {path.stem: path for path in Path(__file__).resolve().parent.glob("*.toml")}
    for entry in metadata.entry_points(group=ENTRY_POINT_GROUP):
        if entry.name in found:
            raise InputError(_where(entry), "its name is already in use", entry.name, f"not {found[entry.name]}")
        found[entry.name] = _entry_path(entry)
    return dict(sorted(found.items()))


def network_path(name_or_path: str | Path) -> Path:
    """The file of a network: a Path, a string with one of SUFFIXES or a path separator, else a known name.

    Raises InputError for a name that is not in ``list_networks``. A path is not checked to exist.
    """
    if isinstance(name_or_path, Path):
        return name_or_path
    separators = {"/", os.sep, os.altsep or os.sep}
    if name_or_path.lower().endswith(SUFFIXES) or any(separator in name_or_path for separator in separators):
        return Path(name_or_path)
    known = list_networks()
    if name_or_path not in known:
        allowed = f"{did_you_mean(name_or_path, known)}, or the path of a .toml, .onnx or .cfg file"
        raise InputError("network", "unknown name", name_or_path, allowed)
    return known[name_or_path]


def _where(entry: metadata.EntryPoint) -> str:
    return f"entry point {entry.name!r} = {entry.value!r} of group {ENTRY_POINT_GROUP!r}"


def _entry_path(entry: metadata.EntryPoint) -> Path:
    try:
        value = entry.load()
        value = value() if callable(value) else value
    except Exception as error:  # whatever a third party's code raises is named, never hidden
        raise InputError(_where(entry), f"failed to load: {type(error).__name__}: {error}") from error
    if not isinstance(value, str | Path) or not Path(value).is_file():
        raise InputError(_where(entry), "gives no file", value, "the path of a TOML file or a function returning it")
    return Path(value)
