"""Two linters over an emitted folder: Verilator with every warning on, and slang."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dse.emit.render import TOP
from dse.verify.toolchain import MissingToolError, ToolError, verilate

__all__ = ["lint", "slang_messages"]

_SLANG = """
import sys
from pyslang.driver import Driver
driver = Driver()
driver.addStandardArgs()
good = driver.parseCommandLine(sys.argv[1]) and driver.processOptions() and driver.parseAllSources()
sys.exit(0 if good and driver.runFullCompilation(True) else 1)
"""
"""slang writes to the process's own stderr, so that it gets a process."""


def lint(folder: Path) -> None:
    """Raises ToolError with the messages of the first linter that has any."""
    verilate(TOP, {}, ["--lint-only", "-Wall", "-f", "filelist.f"], folder)
    messages = slang_messages(folder, TOP, ["-f", "filelist.f"])
    if messages:
        raise ToolError(f"slang in {folder}\n{messages}")


def slang_messages(folder: Path, top: str, sources: Sequence[str]) -> str:
    """What slang has to say about module ``top``; empty where all is well."""
    if importlib.util.find_spec("pyslang") is None:
        raise MissingToolError("pyslang", "the Python package is missing: pip install '.[rtl]'")
    line = f"slang -Werror --top {top} {' '.join(sources)}"
    done = subprocess.run([sys.executable, "-c", _SLANG, line], cwd=folder, capture_output=True, text=True, check=False)
    text = (done.stdout + done.stderr).strip()
    return text if done.returncode else ""
