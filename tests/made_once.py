"""What is made once in a run of the tests, by whichever of its processes needs it first."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """``folder``, filled by ``make``; where another process is at that, this one waits for it.

    ``make`` gets the path of a folder that is not there yet. What it raises is raised, and the next one tries again.
    """
    made = folder / "made"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            made.touch()
    return folder
