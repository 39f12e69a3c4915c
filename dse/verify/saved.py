"""Verifications that are saved in emitted folders, and the sweep that such a folder belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dse.emit.design import DESIGN_FILE
from dse.emit.files import sha256
from dse.errors import InputError
from dse.verify.run import REPORT

__all__ = ["RTL_FOLDER", "sweep_folder", "verifications"]

RTL_FOLDER = "rtl"
"""Where ``dse sweep --emit`` puts the emitted folders, in its own."""


def sweep_folder(folder: Path) -> Path | None:
    """The folder of the sweep that emitted ``folder``; None where it was emitted on its own."""
    above = folder.resolve().parent
    return above.parent if above.name == RTL_FOLDER and (above.parent / "result.json").is_file() else None


def verifications(sweep: Path) -> list[dict[str, Any]]:
    """The contents of ``verify.json`` of the folders that a sweep emitted, of those that were not emitted anew since.

    Raises InputError for a file that is none.
    """
    found = []
    for path in sorted((sweep / RTL_FOLDER).glob(f"*/{REPORT}")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["design_sha256"] == sha256((path.parent / DESIGN_FILE).read_bytes()):
                found.append(content)
        except OSError as error:
            raise InputError(str(path), f"cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(str(path), f"is not what dse verify writes: {type(error).__name__} {error}") from error
    return found
