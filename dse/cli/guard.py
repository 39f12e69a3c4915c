"""What stands between the verbs and the shell: one-line errors, exit codes, quiet pipes, lists after a flag."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from dse.errors import InputError, did_you_mean

__all__ = ["BAD_INPUT", "INTERRUPTED", "NOTHING_FEASIBLE", "OK", "GuardedGroup", "VerbGroup"]

OK = 0
NOTHING_FEASIBLE = 1
BAD_INPUT = 2
INTERRUPTED = 130

_USAGE_ERROR: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

_LIST_FLAGS = {
    "sweep": {
        "-n", "--network", "-d", "--device", "-m", "--family", "-b", "--batch", "--objective",
    },
    "estimate": {"--set"},
    "cluster": {"--model-parallel"},
    "verify": {"--layer"},
    "offload": {"--calibrate", "--size", "--dvfs", "--set"},
}  # fmt: skip
"""Verb -> the flags that take several values: ``-n a b`` means ``-n a -n b``."""


class VerbGroup(TyperGroup):
    """A command that is only a choice of commands; a wrong choice is answered with the near miss."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that ``args`` begin with. Raises InputError naming the choices."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise InputError(
                ctx.command_path, "unknown command", args[0], did_you_mean(args[0], self.list_commands(ctx))
            )
        return super().resolve_command(ctx, args)


class GuardedGroup(VerbGroup):
    """The root command. Whatever a user can cause ends in one line on stderr and an exit code, never in a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the verb that ``args`` (default ``sys.argv``) names and exit with its code; ``ctx.obj`` holds them."""
        argv = repeat_list_flags(sys.argv[1:] if args is None else list(args))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(argv, prog_name, standalone_mode=False, obj=argv, **extra) or OK
            sys.stdout.flush()
        except BrokenPipeError:
            code = _closed_pipe()
        except InputError as error:
            code = _fail(str(error))
        except _USAGE_ERROR as error:
            code = _fail(_usage_text(error))
        except OSError as error:
            code = _fail(f"{error.filename or 'input or output'}: {error.strerror or error}")
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        sys.exit(code)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb, and answer a closed pipe before typer does, whose exit code 1 means something else here."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            return _closed_pipe()


def repeat_list_flags(argv: Sequence[str]) -> list[str]:
    """``sweep -n a b`` as ``sweep -n a -n b``, for the flags of the verb that take several values."""
    flags = _LIST_FLAGS.get(argv[0], set()) if argv else set()
    out: list[str] = []
    flag = ""
    for position, word in enumerate(argv):
        if out and out[-1] in flags:  # a flag's first value is its own, whatever it looks like
            flag = out[-1]
        elif word.startswith("-"):
            flag = ""
        elif flag and position > 1:
            out.append(flag)
        out.append(word)
    return out


def _fail(text: str) -> int:
    print(f"error: {' '.join(text.split())}", file=sys.stderr)
    return BAD_INPUT


def _closed_pipe() -> int:
    """Nobody reads stdout any more, as under ``| head``: what is still buffered goes nowhere and the exit is quiet."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK


def _usage_text(error: Any) -> str:
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if context is None:
        return str(error.format_message())
    known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("-")]
    if hasattr(error, "possibilities") and option:
        return f"{context.command_path}: unknown option; got {option!r}; allowed: {did_you_mean(option, known)}"
    choices = sorted(getattr(context.command, "commands", {}))
    allowed = f"; allowed: {', '.join(choices)}" if choices else ""
    return f"{context.command_path}: {error.format_message().rstrip('.')}{allowed}"
