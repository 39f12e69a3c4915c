"""One file as output: checked before any work, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dse.errors import InputError

__all__ = ["check_file", "write_file"]


def check_file(output: Path, suffix: str, what: str, force: bool) -> None:
    """Raises InputError where ``output`` does not end in ``suffix`` (a ``what`` file does) or cannot be had."""
    where = f"--output {output}"
    if output.suffix.lower() != suffix:
        raise InputError(where, f"is no {what} file", output.suffix, f"a name that ends in {suffix}")
    if output.is_dir():
        raise InputError(where, "is a folder", allowed="the name of a file")
    if output.exists() and not force:
        raise InputError(where, "the file exists", allowed="a name that is free, or --force")
    if not output.parent.is_dir():
        raise InputError(where, "its folder does not exist", str(output.parent), "a folder that exists")


def write_file(output: Path, text: str) -> None:
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
