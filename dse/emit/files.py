"""An emitted folder: which files it has, and how they are written."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from dse.emit.design import DESIGN_FILE, Design
from dse.emit.render import rendered
from dse.errors import InputError

__all__ = ["Written", "emit", "emitted_files", "sha256"]

_FOLDERS = ("lib", "engine", "vector", "sequencer", "top")
"""Of the RTL sources."""
_ROOT = "accelerator.sv"
"""The module that the rendered top instantiates."""
_INSTANCE = re.compile(r"^ *(\w+) *(?:#\(|u_\w+ *\()", re.MULTILINE)
_IMPORT = re.compile(r"\b(\w+_pkg)(?:::|\b)")

Written = dict[str, bool]
"""File -> whether it was new or differed and so was written."""


def emitted_files(design: Design) -> dict[str, bytes]:
    """Every file of the folder of ``design``, by its path in it; the same design gives the same bytes."""
    rtl = {f"rtl/{name}": content for name, content in _used(_sources(*_FOLDERS)).items()}
    simulation = {f"sim/{name}": content for name, content in _sources("sim").items()}
    text = rendered(design, list(rtl), list(simulation))
    out = {**rtl, **simulation, **{name: content.encode() for name, content in text.items()}, **_schedule(design)}
    hashes = {name: sha256(content) for name, content in sorted(out.items())}
    out[DESIGN_FILE] = (json.dumps({**design.content(), "files": hashes}, indent=2) + "\n").encode()
    return dict(sorted(out.items()))


def emit(design: Design, folder: Path, force: bool = False) -> Written:
    """Write the folder of ``design``; files that are the same already are left alone.

    A folder that holds something else is refused unless ``force``: only one that is empty, new, or was written by this
    function may be written to. RTL that an earlier version wrote and this one does not is removed.
    """
    content = emitted_files(design)
    _check_folder(folder, force)
    try:
        stale = _stale(folder, content)
        written = {name: _write(folder / name, data) for name, data in content.items()}
        for name in stale:
            (folder / name).unlink()
    except OSError as error:
        where = error.filename or str(folder)
        raise InputError(str(where), f"cannot be written: {error.strerror or error}") from error
    return written


def _schedule(design: Design) -> dict[str, bytes]:
    """The image of the schedule memory, where the accelerator trains the network."""
    if design.schedule is None:
        return {}
    lines = "".join(f"{word:08x}\n" for word in design.schedule.words())
    return {"schedule/schedule.hex": lines.encode()}


def sha256(content: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(content).hexdigest()


def _sources(*folders: str) -> dict[str, bytes]:
    """Files of the package's ``folders`` by name."""
    root = resources.files("dse.rtl_templates")
    items = [item for folder in folders for item in (root / folder).iterdir() if item.is_file()]
    return {item.name: item.read_bytes() for item in sorted(items, key=lambda item: item.name)}


def _used(sources: Mapping[str, bytes]) -> dict[str, bytes]:
    """The sources that ``_ROOT`` needs, packages first, then by name."""
    needed, new = set[str](), {_ROOT}
    while new:
        needed |= new
        text = "\n".join(sources[name].decode() for name in new)
        named = {f"{word}.sv" for pattern in (_INSTANCE, _IMPORT) for word in pattern.findall(text)}
        new = named.intersection(sources) - needed
    order = sorted(needed, key=lambda name: (not name.endswith("_pkg.sv"), name))
    return {name: sources[name] for name in order}


def _check_folder(folder: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output {folder}", "is a file", allowed="a folder, or a name that is free")
    if folder.is_dir() and not force and any(folder.iterdir()) and not (folder / DESIGN_FILE).is_file():
        allowed = "an empty or new folder, one that dse emit wrote, or --force"
        raise InputError(f"--output {folder}", "the folder holds other files", allowed=allowed)


def _stale(folder: Path, content: Mapping[str, bytes]) -> list[str]:
    """Files that the folder's own design.json lists and ``content`` lacks."""
    try:
        listed = json.loads((folder / DESIGN_FILE).read_text(encoding="utf-8"))["files"]
        return [name for name in listed if name not in content and (folder / name).is_file()]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _write(path: Path, content: bytes) -> bool:
    """Write a file whole, unless it has this content; whether it was written."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".dse-", delete=False) as temporary:
        temporary.write(content)
    os.chmod(temporary.name, 0o644)
    os.replace(temporary.name, path)
    return True
