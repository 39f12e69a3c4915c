from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.cli_process import Outcome, command, environment, run_here


@pytest.fixture
def dse() -> Callable[..., Outcome]:
    """Run a command in this process."""
    return run_here


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., Outcome]:
    """Run a command in a process of its own, in an empty folder, as a user would."""

    def run(*words: object, path: Path | None = None, timeout: float = 60) -> Outcome:
        done = subprocess.run(
            command(*words), cwd=tmp_path, env=environment(path), capture_output=True, text=True, timeout=timeout
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run
