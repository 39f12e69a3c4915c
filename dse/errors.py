"""Errors a user can cause: one line that says where, which rule, what was got and what is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["InputError", "did_you_mean"]


class InputError(ValueError):
    """Bad input. ``str()`` is one line; the CLI prints it and exits with code 2."""

    def __init__(self, where: str, rule: str, got: object = None, allowed: object = None) -> None:
        """State ``where`` (file and key, or flag), the ``rule`` broken, what was ``got`` and what is ``allowed``."""
        text = f"{where}: {rule}"
        if got is not None:
            text += f"; got {_short(got)}"
        if allowed is not None:
            text += f"; allowed: {allowed}"
        super().__init__(" ".join(text.split()))

    def __reduce__(self) -> tuple[object, ...]:
        """Workers of a process pool hand errors over as pickles: the line is all there is to an error."""
        return _from_line, (str(self),)


def _from_line(line: str) -> InputError:
    error = InputError.__new__(InputError)
    error.args = (line,)
    return error


def _short(value: object) -> str:
    """``repr`` in at most 200 characters; Python refuses to print an integer of more than 4300 digits."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too large to print"
    return text if len(text) <= 200 else f"{text[:200]}..."


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """``"did you mean 'zcu102'? choices: ..."`` for an unknown ``name``; only the choices where none is near."""
    known = sorted(choices)
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"{hint}choices: {', '.join(known)}"
