"""The convolution engine against the golden model, byte for byte in memory, and its cycles against the schedule's."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.engine import (
    COMMAND_FIELDS,
    Convolution,
    EngineLayout,
    EngineParameters,
    Tiling,
    command_cycles,
    compute_cycles,
    phase_nest,
)
from dse.errors import InputError
from dse.golden.convolution import Window
from dse.verify.lint import slang_messages
from dse.verify.toolchain import ToolError, verilate
from tests.rtl.engine_bench import ENGINE, PHASES, EngineBench, check, engine_options, make_job
from tests.rtl.engine_layers import LAYERS, SETTINGS
from tests.rtl.engine_matrix import other_tiling
from tests.rtl.rtl_model import LIBRARY
from tests.rtl.unit_bench import Behaviour

BenchFactory = Callable[[str], EngineBench]
BUILT = ["channel 3x5", "channel 7x7 int16", "batch 3x5", "feature map 3x4", "all of them"]
STALLED = Behaviour(stall=0.3, latency=7, limit=400_000)


@pytest.fixture(scope="session")
def bench_of(rtl_cache: Path, rtl_runtime: Path) -> BenchFactory:
    benches: dict[str, EngineBench] = {}

    def build(name: str) -> EngineBench:
        if name not in benches:
            benches[name] = EngineBench(SETTINGS[name], rtl_cache, rtl_runtime)
        return benches[name]

    return build


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("name", BUILT)
def test_every_layer_is_bit_exact_under_stalls(bench_of: BenchFactory, name: str, phase: str) -> None:
    bench, rng = bench_of(name), np.random.default_rng(len(name))
    for number, conv in enumerate(LAYERS.values()):
        flags = {"raw": number % 3 == 0, "relu": number % 2 == 0}
        job = make_job(bench.hw, conv, phase, seed=number, shift=7 + number % 5, **flags)
        check(bench, job, Behaviour(0.3, int(rng.integers(0, 12)), number, 400_000))
        tiling = other_tiling(job, bench, rng)
        if tiling is not None:
            check(bench, make_job(bench.hw, conv, phase, tiling, seed=number), Behaviour(seed=number, limit=400_000))


def test_commands_follow_each_other(bench_of: BenchFactory) -> None:
    """All phases of several layers in one memory, the next command waiting while one runs."""
    bench = bench_of("all of them")
    jobs, base = [], 0
    for name in ("3x3 stride 2", "depthwise", "fc wide", "1x1", "5x5"):
        for phase in PHASES:
            jobs.append(make_job(bench.hw, LAYERS[name], phase, seed=base, base=base))
            base = len(jobs[-1].memory)
    memory = np.zeros(base, np.uint8)
    for job, start in zip(jobs, [0, *(len(job.memory) for job in jobs)], strict=False):
        memory[start : len(job.memory)] = job.memory[start:]
    outcome, records = bench.run([job.words for job in jobs], memory, STALLED)
    assert (outcome.done, outcome.faults) == (len(jobs), (0, 0, 0, 0))
    assert [record.scale for record in records] == [job.scale for job in jobs]
    assert all(before.ended <= after.taken for before, after in pairwise(records))
    for job in jobs:
        assert memory[job.base : job.base + len(job.want)].tobytes() == job.want, job.nest


@pytest.mark.parametrize("hard_reset", [False, True], ids=["clear_i", "rst_ni"])
def test_a_clean_run_follows_an_abort_at_any_time(bench_of: BenchFactory, hard_reset: bool) -> None:
    bench = bench_of("all of them")
    for number, phase in enumerate(PHASES * 8):
        job = make_job(bench.hw, LAYERS["3x3 stride 2"], phase, seed=number)
        clean = job.memory.copy()
        abort = Behaviour(0.2, 3, number, 400_000, abort_at=5 + 13 * number, hard_reset=hard_reset)
        outcome, _ = bench.run([job.words], job.memory, abort)
        assert outcome.done == 0
        job.memory[:] = clean
        check(bench, job, STALLED)


def test_a_dma_error_stops_the_engine_until_it_is_cleared(bench_of: BenchFactory) -> None:
    bench = bench_of("channel 3x5")
    job = make_job(bench.hw, LAYERS["3x3"], "forward")
    outcome, _ = bench.run([job.words], job.memory, Behaviour(fault_at=40))
    assert (outcome.error, outcome.done) == (1, 0)
    refused, _ = bench.run([job.words], job.memory, Behaviour(limit=2000))
    assert (refused.error, refused.done) == (1, 0)
    bench.clear()
    check(bench, job, STALLED)


@pytest.mark.parametrize(
    ("phase", "field"), [("forward", "a_word_q"), ("forward", "b_word_m"), ("input_grad", "acc_row")]
)
def test_a_tile_beyond_its_buffer_is_an_error(bench_of: BenchFactory, phase: str, field: str) -> None:
    bench = bench_of("channel 3x5")
    job = make_job(bench.hw, LAYERS["3x3 deep"], phase, Tiling(2, 2, 1, 4))
    job.words[COMMAND_FIELDS.index(field)] = 30_000
    outcome, _ = bench.run([job.words], job.memory, Behaviour(limit=20_000))
    assert (outcome.error, outcome.done) == (1, 0)
    bench.clear()


@pytest.mark.parametrize("phase", PHASES)
def test_the_lanes_work_as_long_as_the_schedule_says(bench_of: BenchFactory, phase: str) -> None:
    """To the cycle: steps of the lanes, and with an ideal memory the cycles from first to last tile."""
    bench = bench_of("channel 3x5")
    conv = Convolution(1, 10, 9, (12, 12), Window((3, 3), (1, 1), (1, 1, 1, 1)))
    job = make_job(bench.hw, conv, phase, Tiling(2, 1, 1, 12))
    outcome = check(bench, job, Behaviour())
    cycles = compute_cycles(bench.hw, job.nest, job.tiling)
    assert outcome.steps == 144 * 9 * (4 * 2 if phase == "input_grad" else 3 * 2)  # pixels, taps, groups of m and n
    assert cycles <= outcome.cycles <= cycles + 1400  # the first load and the last store


@pytest.mark.parametrize("name", ["channel 3x5", "all of them"])
def test_cycles_are_predicted(bench_of: BenchFactory, name: str) -> None:
    """To the cycle, with a memory that moves a beat a cycle after any latency."""
    bench, rng = bench_of(name), np.random.default_rng(5)
    simulated, predicted = [], []
    for conv in LAYERS.values():
        for phase in PHASES:
            job = make_job(bench.hw, conv, phase)
            job = make_job(bench.hw, conv, phase, other_tiling(job, bench, rng))
            latency = int(rng.integers(0, 12))
            simulated.append(check(bench, job, Behaviour(latency=latency)).cycles)
            predicted.append(command_cycles(bench.hw, job.nest, job.tiling, latency))
    assert predicted == simulated


def test_one_wrong_byte_is_noticed(bench_of: BenchFactory) -> None:
    bench = bench_of("channel 3x5")
    job = make_job(bench.hw, LAYERS["3x3"], "forward")
    job.memory[0] ^= 0x55
    with pytest.raises(AssertionError, match="wrong of"):
        check(bench, job, Behaviour())


def test_no_warnings_in_any_setting(tmp_path: Path) -> None:
    for hw in SETTINGS.values():
        verilate("conv_engine", hw.verilog(), ["--lint-only", "-Wall", *engine_options()], tmp_path)


@pytest.mark.parametrize("name", ["one lane", "channel 24x8", "feature map 3x4", "all of them"])
def test_slang_finds_nothing_to_say(name: str, tmp_path: Path) -> None:
    values = [f"-G{parameter}={value}" for parameter, value in SETTINGS[name].verilog().items()]
    sources = [str(path) for path in (*sorted(ENGINE.glob("*.sv")), *sorted(LIBRARY.glob("*.sv")))]
    assert slang_messages(tmp_path, "conv_engine", ["-Wextra", *values, *sources]) == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"OperandWidth": 4}, {"AccWidth": 31}, {"UB": 0}, {"UM": 0}, {"ChannelBlock": 3}, {"ChannelBlock": 0},
        {"SumDepth": 1}, {"FeatureDepth": 40000}, {"DataWidth": 48}, {"AddrWidth": 8},
        {"UC": 257, "UM": 1, "UN": 1, "ChannelBlock": 1}, {"UN": 257, "UM": 1, "ChannelBlock": 1},
    ],
    ids=str,
)  # fmt: skip
def test_illegal_parameters_stop_elaboration(wrong: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        verilate("conv_engine", wrong, ["--lint-only", *engine_options()], tmp_path)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"um": 0}, "um"), ({"operand_bits": 12}, "operand_bits"), ({"channel_block": 3}, "channel_block"),
        ({"un": 512}, "un"), ({"ur": 32, "uc": 9}, "ur"), ({"sum_depth": 1}, "sum_depth"),
        ({"data_bits": 48}, "data_bits"),
    ],
    ids=str,
)  # fmt: skip
def test_illegal_parameters_are_refused_by_the_host_too(wrong: dict[str, int], named: str) -> None:
    with pytest.raises(InputError, match=named):
        EngineParameters(**wrong)


def test_what_the_engine_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="dilation"):
        Convolution(1, 2, 2, (8, 8), Window((3, 3), dilation=(2, 2)))
    with pytest.raises(InputError, match="feature_depth"):
        make_job(EngineParameters(feature_depth=8), LAYERS["7x7"], "forward")
    with pytest.raises(InputError, match="sum_depth"):
        make_job(EngineParameters(sum_depth=8), LAYERS["7x7"], "weight_grad")


def test_the_words_of_a_command_are_the_rtls() -> None:
    text = (ENGINE / "engine_command.sv").read_text()
    found = re.findall(r"command_o\.([\w.\[\]]+) *= .*word\[(\d+)\]", text)
    assert [name for name, _ in found] == list(COMMAND_FIELDS)
    assert [int(word) for _, word in found] == list(range(len(COMMAND_FIELDS)))


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_images_give_their_tensors_back(data: st.DataObject) -> None:
    conv = data.draw(st.sampled_from(sorted(LAYERS)).map(LAYERS.__getitem__))
    hw = data.draw(st.sampled_from(sorted(SETTINGS)).map(SETTINGS.__getitem__))
    raw = data.draw(st.booleans())
    rng = np.random.default_rng(0)
    for layout, shape in (
        (EngineLayout.features(hw, conv, False, raw), (conv.batch, conv.n, *conv.size)),
        (EngineLayout.features(hw, conv, True, raw), (conv.batch, conv.m, *conv.out_size)),
        (EngineLayout.weights(hw, conv, raw), (conv.m, conv.group_n, *conv.window.kernel)),
    ):
        tensor = rng.integers(-100, 100, shape)
        image = layout.pack(tensor)
        assert len(image) == layout.size_bytes
        assert len(image) % hw.beat_bytes == 0
        np.testing.assert_array_equal(layout.unpack(image), tensor)


def test_phases_of_a_layer_have_the_macs_that_it_has() -> None:
    """With one lane, steps are multiplications, but for padding and zeros off the diagonal of grouped weights."""
    hw = SETTINGS["one lane"]
    for name in ("1x1", "3x3 unpadded", "fc wide"):
        conv = LAYERS[name]
        for phase in ("forward", "weight_grad"):
            nest = phase_nest(conv, phase, 1)
            tiles = Tiling(1, 1, 1, nest.row.extent)
            starts = conv.m * conv.n * conv.batch
            assert compute_cycles(hw, nest, tiles) == conv.macs + starts
