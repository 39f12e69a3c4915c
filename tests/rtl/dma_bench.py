"""A DMA engine, compiled with the DRAM model, for tests."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dse.verify import toolchain
from dse.verify.dram import Dram
from tests.made_once import made_once
from tests.rtl.rtl_model import LIBRARY

SIMULATION = LIBRARY.parent / "sim"
BASE = 0x10000
MEMORY_BYTES = Dram().size


class Outcome(ctypes.Structure):
    """What one run of commands did. Beats and cycles are counts; first_beat and last_beat are cycles."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("cycles", "first_beat", "last_beat", "beats", "lasts_wrong", "dones")),
        ("error", ctypes.c_uint32),
        ("violations", ctypes.c_uint32),
    )


class DmaBench:
    """`dma_read` or `dma_write` of one data width; `memory` is the DRAM's contents, uint8."""

    def __init__(self, library: Path, data_width: int) -> None:
        self._library = ctypes.CDLL(str(library), mode=os.RTLD_LOCAL)
        self._library.bench_new.restype = ctypes.c_void_p
        self._library.bench_memory.restype = ctypes.POINTER(ctypes.c_uint8)
        self._library.bench_violation.restype = ctypes.c_char_p
        self._library.bench_settle.restype = ctypes.c_bool
        self.beat_bytes = data_width // 8
        self.dram = Dram(BASE)
        config = self.dram.config()
        self._bench = ctypes.c_void_p(self._library.bench_new(ctypes.byref(config), self.beat_bytes))
        address = self._library.bench_memory(self._bench)
        self.memory: npt.NDArray[np.uint8] = np.ctypeslib.as_array(address, (MEMORY_BYTES,))

    def close(self) -> None:
        """Free the model; `memory` is gone with it."""
        self._library.bench_delete(self._bench)

    def behave(self, dram: Dram) -> None:
        """Another behaviour of the memory, from the next cycle on."""
        self.dram = dram
        config = dram.config()
        self._library.bench_configure(self._bench, ctypes.byref(config), dram.chance, dram.chance)

    def transfer(
        self, commands: Sequence[tuple[int, int]], data: npt.NDArray[np.uint8], limit: int = 200_000
    ) -> Outcome:
        """Run (byte address, beats) commands until all is done, an error is shown, or `limit` cycles have gone.

        `data` is what is written, or receives what is read: uint8 [beats * bytes per beat].
        """
        words = np.array(commands, np.uint64).reshape(-1, 2).T.copy()
        outcome = Outcome()
        columns = [row.ctypes.data_as(ctypes.c_void_p) for row in words]
        self._library.bench_transfer(
            self._bench,
            ctypes.c_uint64(len(commands)),
            *columns,
            data.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_uint64(limit),
            ctypes.byref(outcome),
        )
        assert not outcome.violations, self._library.bench_violation(self._bench)
        return outcome

    def clear(self) -> None:
        """One cycle of clear_i."""
        self._library.bench_clear(self._bench)

    def reset(self) -> None:
        """Reset of engine and memory controller; the memory keeps its contents."""
        self._library.bench_reset(self._bench)

    def settle(self) -> None:
        """Run without commands until nothing is under way on the bus."""
        assert self._library.bench_settle(self._bench, ctypes.c_uint64(20_000))


def build_bench(top: str, data_width: int, cache: Path, runtime: Path, library: Path = LIBRARY) -> Path:
    """Compile one from the sources in ``library``; returns the shared library."""
    prefix = f"V{top}_{data_width}_bench"

    def build(folder: Path) -> None:
        folder.mkdir()
        parameters = {"DataWidth": data_width, "MaxOutstanding": 4 if data_width == 64 else 8}
        options = ["-y", str(library), "--cc", "-O3", "--prefix", prefix, "--Mdir", str(folder)]
        toolchain.verilate(top, parameters, [*options, str(library / f"{top}.sv")], folder)
        switches = f"#define DSE_TOP {prefix}\n#define DSE_READ {int(top == 'dma_read')}\n"
        bench = switches + Path(__file__).with_name("dma_bench.cpp").read_text()
        toolchain.build_library(folder, prefix, bench, runtime, include=SIMULATION)

    return made_once(cache / prefix, build) / "model.so"
