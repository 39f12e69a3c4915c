"""A unit of the accelerator (two read streams, a write stream, commands), compiled with a memory behind its streams."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dse.verify.toolchain import OPTIMISE, build_library, verilate
from tests.made_once import made_once
from tests.rtl.rtl_model import model_class


class _Config(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("seed", "limit", "abort_at", "latency")),
        *((name, ctypes.c_uint32) for name in ("stall", "hard_reset", "fault_at", "beat_bytes")),
    )


class Outcome(ctypes.Structure):
    """What a run did: cycles, steps of the lanes, commands done, error_o, and breaches of the streams' rules.

    Breaches are requests outside of the memory (`violations`), valids that were taken back or payloads that changed
    (`unstable`), and done_o while beats or answers were still to come (`early`).
    """

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("cycles", "steps", "done")),
        *((name, ctypes.c_uint32) for name in ("error", "violations", "unstable", "early")),
    )

    @property
    def faults(self) -> tuple[int, int, int, int]:
        """error_o and the three breaches; all 0 in a clean run."""
        return self.error, self.violations, self.unstable, self.early


class Record(NamedTuple):
    """A finished command: cycles in which it was taken and in which done_o was high, and the scales then."""

    taken: int
    ended: int
    scale: int
    scale_weight: int
    scale_bias: int


@dataclass(frozen=True)
class Behaviour:
    """Of the memory: chance of a stall a signal and cycle, latency in cycles, and what goes wrong when."""

    stall: float = 0.0
    latency: int = 1
    seed: int = 1
    limit: int = 2_000_000
    abort_at: int = 0
    hard_reset: bool = False
    fault_at: int = 0


class UnitBench:
    """One unit: module `top` with `parameters`; `sources` are Verilator's options that name its files.

    `words` is the number of 32-bit words of a command. `parameters` include DataWidth.
    """

    def __init__(
        self, top: str, parameters: Mapping[str, int], words: int, sources: Sequence[str], cache: Path, runtime: Path,
        optimise: str = OPTIMISE,
    ) -> None:  # fmt: skip
        self.parameters, self.words = dict(parameters), words
        prefix = model_class(top, parameters)

        def build(folder: Path) -> None:
            folder.mkdir()
            options = ["--cc", "-O3", "--x-initial", "unique", "--prefix", prefix, "--Mdir", str(folder)]
            verilate(top, parameters, [*options, *sources], folder)
            head = f"#define MODEL {prefix}\n#define WORDS {words}\n#include <cstring>\n"
            bench = head + (Path(__file__).parent / "unit_bench.cpp").read_text()
            build_library(folder, prefix, bench, runtime, optimise)

        self._library = ctypes.CDLL(str(made_once(cache / prefix, build) / "model.so"), mode=os.RTLD_LOCAL)
        self._library.bench_new.restype = ctypes.c_void_p
        self._bench = ctypes.c_void_p(self._library.bench_new())

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.parameters["DataWidth"] // 8

    def run(
        self, commands: Sequence[npt.NDArray[np.uint32]], memory: npt.NDArray[np.uint8], how: Behaviour
    ) -> tuple[Outcome, list[Record]]:
        """Run commands back to back; returns the outcome and a record for each command that ended."""
        words = np.ascontiguousarray(np.stack(commands), np.uint32)
        assert words.shape[1] == self.words
        config = _Config(how.seed, how.limit, how.abort_at, how.latency, int(how.stall * 65536), how.hard_reset)
        config.fault_at, config.beat_bytes = how.fault_at, self.beat_bytes
        outcome, records = Outcome(), np.zeros((len(commands), len(Record._fields)), np.uint64)
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (words, memory, records)]
        self._library.bench_run(
            self._bench, pointers[0], ctypes.c_uint64(len(commands)), pointers[1], ctypes.c_uint64(memory.nbytes),
            ctypes.byref(config), ctypes.byref(outcome), pointers[2],
        )  # fmt: skip
        return outcome, [Record(*(int(value) for value in record)) for record in records[: outcome.done]]

    def clear(self) -> None:
        """A cycle of clear_i, with the memory's requests dropped."""
        self._library.bench_clear(self._bench)
