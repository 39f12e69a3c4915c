"""The channel unit against the golden model, byte for byte in memory, under stalls, aborts and back to back."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dse.errors import InputError
from dse.vector import (
    CHANNEL_FIELDS,
    CHANNEL_KINDS,
    ChannelOperation,
    channel_cycles,
    channel_vector,
    channel_words,
)
from dse.verify.lint import slang_messages
from dse.verify.toolchain import ToolError, verilate
from tests.rtl.channel_jobs import SOURCES, Job, Setting, check, compare, make_job
from tests.rtl.channel_synthesis import faults, synthesise
from tests.rtl.rtl_model import VECTOR
from tests.rtl.unit_bench import Behaviour, UnitBench

SETTINGS = {
    "8 channels": Setting(),
    "4 samples": Setting(8, 4, 1, 64),
    "3 samples 5 channels int16": Setting(16, 3, 5, 64),
    "2 samples 8 channels, wide beats": Setting(8, 2, 8, 128),
}
SHAPES = [(3, 20, 1, 1), (1, 8, 4, 4), (2, 3, 5, 7), (5, 19, 3, 3), (7, 11, 1, 1), (4, 9, 2, 13)]
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("sum", {}),
    ("bias", {}),
    ("bias", {"relu": True}),
    ("bias", {"wide": True, "shift": 9}),
    ("bias", {"wide": True, "shift": 24, "relu": True}),
    ("norm_forward", {}),
    ("norm_forward", {"relu": True}),
    ("norm_backward", {}),
    ("norm_backward", {"error": False}),
]
BenchFactory = Callable[[str], UnitBench]
STALLED = Behaviour(stall=0.3, latency=7, limit=100_000)


@pytest.fixture(scope="session")
def channel_bench_of(rtl_cache: Path, rtl_runtime: Path) -> BenchFactory:
    benches: dict[str, UnitBench] = {}

    def build(name: str) -> UnitBench:
        if name not in benches:
            benches[name] = SETTINGS[name].bench(rtl_cache, rtl_runtime)
        return benches[name]

    return build


@pytest.mark.parametrize("name", SETTINGS)
def test_every_operation_is_bit_exact_under_stalls(channel_bench_of: BenchFactory, name: str) -> None:
    bench, rng = channel_bench_of(name), np.random.default_rng(len(name))
    for number, (kind, flags) in enumerate(VARIANTS):
        for shape in SHAPES:
            job = make_job(SETTINGS[name], kind, shape, seed=number, **flags)
            check(bench, job, Behaviour(0.3, int(rng.integers(0, 12)), number, 100_000))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(SETTINGS)),
    variant=st.sampled_from(VARIANTS),
    shape=st.tuples(st.integers(1, 9), st.integers(1, 20), st.integers(1, 6), st.integers(1, 9)),
    stall=st.sampled_from([0.0, 0.2, 0.6]),
    seed=st.integers(0, 2**16),
)
def test_any_map_is_bit_exact(
    channel_bench_of: BenchFactory, name: str, variant: tuple[str, dict[str, Any]], shape: tuple[int, int, int, int],
    stall: float, seed: int,
) -> None:  # fmt: skip
    kind, flags = variant
    job = make_job(SETTINGS[name], kind, shape, seed=seed, **flags)
    check(channel_bench_of(name), job, Behaviour(stall, seed % 9, seed, 100_000))


def _joined(jobs: list[Job]) -> tuple[np.ndarray[Any, np.dtype[np.uint8]], np.ndarray[Any, np.dtype[np.uint8]]]:
    """The memory of jobs that begin where the one before ends, and what it has to become."""
    starts = [0, *(len(job.memory) for job in jobs)]
    parts = [(job.memory[start:], job.want[start:]) for job, start in zip(jobs, starts, strict=False)]
    memory, want = (np.concatenate(column) for column in zip(*parts, strict=True))
    return memory, want


def test_commands_follow_each_other(channel_bench_of: BenchFactory) -> None:
    """Every operation on several maps in one memory, the next command waiting while one runs."""
    name, jobs = "3 samples 5 channels int16", list[Job]()
    for shape in SHAPES[1:4]:
        for kind, flags in VARIANTS:
            base = len(jobs[-1].memory) if jobs else 0
            jobs.append(make_job(SETTINGS[name], kind, shape, seed=base, base=base, **flags))
    memory, want = _joined(jobs)
    outcome, records = channel_bench_of(name).run([job.words for job in jobs], memory, STALLED)
    assert (outcome.done, outcome.faults) == (len(jobs), (0, 0, 0, 0))
    assert [(record.scale, record.scale_weight, record.scale_bias) for record in records] == [j.scales for j in jobs]
    assert all(before.ended <= after.taken for before, after in pairwise(records))
    compare(memory, want, "commands back to back")


@pytest.mark.parametrize("name", SETTINGS)
def test_cycles_are_predicted_to_the_cycle(channel_bench_of: BenchFactory, name: str) -> None:
    for number, (kind, flags) in enumerate(VARIANTS):
        for shape in [*SHAPES, (8, 16, 6, 8)]:
            job = make_job(SETTINGS[name], kind, shape, seed=number, **flags)
            latency = 1 + 5 * number
            record = check(channel_bench_of(name), job, Behaviour(latency=latency, limit=50_000))
            assert record.ended - record.taken == channel_cycles(job.command, latency), job.command


@pytest.mark.parametrize("hard_reset", [False, True], ids=["clear_i", "rst_ni"])
def test_a_clean_run_follows_an_abort_at_any_time(channel_bench_of: BenchFactory, hard_reset: bool) -> None:
    bench = channel_bench_of("8 channels")
    for number in range(24):
        kind, flags = VARIANTS[number % len(VARIANTS)]
        job = make_job(SETTINGS["8 channels"], kind, (5, 19, 3, 3), seed=number, **flags)
        clean = job.memory.copy()
        abort = Behaviour(0.2, 3, number, 100_000, abort_at=4 + 9 * number, hard_reset=hard_reset)
        outcome, _ = bench.run([job.words], job.memory, abort)
        assert outcome.done == 0
        job.memory[:] = clean
        check(bench, job, STALLED)


def test_one_wrong_byte_is_noticed(channel_bench_of: BenchFactory) -> None:
    job = make_job(SETTINGS["8 channels"], "bias", SHAPES[0])
    job.memory[0] ^= 0x55
    with pytest.raises(AssertionError, match="wrong bytes"):
        check(channel_bench_of("8 channels"), job, Behaviour())


@pytest.mark.parametrize("count", [0, 1 << 24])
def test_a_channel_of_no_or_too_many_elements_is_an_error(channel_bench_of: BenchFactory, count: int) -> None:
    bench, job = channel_bench_of("8 channels"), make_job(SETTINGS["8 channels"], "norm_forward", SHAPES[1])
    words = job.words
    words[CHANNEL_FIELDS.index("count")] = count
    for _ in range(2):  # and the next command is refused
        outcome, _ = bench.run([words], job.memory, Behaviour(limit=5000))
        assert (outcome.error, outcome.done) == (1, 0)
    bench.clear()
    check(bench, job, STALLED)


def test_a_gradient_beyond_a_wide_element_is_an_error(channel_bench_of: BenchFactory) -> None:
    """2^17 + 2^12 products of 127 and 127 pass 2^31."""
    setting = SETTINGS["2 samples 8 channels, wide beats"]
    bench, image = channel_bench_of("2 samples 8 channels, wide beats"), setting.maps((2, 1, 256, 264))
    size, vector = image.size_bytes, channel_vector(image, True)
    bases = [0, *(size + number * vector.size_bytes for number in range(5))]
    command = ChannelOperation(
        "norm_backward", image, bases[0], bases[0], None, (bases[1], bases[2], bases[3]), (bases[4], bases[5])
    )  # fmt: skip
    one = np.ones((1, 1, 1, 1), np.int64)
    images = [image.pack(np.full(image.blocked.shape, 127)), *(vector.pack(one * n) for n in (0, 1 << 16, 127, 0, 0))]
    memory = np.frombuffer(b"".join(images), np.uint8).copy()
    outcome, _ = bench.run([channel_words(command)], memory, Behaviour(limit=100_000))
    assert (outcome.error, outcome.done) == (1, 0)
    bench.clear()
    memory[: image.size_bytes // 2] = 0  # half as many
    outcome, records = bench.run([channel_words(command)], memory, Behaviour(limit=100_000))
    assert (outcome.faults, outcome.done) == ((0, 0, 0, 0), 1)
    assert records[0].scale_weight == (127 * 127 * command.count // 2).bit_length()


def test_commands_that_the_unit_cannot_do_are_refused() -> None:
    image = SETTINGS["8 channels"].maps((2, 8, 4, 4))
    with pytest.raises(InputError, match="channel unit: has no such operation; got 'mean'; allowed: sum, bias"):
        ChannelOperation("mean", image)
    with pytest.raises(InputError, match="channel unit, bias: needs other vectors"):
        ChannelOperation("bias", image)
    with pytest.raises(InputError, match="shift: is out of range; got 25; allowed: 0 to 24"):
        ChannelOperation("bias", image, reads=(0,), wide=True, shift=25)
    with pytest.raises(InputError, match="base: is not at a beat; got 4; allowed: multiples of 8"):
        ChannelOperation("sum", image, a=4, writes=(0,))
    with pytest.raises(InputError, match="too many elements a channel"):
        ChannelOperation("sum", SETTINGS["8 channels"].maps((1, 1, 4096, 4096)), writes=(0,))
    with pytest.raises(InputError, match="channel unit, sum: rows: passes 16 bits; got 65536"):
        channel_words(ChannelOperation("sum", SETTINGS["8 channels"].maps((1, 1, 65536, 1)), writes=(0,)))


def test_fields_and_operations_are_in_the_order_of_the_rtl() -> None:
    text = (VECTOR / "channel_pkg.sv").read_text()
    fields = re.findall(r"^ +c\.(\S+) += .*word\[(\d+)\]", text, re.MULTILINE)
    assert [name for name, _ in fields] == list(CHANNEL_FIELDS)
    assert [int(number) for _, number in fields] == list(range(len(CHANNEL_FIELDS)))
    assert f"ChannelWords = {len(CHANNEL_FIELDS)};" in text
    kinds = re.findall(r"^ +(\w+) += 2'd(\d)", text, re.MULTILINE)
    assert [(name.lower(), int(number)) for name, number in kinds] == [
        (kind.replace("_", ""), number) for number, kind in enumerate(CHANNEL_KINDS)
    ]


@pytest.mark.parametrize("name", [*SETTINGS, "one channel, narrow beats"])
def test_two_linters_have_nothing_to_say(name: str, tmp_path: Path) -> None:
    setting = SETTINGS.get(name, Setting(8, 1, 1, 32))
    verilate("channel_unit", setting.verilog(), ["--lint-only", "-Wall", *SOURCES], tmp_path)
    verilate("channel_unit", {**setting.verilog(), "MaxCountWidth": 10}, ["--lint-only", "-Wall", *SOURCES], tmp_path)
    values = [f"-G {key}={value}" for key, value in setting.verilog().items()]
    assert slang_messages(tmp_path, "channel_unit", [*values, "--libext", ".sv", *SOURCES]) == ""


@pytest.mark.parametrize(
    "illegal",
    [
        {"OperandWidth": 12},
        {"UB": 0},
        {"ChannelBlock": 257},
        {"MaxCountWidth": 9},
        {"MaxCountWidth": 25},
        {"DataWidth": 96},
        {"OperandWidth": 16, "DataWidth": 32},
        {"AddrWidth": 65},
    ],
    ids=str,
)
def test_illegal_parameters_stop_elaboration(illegal: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="channel_unit: "):
        verilate("channel_unit", illegal, ["--lint-only", *SOURCES], tmp_path)


def test_memories_are_lut_ram_and_multiplications_dsp_blocks() -> None:
    setting = Setting(8, 1, 8, 32)
    assert faults(setting, synthesise(setting, "xc7", logic=False), "xc7") == []
