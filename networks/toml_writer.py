"""Writing a network as TOML: what an importer read, in the form that a person would write."""

from __future__ import annotations

import json
from dataclasses import fields

from dse.networks.graph import INPUT
from dse.networks.imported import Description
from dse.networks.layer_spec import LayerSpec
from dse.networks.shapes import OPERATIONS

__all__ = ["toml_text"]

_DEFAULTS = {field.name: field.default for field in fields(LayerSpec)}


def toml_text(description: Description) -> str:
    """The text of a network file that loads to the network of ``description``; its notes become comments."""
    channels, height, width = description.input_shape
    lines = [f"# {_comment(note)}" for note in description.notes]
    lines += [""] if lines else []
    lines += [f"name = {_text(description.name)}", f"source = {_text(description.source)}"]
    lines += [f"input = {{ channels = {channels}, height = {height}, width = {width} }}", "", "layer = ["]
    previous = INPUT
    for spec in description.specs:
        lines.append(f"  {{ {', '.join(_entries(spec, previous))} }},")
        previous = spec.name
    return "\n".join([*lines, "]", ""])


def _entries(spec: LayerSpec, previous: str) -> list[str]:
    entries = [f"name = {_text(spec.name)}", f"op = {_text(spec.op)}"]
    if spec.inputs != (previous,) and OPERATIONS[spec.op].max_inputs != 0:
        sources = ", ".join(map(_text, spec.inputs))
        entries.append(f"from = {sources}" if len(spec.inputs) == 1 else f"from = [{sources}]")
    for key in OPERATIONS[spec.op].keys:
        value = getattr(spec, key)
        if value != _DEFAULTS[key]:
            entries.append(f"{key} = {_value(value)}")
        elif key in ("kernel", "rows"):
            entries.append(f"{key} = 1")
    return entries


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return str(value[0]) if len(set(value)) == 1 else f"[{', '.join(map(str, value))}]"
    return _text(value) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    return json.dumps("".join(c if c.isprintable() else "_" for c in text))


def _comment(text: str) -> str:
    return "".join(c if c.isprintable() else "_" for c in text)
