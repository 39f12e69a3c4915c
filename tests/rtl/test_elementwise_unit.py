"""The elementwise unit against the golden model, byte for byte in memory, under stalls, aborts and back to back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dse.golden.rounding import limit, requantise, shift_round
from dse.golden.update import stochastic_step, updated_with_momentum
from dse.golden.xorshift import Xorshift32
from dse.layout import RowImage
from dse.vector import ELEMENTWISE_FIELDS, Elementwise, elementwise_cycles, elementwise_words
from dse.vector.elementwise import KINDS
from dse.verify.lint import slang_messages
from dse.verify.toolchain import verilate
from tests.rtl.rtl_model import LIBRARY
from tests.rtl.unit_bench import Behaviour, UnitBench

VECTOR = LIBRARY.parent / "vector"
HARNESS = Path(__file__).parent / "elementwise_harness.sv"
SOURCES = ["-y", str(VECTOR), "-y", str(LIBRARY), str(VECTOR / "elementwise_pkg.sv"), str(HARNESS)]
SETTINGS = {"int8": (8, 64), "int16": (16, 64), "int16, a wide element is two beats": (16, 32), "wide beats": (8, 128)}
"""Bits of an operand and of a beat."""
SHAPES = ((2, 5, 3, 7), (1, 1, 1, 1), (3, 8, 4, 8), (5, 2, 1, 3))
BLOCKS = ((1, 8), (3, 2), (4, 1))
Ints = npt.NDArray[np.int64]
BenchFactory = Callable[[str], UnitBench]


@dataclass
class Job:
    """One command in a memory of its own, what the memory has to be afterwards, and the scale of wide results."""

    command: Elementwise
    words: npt.NDArray[np.uint32]
    memory: npt.NDArray[np.uint8]
    want: npt.NDArray[np.uint8]
    scale: int | None


@pytest.fixture(scope="session")
def elementwise_bench_of(rtl_cache: Path, rtl_runtime: Path) -> BenchFactory:
    benches: dict[str, UnitBench] = {}

    def build(name: str) -> UnitBench:
        if name not in benches:
            bits, beat = SETTINGS[name]
            parameters, words = {"OperandWidth": bits, "DataWidth": beat}, len(ELEMENTWISE_FIELDS) + 2
            benches[name] = UnitBench("elementwise_harness", parameters, words, SOURCES, rtl_cache, rtl_runtime)
        return benches[name]

    return build


def _operand(rng: np.random.Generator, shape: tuple[int, ...], bits: int, wide: bool) -> Ints:
    """Over the whole range of operands, or sums of a random magnitude."""
    if not wide:
        return rng.integers(-limit(bits), limit(bits), shape, endpoint=True)
    most = 1 << int(rng.integers(1, 31 if bits == 8 else 48))
    return rng.integers(-most, most, shape, endpoint=True)


CASES = (
    "requantise",
    "relu",
    "mask",
    "normalise and mask",
    "scale",
    "add",
    "add relu",
    "gather",
    "differ",
    "update",
    "momentum",
)


_KINDS = {"add": "sum", "add relu": "sum", "gather": "sum"}


def make_job(case: str, bits: int, beat: int, seed: int) -> Job:
    rng = np.random.default_rng(seed)
    shape, block = SHAPES[seed % len(SHAPES)], BLOCKS[seed % len(BLOCKS)]
    image = RowImage.maps(shape, block, bits // 8, beat // 8)
    wide_a = case in ("requantise", "normalise and mask", "scale", "update", "momentum")
    wide_b, wide_o = case == "momentum", case in ("gather", "differ", "scale", "momentum")
    uses_b = case not in ("requantise", "relu", "scale")
    a, b = _operand(rng, shape, bits, wide_a), _operand(rng, shape, bits, wide=False)
    if wide_b:  # velocities, about eight of the largest steps
        b = rng.integers(-(1 << bits + 11), 1 << bits + 11, shape)
    length = int(np.abs(a).max()).bit_length()
    shift_a = {"requantise": int(rng.integers(-9, 33)), "normalise and mask": length - (bits - 1), "update": length - 3}
    shift_a["momentum"] = length - 3
    shifts = [shift_a.get(case, 0), 0]
    if case == "gather":
        shifts = [-8, int(rng.integers(-8, 30))][:: 1 if seed % 2 else -1]
    kind = {
        "add": "sum",
        "add relu": "sum",
        "gather": "sum",
        "differ": "differ",
        "update": "update",
        "momentum": "momentum",
    }.get(case, "pass")
    room = [image.size_bytes * 4] * 3
    at = np.cumsum([64, *room])
    command = Elementwise(
        kind, image, int(at[0]), int(at[1]) if uses_b else None, None if case == "scale" else int(at[2]),
        a_wide=wide_a, b_wide=wide_b, o_wide=wide_o, shift=-8 if wide_b else 0, masks="mask" in case,
        relu="relu" in case,
    )  # fmt: skip
    wide = command.wide
    memory = rng.integers(0, 256, int(at[3]) + 64, dtype=np.uint8)
    for place, data in ((at[0], (wide if wide_a else image).pack(a)), (at[1], (wide if wide_b else image).pack(b))):
        memory[place : place + len(data)] = np.frombuffer(data, np.uint8)
    result, want = _golden(case, image, a, b, shifts, bits), memory.copy()
    if result is not None:
        data = (wide if wide_o else image).pack(result)
        want[at[2] : at[2] + len(data)] = np.frombuffer(data, np.uint8)
    scaled = a if case == "scale" else result
    scale = int(np.abs(scaled).max()).bit_length() if scaled is not None and wide_o else None
    words = np.concatenate([elementwise_words(command), np.array(shifts, np.int64).astype(np.uint32)])
    return Job(command, words, memory, want, scale)


def _golden(case: str, image: RowImage, a: Ints, b: Ints, shifts: list[int], bits: int) -> Ints | None:
    """The result, in the arithmetic of dse.golden; None where there is none."""
    if case in ("requantise", "normalise and mask", "relu", "mask"):
        y = requantise(a, shifts[0], bits).astype(np.int64)
        y = np.maximum(y, 0) if case == "relu" else y
        return np.where((b > 0) & (b < limit(bits)), y, 0) if "mask" in case else y
    if case in ("add", "add relu"):
        y = requantise(a + b, 0, bits).astype(np.int64)
        return np.maximum(y, 0) if case == "add relu" else y
    if case == "gather":
        return shift_round(a, shifts[0]) + shift_round(b, shifts[1])
    if case == "differ":
        return a - b
    if case == "momentum":
        draws = np.zeros(a.shape, np.uint32)
        return updated_with_momentum(np.zeros(a.shape, np.int8), b, a, 4, draws, bits)[1]
    if case == "update":
        draws = Xorshift32(1).draw(image.size_bytes // image.element_bytes)
        rate = 4  # the shift is that of a step of 2^-4 of the range
        step = stochastic_step(a, rate, image.take(draws)[0], bits)
        return np.clip(b - step, -limit(bits), limit(bits))
    return None


def _shifted(job: Job, shift: int) -> Job:
    job.words[-2] = np.uint32(shift & 0xFFFFFFFF)
    return job


def _made(case: str, name: str, seed: int) -> Job:
    bits, beat = SETTINGS[name]
    job = make_job(case, bits, beat, seed)
    if case in ("update", "momentum"):  # shift = length + rate - (bits - 1)
        length = int(job.words[-2].astype(np.int32)) + 3
        job = _shifted(job, length + 4 - (bits - 1))
    return job


def check(bench: UnitBench, job: Job, how: Behaviour) -> int:
    bench.clear()
    outcome, records = bench.run([job.words], job.memory, how)
    assert outcome.faults == (0, 0, 0, 0), job.command
    assert outcome.done == 1, job.command
    np.testing.assert_array_equal(job.memory, job.want, err_msg=str(job.command))
    assert job.scale is None or records[0].scale == job.scale, job.command
    return records[0].ended - records[0].taken


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", SETTINGS)
def test_every_operation_is_bit_exact_under_stalls(elementwise_bench_of: BenchFactory, name: str, case: str) -> None:
    bench = elementwise_bench_of(name)
    for seed in range(12):
        check(bench, _made(case, name, seed), Behaviour(0.3 * (seed % 2), seed % 7, seed + 1, 100_000))


@pytest.mark.parametrize("name", SETTINGS)
def test_cycles_are_predicted_to_the_cycle(elementwise_bench_of: BenchFactory, name: str) -> None:
    for case in CASES:
        for latency in (1, 9):
            job = _made(case, name, 2)
            cycles = check(elementwise_bench_of(name), job, Behaviour(latency=latency, limit=100_000))
            assert abs(cycles - elementwise_cycles(job.command, latency)) <= 1, (case, latency)


def test_commands_follow_each_other_and_an_abort_is_followed_by_a_clean_run(elementwise_bench_of: BenchFactory) -> None:
    bench = elementwise_bench_of("int8")
    jobs = [_made(case, "int8", 2) for case in CASES if case != "update"]
    for hard in (False, True):
        for at in (3, 20, 60):
            how = Behaviour(0.2, 5, at, 10_000, abort_at=at, hard_reset=hard)
            bench.run([jobs[0].words], jobs[0].memory.copy(), how)
            check(bench, _made("gather", "int8", 6), Behaviour(0.2, 3, at, 10_000))
    for first, second in pairwise(jobs):
        memory = first.memory.copy()
        bench.clear()
        outcome, _ = bench.run([first.words, first.words], memory, Behaviour(0.2, limit=20_000))
        assert outcome.done == 2
        np.testing.assert_array_equal(memory, first.want)
        check(bench, second, Behaviour())
        second.memory[:] = _made(CASES[jobs.index(second)], "int8", 2).memory


def test_fields_are_those_of_the_rtl() -> None:
    text = (VECTOR / "elementwise_pkg.sv").read_text()
    words = dict(re.findall(r"c\.(\w+) += .*word\[(\d+)\]", text))
    flags = re.findall(r"c\.(\w+) += word\[1\]\[(\d+)\]", text)
    assert [name for name, _ in sorted(flags, key=lambda pair: int(pair[1]))] == [
        "a_wide", "o_wide", "uses_b", "masks", "relu", "discards", "b_wide",
    ]  # fmt: skip
    order = {int(word): name for name, word in words.items() if int(word) != 1}
    assert [order.get(i, "flags") for i in range(len(ELEMENTWISE_FIELDS))] == list(ELEMENTWISE_FIELDS)
    assert [name.lower() for name in re.findall(r"(\w+) += 3'd\d", text)] == list(KINDS)


def test_it_is_free_of_warnings(tmp_path: Path) -> None:
    for bits, beat in SETTINGS.values():
        values = {"OperandWidth": bits, "DataWidth": beat}
        verilate("elementwise_harness", values, ["--lint-only", "-Wall", *SOURCES], tmp_path)
    files = [str(path) for path in (VECTOR / "elementwise_pkg.sv", *sorted(LIBRARY.glob("*.sv")))]
    units = [
        str(VECTOR / f"{name}.sv") for name in ("elementwise_lane", "elementwise_unit", "wide_gather", "wide_scatter")
    ]
    assert slang_messages(tmp_path, "elementwise_harness", ["-Wextra", *files, *units, str(HARNESS)]) == ""
