"""The output folder is checked before any work, so that an hour of search is not lost to a typing error."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dse.errors import InputError

__all__ = ["check_file", "check_output"]


def check_output(folder: Path, force: bool) -> None:
    """Raises InputError where results could not be written into ``folder``, or it holds files and not ``force``.

    Leaves nothing behind: the folder itself is made when there is something to write.
    """
    where = f"--output {folder}"
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(where, "is a file", allowed="a folder, or a name that is free")
        if folder.is_dir() and not force and any(folder.iterdir()):
            raise InputError(where, "the folder is not empty", allowed="an empty or new folder, or --force")
        nearest = next(p for p in (folder, *folder.absolute().parents) if p.exists())
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(where, f"cannot be written: {reason}", allowed="a folder that can be written") from error


def check_file(path: Path, suffix: str, force: bool) -> None:
    """Raises InputError where ``path`` has not ``suffix``, cannot be a file, or exists and not ``force``."""
    where = f"--output {path}"
    if path.suffix.lower() != suffix:
        raise InputError(where, f"is no {suffix} file", path.suffix or "no suffix", f"a name that ends in {suffix}")
    if path.is_dir():
        raise InputError(where, "is a folder", allowed="the name of a file")
    if path.exists() and not force:
        raise InputError(where, "the file exists", allowed="a name that is free, or --force")
    if not path.absolute().parent.is_dir():
        raise InputError(where, "its folder does not exist", str(path.parent), "a folder that exists")
