"""Reading a network file."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from dse.errors import InputError
from dse.fields import Fields, read_toml
from dse.network import Network
from dse.networks.catalog import list_networks, network_path
from dse.networks.graph import INPUT, build_network
from dse.networks.layer_spec import MAX_DIMENSION, LayerSpec, read_attributes
from dse.networks.published import read_published
from dse.networks.shapes import OPERATIONS

__all__ = ["list_networks", "load_network"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def load_network(name_or_path: str | Path) -> Network:
    """The network called so, or read from the TOML file at that path (a Path, or a string with a separator or .toml).

    Shapes are (channels, height, width) of one sample; layers are in topological order. Raises InputError, in one line
    naming file, layer, key, rule, value and choices, for an unknown name and for anything wrong with the file.
    """
    path = network_path(name_or_path)
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
    return build_network(name, source, (channels, height, width), specs, str(path), str(path), _digest(path))


def _name(fields: Fields) -> str:
    name = fields.string("name")
    if not _NAME.fullmatch(name):
        raise fields.error("name", "is no name", name, 'letters, digits, "_", "." and "-", not opening with "." or "-"')
    return name


def _read_layer(fields: Fields, previous: str) -> LayerSpec:
    name = _name(fields)
    op = fields.string("op", choices=tuple(OPERATIONS))
    inputs = fields.strings("from", default=previous)
    attributes = read_attributes(fields, OPERATIONS[op].keys)
    fields.close()
    return LayerSpec(name, op, inputs, **attributes)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
