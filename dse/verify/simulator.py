"""An emitted accelerator as a compiled model: registers, memory, cycles."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dse.emit.files import sha256
from dse.emit.render import TOP
from dse.verify.dram import Dram
from dse.verify.toolchain import build_library, build_runtime, verilate

__all__ = ["Simulator", "build_simulator"]

BENCH = "accelerator_bench.cpp"


def build_simulator(folder: Path) -> Path:
    """Compile the model of an emitted folder, or take the one in ``build/`` that has the same sources; its library.

    Raises MissingToolError and ToolError.
    """
    names = [*(folder / "filelist.f").read_text().split(), f"sim/{BENCH}", "sim/axi_dram.h"]
    key = sha256(b"".join((folder / name).read_bytes() for name in names))[:16]
    build = folder.absolute() / "build" / f"verilator-{key}"  # the tools run in folders of their own
    library = build / "model.so"
    if library.is_file():
        return library
    shutil.rmtree(build, ignore_errors=True)
    build.mkdir(parents=True)
    runtime = build_runtime(build / "runtime")
    prefix = f"V{TOP}"
    options = ["--cc", "-O3", "--x-initial", "unique", "--prefix", prefix, "--Mdir", str(build.absolute())]
    verilate(TOP, {}, [*options, "-f", "filelist.f"], folder)
    bench = f"#define DSE_TOP {prefix}\n" + (folder / "sim" / BENCH).read_text()
    return build_library(build, prefix, bench, runtime, include=folder.absolute() / "sim")


CYCLES_PER_S = 100_000
"""A second of the simulated accelerator's driver: what a slow machine simulates in about one."""


class Simulator:
    """One instance of the model. ``memory`` is the DRAM's contents, uint8 [dram.size]."""

    def __init__(self, library: Path, dram: Dram, data_width: int) -> None:
        self._library = ctypes.CDLL(str(library.absolute()), mode=os.RTLD_LOCAL)
        self._library.bench_new.restype = ctypes.c_void_p
        self._library.bench_memory.restype = ctypes.POINTER(ctypes.c_uint8)
        self._library.bench_violation.restype = ctypes.c_char_p
        for name in ("bench_run", "bench_beats"):
            getattr(self._library, name).restype = ctypes.c_uint64
        self.data_width = data_width
        self._bench = ctypes.c_void_p(self._library.bench_new(ctypes.byref(dram.config()), data_width // 8))
        address = self._library.bench_memory(self._bench)
        self.memory: npt.NDArray[np.uint8] = np.ctypeslib.as_array(address, (dram.size,))

    def close(self) -> None:
        """Free the model; ``memory`` is gone with it."""
        self._library.bench_delete(self._bench)

    def behave(self, dram: Dram) -> None:
        """Another behaviour of the memory from the next cycle on; its size and contents stay."""
        self._library.bench_configure(self._bench, ctypes.byref(dram.config()))

    def reset(self) -> None:
        """Reset of the design and of the memory controller; memory contents stay."""
        self._library.bench_reset(self._bench)

    def write(self, address: int, value: int) -> None:
        """Write a register. Raises RuntimeError where the bus does not answer OKAY."""
        self._okay(self._library.bench_write(self._bench, address, ctypes.c_uint32(value & 0xFFFFFFFF)), address)

    def read(self, address: int) -> int:
        """Read a register. Raises RuntimeError where the bus does not answer OKAY."""
        value = ctypes.c_uint32()
        self._okay(self._library.bench_read(self._bench, address, ctypes.byref(value)), address)
        return value.value

    def run(self, limit: int) -> int:
        """Run until the interrupt, at most ``limit`` cycles; returns the cycles."""
        return int(self._library.bench_run(self._bench, ctypes.c_uint64(limit)))

    def wait(self, seconds: float) -> bool:
        """Run until the interrupt, at most as long as this many seconds take at ``CYCLES_PER_S``; whether it came."""
        limit = int(seconds * CYCLES_PER_S)
        return self.run(limit) < limit

    @property
    def violation(self) -> str:
        """The first breach of the bus protocol by the design; empty where there is none."""
        return bytes(self._library.bench_violation(self._bench)).decode()

    @property
    def moved_bytes(self) -> tuple[int, int]:
        """Bytes read and written since the model was made."""
        beats = (int(self._library.bench_beats(self._bench, writes)) for writes in (0, 1))
        read, written = (count * self.data_width // 8 for count in beats)
        return read, written

    @staticmethod
    def _okay(response: int, address: int) -> None:
        if response != 0:
            raise RuntimeError(f"register {address:#x}: response {response}")
