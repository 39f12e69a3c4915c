"""Running the command in tests: what came out of it, and how it is run in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from typer.testing import CliRunner

from dse.cli.app import app

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    """Exit code, stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """stdout as one JSON object with the schema's version; no NaN or Infinity in it."""

        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is no JSON")

        content: dict[str, Any] = json.loads(self.out, parse_constant=refuse)
        assert content["schema_version"] == 1
        return content

    @property
    def error(self) -> str:
        """The one line of bad input: exit 2, nothing on stdout, ``error: `` and no more than one line on stderr."""
        assert self.code == 2, self
        assert self.out == ""
        assert self.err.startswith("error: ")
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("error: ").rstrip("\n")


def command(*words: object) -> list[str]:
    """The words of a process that runs ``dse`` with ``words``."""
    return [sys.executable, "-m", "dse", *map(str, words)]


def run_here(*words: object) -> Outcome:
    """Run ``dse`` with ``words`` in this process."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


def environment(path: Path | None = None) -> dict[str, str]:
    """This environment, with the checkout and ``path`` to import from."""
    parts = [str(part) for part in (path, ROOT) if part]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(parts)}


def _hears_ctrl_c() -> None:
    """In the new process: a shell that runs the tests in the background makes its children ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class TerminalErrors:
    """A process in a group of its own whose stderr is a terminal (a pseudo-terminal), as when a user looks at it."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            start_new_session=True,
            preexec_fn=_hears_ctrl_c,
        )
        os.close(theirs)
        self.seen = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                block = os.read(self._ours, 4096)
            except OSError:  # the far end is closed
                return
            if not block:
                return
            self.seen += block.decode(errors="replace")

    def wait_for(self, text: str, timeout_s: float = 60) -> None:
        """Until ``text`` was written to the terminal."""
        end = time.monotonic() + timeout_s
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            assert self.process.poll() is None, self.seen
            time.sleep(0.02)

    def finish(self, timeout_s: float = 60) -> str:
        """stdout, when the process has ended."""
        out, _ = self.process.communicate(timeout=timeout_s)
        self._reader.join(timeout=5)
        return out

    def __enter__(self) -> TerminalErrors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)
