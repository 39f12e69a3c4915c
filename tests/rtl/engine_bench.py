"""The convolution engine, compiled with a memory behind its streams, and layers run on it against the golden model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dse.engine import (
    COMMAND_FIELDS,
    Bases,
    Convolution,
    EngineLayout,
    EngineParameters,
    PhaseNest,
    Tiling,
    command,
    command_words,
    fit_tiling,
    phase_nest,
)
from dse.golden import forward, input_grad, weight_grad
from dse.verify.toolchain import OPTIMISE
from tests.rtl.rtl_model import LIBRARY
from tests.rtl.unit_bench import Behaviour, Outcome, UnitBench

ENGINE = LIBRARY.parent / "engine"
PHASES = ("forward", "input_grad", "weight_grad")
Ints = npt.NDArray[np.int64]


def engine_options() -> list[str]:
    """Sources of the engine for Verilator."""
    return ["-y", str(ENGINE), "-y", str(LIBRARY), str(ENGINE / "engine_pkg.sv"), str(ENGINE / "conv_engine.sv")]


class EngineBench(UnitBench):
    """One engine; `run` takes commands."""

    def __init__(self, hw: EngineParameters, cache: Path, runtime: Path, optimise: str = OPTIMISE) -> None:
        self.hw = hw
        sources = engine_options()
        super().__init__("conv_engine", hw.verilog(), len(COMMAND_FIELDS), sources, cache, runtime, optimise)


@dataclass
class Job:
    """One phase of one convolution in a memory of its own: operands, and the result that is to come."""

    nest: PhaseNest
    tiling: Tiling
    result: EngineLayout
    want: bytes
    memory: npt.NDArray[np.uint8]
    base: int
    words: npt.NDArray[np.uint32]
    scale: int
    """Bit length of the largest magnitude among the sums."""


def random_tensor(rng: np.random.Generator, bits: int, shape: tuple[int, ...]) -> Ints:
    """Operands over the whole range, a few of them at its ends."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    values = rng.integers(low, high, shape, endpoint=True)
    return np.where(rng.random(shape) < 0.05, rng.choice(np.array([low, high]), shape), values)


def requantise(sums: Ints, shift: int, bits: int) -> Ints:
    """Shift right, round half up, clip to the symmetric range."""
    rounded = (sums + (1 << (shift - 1))) >> shift if shift > 0 else sums << -shift
    limit = (1 << (bits - 1)) - 1
    return np.clip(rounded, -limit, limit)


def golden(conv: Convolution, phase: str, feature: Ints, operand: Ints) -> Ints:
    """Sums of a phase from its two operands."""
    if phase == "forward":
        return np.asarray(forward(feature, operand, conv.window), np.int64)
    if phase == "input_grad":
        return np.asarray(input_grad(feature, operand, conv.window, conv.size), np.int64)
    return np.asarray(weight_grad(feature, operand, conv.window), np.int64)


def make_job(
    hw: EngineParameters, conv: Convolution, phase: str, tiling: Tiling | None = None, *, raw: bool = False,
    relu: bool = False, shift: int = 7, seed: int = 0, base: int = 0,
) -> Job:  # fmt: skip
    """Random operands in memory images from byte `base` on, the command, and the image that must come out."""
    rng = np.random.default_rng(seed)
    nest = phase_nest(conv, phase, hw.channel_block)
    tiling = fit_tiling(hw, nest) if tiling is None else tiling
    x = random_tensor(rng, hw.operand_bits, (conv.batch, conv.n, *conv.size))
    e = random_tensor(rng, hw.operand_bits, (conv.batch, conv.m, *conv.out_size))
    w = random_tensor(rng, hw.operand_bits, (conv.m, conv.group_n, *conv.window.kernel))
    maps = [EngineLayout.features(hw, conv, of_output=of_output) for of_output in (False, True)]
    kernels = EngineLayout.weights(hw, conv)
    feature, operand, result = {
        "forward": ((maps[0], x), (kernels, w), EngineLayout.features(hw, conv, True, raw)),
        "input_grad": ((maps[1], e), (kernels, w), EngineLayout.features(hw, conv, False, raw)),
        "weight_grad": ((maps[0], x), (maps[1], e), EngineLayout.weights(hw, conv, raw)),
    }[phase]
    sums = golden(conv, phase, feature[1], operand[1])
    narrow = requantise(sums, shift, hw.operand_bits)
    out = sums if raw else np.maximum(narrow, 0) if relu else narrow
    images = [feature[0].pack(feature[1]), operand[0].pack(operand[1])]
    want = result.pack(out)
    at = [base, base + len(images[0]), base + len(images[0]) + len(images[1])]
    memory = rng.integers(0, 256, at[2] + len(want) + 64, dtype=np.uint8)
    for place, image in zip(at, images, strict=False):
        memory[place : place + len(image)] = np.frombuffer(image, np.uint8)
    words = command_words(command(hw, nest, tiling, Bases(*at), shift=shift, raw=raw, relu=relu))
    return Job(nest, tiling, result, want, memory, at[2], words, int(np.abs(sums).max()).bit_length())


def check(bench: EngineBench, job: Job, how: Behaviour) -> Outcome:
    """Run a job; every byte of the result, and none around it, must be as expected. Returns what the run did."""
    before = job.memory.copy()
    outcome, records = bench.run([job.words], job.memory, how)
    where = f"{job.nest} {job.tiling} {bench.hw}"
    assert (outcome.faults, outcome.done) == ((0, 0, 0, 0), 1), f"{where} after {outcome.cycles} cycles"
    assert records[0].scale == job.scale, where
    got = job.memory[job.base : job.base + len(job.want)].tobytes()
    if got != job.want:
        differ = np.flatnonzero(job.result.unpack(got) != job.result.unpack(job.want))
        raise AssertionError(f"{where}: {len(differ)} wrong of {job.result.unpack(got).size}; first {differ[:8]}")
    np.testing.assert_array_equal(job.memory[: job.base], before[: job.base])
    np.testing.assert_array_equal(job.memory[job.base + len(job.want) :], before[job.base + len(job.want) :])
    return outcome
