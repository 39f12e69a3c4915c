"""The output folder is checked before any work, so that an hour of search is not lost to a typing error."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dse.errors import InputError

__all__ = ["check_output"]


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
