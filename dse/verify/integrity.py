"""Whether an emitted folder still holds what was emitted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dse.emit.files import sha256
from dse.errors import InputError

__all__ = ["check_files"]


def check_files(folder: Path, hashes: Mapping[str, str]) -> None:
    """Raises InputError naming the first file that is missing or differs from its hash (file -> SHA-256)."""
    for name, expected in hashes.items():
        try:
            found = sha256((folder / name).read_bytes())
        except OSError as error:
            raise InputError(str(folder / name), f"cannot be read: {error.strerror or error}") from error
        if found != expected:
            rule = "is not the file that dse emit wrote: emit again"
            raise InputError(str(folder / name), rule, f"SHA-256 {found[:12]}", expected[:12])
