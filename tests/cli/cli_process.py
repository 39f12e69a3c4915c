"""Running the command in tests: what came out of it, and how it is run in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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


def environment(path: Path | None = None) -> dict[str, str]:
    """This environment, with the checkout and ``path`` to import from."""
    parts = [str(part) for part in (path, ROOT) if part]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(parts)}
