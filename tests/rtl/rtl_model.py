"""Builds a Verilator model of one SystemVerilog module once and drives it, cycle by cycle, from numpy arrays.

The generated shared library takes the words of every input port for a number of cycles and gives back the words of
every output port, sampled after each rising edge or before it.
"""

from __future__ import annotations

import ctypes
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dse.verify import toolchain
from tests.made_once import made_once

LIBRARY = Path(__file__).parents[2] / "rtl_templates" / "lib"
VECTOR = LIBRARY.parent / "vector"
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
// A combinational module has neither clock nor reset.
template <class T> static void clock(T& top, int level) {{
  if constexpr (requires {{ top.clk_i; }}) top.clk_i = level;
  top.eval();
}}
template <class T> static void reset(T& top, int level) {{
  if constexpr (requires {{ top.rst_ni; }}) top.rst_ni = level;
}}
EXPORT void* model_new() {{
  Model* m = new Model;
  reset(m->top, 0);
  for (int i = 0; i < 4; i++) clock(m->top, i & 1);
  reset(m->top, 1);
  return m;
}}
EXPORT void model_delete(void* p) {{ delete static_cast<Model*>(p); }}
static void read(Model* m, uint32_t*& out) {{
{gets}
}}
EXPORT void model_run(void* p, size_t cycles, const uint32_t* in, uint32_t* out, bool before) {{
  Model* m = static_cast<Model*>(p);
  for (size_t t = 0; t < cycles; t++) {{
{puts}
    clock(m->top, 0);
    if (before) read(m, out);
    clock(m->top, 1);
    if (!before) read(m, out);
  }}
}}
"""


def model_class(top: str, parameters: Mapping[str, int]) -> str:
    """Name of the C++ class of a module with these values, short enough for a file's name."""
    return f"V{top}_{zlib.crc32(repr(sorted(parameters.items())).encode()):08x}"


def verilate(top: str, parameters: Mapping[str, int], options: list[str], cwd: Path) -> None:
    """Run Verilator on one module of the library or of a vector unit; ToolError has its messages if it refuses."""
    folder = LIBRARY if (LIBRARY / f"{top}.sv").is_file() else VECTOR
    search = [argument for place in (LIBRARY, VECTOR) for argument in ("-y", str(place))]
    toolchain.verilate(top, parameters, [*search, *options, str(folder / f"{top}.sv")], cwd)


@dataclass(frozen=True)
class Port:
    """One port: its width in bits and the number of 32-bit words it travels in."""

    name: str
    width: int

    @property
    def words(self) -> int:
        """32-bit words a value takes."""
        return -(-self.width // 32)


def _ports(header: Path, direction: str) -> list[Port]:
    """Ports of one direction as Verilator declares them in the model's header."""
    pattern = rf"VL_{direction}(?:8|16|64|W)?\(\(?&?(\w+)\)?,(\d+),(\d+)(?:,\d+)?\);"
    found = re.findall(pattern, header.read_text())
    return [Port(name, int(high) - int(low) + 1) for name, high, low in found if name not in ("clk_i", "rst_ni")]


def _build(folder: Path, prefix: str, top: str, parameters: Mapping[str, int], runtime: Path) -> None:
    """Compile a module and the functions that drive it into ``model.so`` of the new ``folder``."""
    folder.mkdir()
    options = ["--cc", "-O3", "--x-initial", "unique", "--prefix", prefix, "--Mdir", str(folder)]
    verilate(top, parameters, options, folder)
    header = folder / f"{prefix}.h"
    puts = [f"    put(m->top.{port.name}, in); in += {port.words};" for port in _ports(header, "IN")]
    gets = [f"    get(m->top.{port.name}, out); out += {port.words};" for port in _ports(header, "OUT")]
    harness = _HARNESS.format(prefix=prefix, puts="\n".join(puts), gets="\n".join(gets))
    toolchain.build_library(folder, prefix, harness, runtime)


class RtlModel:
    """A module with fixed parameter values, compiled; every `run` starts from reset."""

    def __init__(self, top: str, parameters: Mapping[str, int], cache: Path, runtime: Path) -> None:
        prefix = model_class(top, parameters)
        folder = made_once(cache / prefix, lambda folder: _build(folder, prefix, top, parameters, runtime))
        self.inputs, self.outputs = _ports(folder / f"{prefix}.h", "IN"), _ports(folder / f"{prefix}.h", "OUT")
        self._library = ctypes.CDLL(str(folder / "model.so"), mode=os.RTLD_LOCAL)
        self._library.model_new.restype = ctypes.c_void_p
        self._library.model_delete.argtypes = [ctypes.c_void_p]
        self._library.model_run.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        self._library.model_run.argtypes += [ctypes.c_bool]

    def run(self, stimulus: Mapping[str, npt.NDArray[np.generic]], before_edge: bool = False) -> dict[str, Words]:
        """Drive every input port; returns words uint32 [cycles, words] per output port, after each rising edge.

        An input is [cycles] integers, taken modulo 2^32, or [cycles, words] uint32 as `pack` makes them. With
        `before_edge` the outputs are those of the same cycle as the inputs, as a handshake sees them.
        """
        model = self._library.model_new()
        try:
            return self._drive(model, stimulus, before_edge)
        finally:
            self._library.model_delete(model)

    @contextmanager
    def session(self) -> Iterator[Callable[..., dict[str, int]]]:
        """A function that runs one cycle: input ports' values to output ports' values before the edge, as integers."""
        model = self._library.model_new()

        def step(**values: int) -> dict[str, int]:
            widths = {port.name: 4 * port.words for port in self.inputs}
            words = {
                name: np.frombuffer(int(value).to_bytes(widths[name], "little"), "<u4")[None, :]
                for name, value in values.items()
            }
            out = self._drive(model, words, before_edge=True)
            return {name: int.from_bytes(word.tobytes(), "little") for name, word in out.items()}

        try:
            yield step
        finally:
            self._library.model_delete(model)

    def _drive(
        self, model: int, stimulus: Mapping[str, npt.NDArray[np.generic]], before_edge: bool
    ) -> dict[str, Words]:
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
        self._library.model_run(model, len(data), data.ctypes.data, result.ctypes.data, before_edge)
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
