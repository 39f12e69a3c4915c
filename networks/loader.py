"""Reading a network file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from dse.errors import InputError
from dse.fields import Fields, read_toml
from dse.network import Network
from dse.networks.catalog import list_networks, network_path
from dse.networks.graph import INPUT
from dse.networks.imported import Description
from dse.networks.layer_spec import MAX_DIMENSION, LayerSpec, read_attributes
from dse.networks.published import read_published
from dse.networks.shapes import OPERATIONS

__all__ = ["IMPORTED", "describe_network", "list_networks", "load_network"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def load_network(name_or_path: str | Path) -> Network:
    """The network called so, or read from the file at that path (a Path, or a string with a separator or a suffix).

    The suffix tells the format: .onnx, .cfg (Darknet), anything else TOML. Shapes are (channels, height, width) of one
    sample; layers are in topological order. Raises InputError, in one line naming file, layer, key, rule, value and
    choices, for an unknown name and for anything wrong with the file.
    """
    path = network_path(name_or_path)
    return describe_network(path).network(path, _digest(path))


def describe_network(path: Path) -> Description:
    """What the file at ``path`` says, before any shape of a TOML file is known. Raises InputError."""
    return _READERS.get(path.suffix.lower(), _read_toml)(path)


def _read_onnx(path: Path) -> Description:
    from dse.networks.onnx_import import read_onnx  # here, for onnx takes longer to import than the rest of the tool

    return read_onnx(path)


def _read_cfg(path: Path) -> Description:
    from dse.networks.darknet_import import read_darknet

    return read_darknet(path)


_READERS: Mapping[str, Callable[[Path], Description]] = {".onnx": _read_onnx, ".cfg": _read_cfg}
IMPORTED = tuple(_READERS)
"""Suffixes of the formats that are imported."""


def _read_toml(path: Path) -> Description:
    fields = read_toml(path)
    name = _name(fields)
    source = fields.string("source")
    shape = fields.table("input")
    channels, height, width = (
        shape.integer(key, minimum=1, maximum=MAX_DIMENSION) for key in ("channels", "height", "width")
    )
    shape.close()
    specs: list[LayerSpec] = []
    for table in fields.tables("layer"):
        specs.append(_read_layer(table, specs[-1].name if specs else INPUT))
    read_published(fields)
    fields.close()
    return Description(name, source, (channels, height, width), tuple(specs))


def _name(fields: Fields) -> str:
    name = fields.string("name")
    if not _NAME.fullmatch(name):
        raise fields.error("name", "is no name", name, 'letters, digits, "_", "." and "-", not opening with "." or "-"')
    return name


def _read_layer(fields: Fields, previous: str) -> LayerSpec:
    name = _name(fields)
    op = fields.string("op", choices=tuple(OPERATIONS))
    inputs = fields.strings("from", default=() if OPERATIONS[op].max_inputs == 0 else previous)
    attributes = read_attributes(fields, OPERATIONS[op].keys)
    fields.close()
    return LayerSpec(name, op, inputs, **attributes)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
