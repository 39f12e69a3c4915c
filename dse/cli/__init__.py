"""The ``dse`` command. One verb a module; the verbs call the library and print, and compute nothing themselves."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command that ``sys.argv`` holds and exit with its code.

    0 done, 1 nothing feasible (or a published value missed), 2 bad input, 130 interrupted.
    """
    try:
        from dse.cli.app import app

        app(prog_name="dse")
    except KeyboardInterrupt:  # while still starting
        raise SystemExit(130) from None
