"""How a run came about: versions, revision, command, inputs."""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from dse._version import __version__
from dse.device import Device
from dse.network import Network
from dse.results import RunInfo

__all__ = ["git_revision", "run_info"]

_PACKAGES = ("numpy", "optuna", "pandas", "pyarrow")


def run_info(networks: Iterable[Network], devices: Iterable[Device], seed: int) -> RunInfo:
    """The record of a run that starts now."""
    return RunInfo(
        version=__version__,
        git_revision=git_revision(),
        argv=tuple(sys.argv),
        seed=seed,
        created=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        inputs={n.name: n.digest for n in networks} | {d.name: d.digest for d in devices},
        packages={"python": platform.python_version(), **{name: metadata.version(name) for name in _PACKAGES}},
    )


def git_revision() -> str:
    """Revision of the checkout that this package runs from, ``+`` appended where files differ; empty without one."""
    root = Path(__file__).resolve().parents[2]
    top = _git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root:
        return ""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return _git(root, "rev-parse", "HEAD") + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
