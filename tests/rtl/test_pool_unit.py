"""The pool unit against the golden model, byte for byte in memory, under stalls, aborts and back to back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dse.errors import InputError
from dse.golden.convolution import Window
from dse.vector import POOL_FIELDS, Pooling, PoolParameters, pool_cycles, pool_words
from dse.verify.lint import slang_messages
from dse.verify.toolchain import ToolError, verilate
from tests.rtl.pool_bench import (
    MODES,
    POOL_LAYERS,
    VECTOR,
    PoolLayer,
    check,
    golden,
    make_pool_job,
    operands,
    pool_bench,
    pool_layer,
    pool_options,
)
from tests.rtl.pool_synthesis import faults, synthesise
from tests.rtl.rtl_model import LIBRARY
from tests.rtl.unit_bench import Behaviour, UnitBench

SETTINGS = {
    "8 channels": PoolParameters(1, 8, 8, 64, 16),
    "4 samples int16": PoolParameters(4, 1, 16, 512, 16),
    "3 samples 5 channels": PoolParameters(3, 5, 8, 512, 16),
    "2 samples 8 channels, wide beats": PoolParameters(2, 8, 16, 128, 16, 128),
}
BenchFactory = Callable[[str], UnitBench]
STALLED = Behaviour(stall=0.3, latency=7, limit=200_000)


@pytest.fixture(scope="session")
def pool_bench_of(rtl_cache: Path, rtl_runtime: Path) -> BenchFactory:
    benches: dict[str, UnitBench] = {}

    def build(name: str) -> UnitBench:
        if name not in benches:
            benches[name] = pool_bench(SETTINGS[name], rtl_cache, rtl_runtime)
        return benches[name]

    return build


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SETTINGS)
def test_every_layer_is_bit_exact_with_and_without_stalls(pool_bench_of: BenchFactory, name: str, mode: str) -> None:
    bench, rng = pool_bench_of(name), np.random.default_rng(len(name))
    for number, layer in enumerate(POOL_LAYERS.values()):
        job = make_pool_job(layer, mode, SETTINGS[name], number)
        before = job.memory.copy()
        check(bench, job, Behaviour(0.3, int(rng.integers(0, 12)), number, 200_000))
        job.memory[:] = before
        latency = int(rng.integers(0, 40))
        record = check(bench, job, Behaviour(latency=latency, limit=50_000))
        assert record.ended - record.taken == pool_cycles(SETTINGS[name], job.command, latency), layer


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_window_on_any_map(pool_bench_of: BenchFactory, data: st.DataObject) -> None:
    """Bit-exact under stalls, and as predicted without; a full queue over a full ring may cost a few cycles more."""
    name = data.draw(st.sampled_from(sorted(SETTINGS)))
    kernel, stride = (data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5))) for _ in range(2))
    size = data.draw(st.tuples(st.integers(1, 16), st.integers(1, 8)))
    padding = tuple(data.draw(st.integers(0, kernel[side % 2] - 1)) for side in range(4))
    assume(all(extent + padding[i] + padding[i + 2] >= kernel[i] for i, extent in enumerate(size)))
    layer = pool_layer(data.draw(st.integers(1, 3)), data.draw(st.integers(1, 17)), size, kernel, stride, padding)
    mode = data.draw(st.sampled_from(MODES))
    job = make_pool_job(layer, mode, SETTINGS[name], data.draw(st.integers(0, 1000)))
    before = job.memory.copy()
    check(pool_bench_of(name), job, Behaviour(data.draw(st.floats(0, 0.5)), data.draw(st.integers(0, 20)), 3, 100_000))
    job.memory[:] = before
    record = check(pool_bench_of(name), job, Behaviour(limit=50_000))
    simulated = record.ended - record.taken
    assert abs(simulated - pool_cycles(SETTINGS[name], job.command)) <= 4 + 0.005 * simulated


def test_many_maps_are_timed_on_the_first(pool_bench_of: BenchFactory) -> None:
    """Within 0.1 % where the rest is extended; a beat or a tap a cycle but for the first rows and the last."""
    hw, layer = SETTINGS["8 channels"], pool_layer(5, 200, (8, 8), (2, 2), (2, 2))
    for mode, cells in zip(MODES, (64, 64, 64, 64, 256), strict=True):
        record = check(pool_bench_of("8 channels"), job := make_pool_job(layer, mode, hw), Behaviour())
        simulated = record.ended - record.taken
        assert abs(simulated - pool_cycles(hw, job.command)) <= 0.001 * simulated
        assert simulated <= 125 * cells + 60


def test_commands_follow_each_other(pool_bench_of: BenchFactory) -> None:
    """Every mode of several layers in one memory, the next command waiting while one runs."""
    bench, hw, jobs, base = pool_bench_of("8 channels"), SETTINGS["8 channels"], [], 0
    for name in ("2x2 odd", "3x3 stride 2 padded", "1x4", "global"):
        for mode in MODES:
            jobs.append(make_pool_job(POOL_LAYERS[name], mode, hw, base, base))
            base = len(jobs[-1].memory)
    memory, want = np.zeros(base, np.uint8), np.zeros(base, np.uint8)
    for job, start in zip(jobs, [0, *(len(job.memory) for job in jobs)], strict=False):
        memory[start : len(job.memory)], want[start : len(job.memory)] = job.memory[start:], job.want[start:]
    outcome, records = bench.run([job.words for job in jobs], memory, STALLED)
    assert (outcome.done, outcome.faults) == (len(jobs), (0, 0, 0, 0))
    assert [record.scale for record in records] == [job.scale for job in jobs]
    assert all(before.ended <= after.taken for before, after in pairwise(records))
    np.testing.assert_array_equal(memory, want)


@pytest.mark.parametrize("hard_reset", [False, True], ids=["clear_i", "rst_ni"])
def test_a_clean_run_follows_an_abort_at_any_time(pool_bench_of: BenchFactory, hard_reset: bool) -> None:
    bench, hw = pool_bench_of("8 channels"), SETTINGS["8 channels"]
    for number, mode in enumerate(MODES * 5):
        job = make_pool_job(POOL_LAYERS["3x3 stride 2 padded"], mode, hw, number)
        clean = job.memory.copy()
        abort = Behaviour(0.2, 3, number, 200_000, abort_at=3 + 6 * number, hard_reset=hard_reset)
        outcome, _ = bench.run([job.words], job.memory, abort)
        assert outcome.done == 0
        job.memory[:] = clean
        check(bench, job, STALLED)


@pytest.mark.parametrize(("name", "kernel"), [("3 samples 5 channels", (16, 16)), ("4 samples int16", (17, 16))])
def test_indexes_have_all_bits_of_an_element(pool_bench_of: BenchFactory, name: str, kernel: tuple[int, int]) -> None:
    layer = replace(pool_layer(2, 4, (18, 18), kernel, (1, 1), (2, 1, 0, 3)), rising=True)
    for mode in ("max_index", "max_grad"):
        check(pool_bench_of(name), make_pool_job(layer, mode, SETTINGS[name]), STALLED)
    drawn = operands(layer, "max_index", SETTINGS[name], np.random.default_rng(0))
    assert golden(layer, "max_index", drawn, 8)[1].max() == kernel[0] * kernel[1] - 1


def test_one_wrong_byte_is_noticed(pool_bench_of: BenchFactory) -> None:
    job = make_pool_job(POOL_LAYERS["2x2"], "average", SETTINGS["8 channels"])
    job.memory[0] ^= 0x55
    with pytest.raises(AssertionError, match="wrong bytes"):
        check(pool_bench_of("8 channels"), job, Behaviour())


@pytest.mark.parametrize(
    ("layer", "mode"),
    [
        (pool_layer(1, 2, (3, 65), (1, 2), (1, 2)), "average"),
        (pool_layer(1, 2, (9, 13), (5, 2), (1, 2)), "max"),
        (pool_layer(1, 2, (12, 13), (6, 2), (1, 1)), "max_grad"),
        (pool_layer(1, 2, (2, 17), (1, 1), (1, 1)), "max_index"),
    ],
    ids=["row", "window", "covering windows", "indexes"],
)
def test_what_does_not_fit_is_an_error_on_both_sides(pool_bench_of: BenchFactory, layer: PoolLayer, mode: str) -> None:
    bench, small = pool_bench_of("8 channels"), SETTINGS["8 channels"]
    roomy = PoolParameters(1, 8, 8, 32768, 256)
    job = make_pool_job(layer, mode, roomy)
    with pytest.raises(InputError, match="is too small"):
        pool_words(small, job.command)
    outcome, _ = bench.run([job.words], job.memory, Behaviour(limit=20_000))
    assert (outcome.error, outcome.done) == (1, 0)
    refused, _ = bench.run([job.words], job.memory, Behaviour(limit=500))
    assert (refused.error, refused.done) == (1, 0)
    bench.clear()
    check(bench, make_pool_job(POOL_LAYERS["2x2"], mode, small), STALLED)


def test_fields_are_those_of_the_rtl() -> None:
    text = (VECTOR / "pool_pkg.sv").read_text()
    order = re.findall(r"c\.([\w.]+)\s*= (?:mode_e'\()?word\[(\d+)\]", text)
    names = {int(word): name for name, word in order if name != "col.tap_stride"}
    assert [names[word] for word in range(len(names))] == list(POOL_FIELDS)
    assert f"PoolWords  = {len(POOL_FIELDS)};" in text


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"window": Window((2, 2), (2, 2), (2, 0, 0, 0))}, "pads by less"),
        ({"window": Window((2, 2), dilation=(2, 2))}, "no dilation"),
        ({"window": Window((9, 2))}, "larger than the padded map"),
        ({"kind": "median"}, "no such kind"),
        ({"y": 4}, "not at a beat"),
        ({"window": Window((17, 16)), "shape": (1, 1, 20, 20), "index": 0}, "too many elements"),
        ({"window": Window((2, 2), (2, 2)), "shape": (1, 1, 40_000, 2)}, "beyond 16 bits"),
    ],
    ids=lambda value: str(value),
)
def test_what_the_unit_cannot_do_is_refused(wrong: dict[str, Any], rule: str) -> None:
    asked: dict[str, Any] = {"kind": "max", "window": Window((2, 2), (2, 2)), "shape": (1, 3, 8, 8)} | wrong
    with pytest.raises(InputError, match=rule):
        pool_words(PoolParameters(depth=32768), Pooling(**asked))


def test_lanes_are_dsp_blocks_and_ring_and_queues_block_ram() -> None:
    hw = PoolParameters(channel_block=2)
    cells = synthesise(hw, "xc7", logic=False)
    assert not faults(hw, cells)
    assert len(faults(hw, {"$dlatch": 1, "DSP48E1": 3, "RAMB36E1": 1})) == 3


def test_no_warnings_in_any_setting(tmp_path: Path) -> None:
    for hw in (*SETTINGS.values(), PoolParameters(1, 1, 8, 4, 4, 32)):
        verilate("pool_unit", hw.verilog(), ["--lint-only", "-Wall", *pool_options()], tmp_path)


@pytest.mark.parametrize("name", ["8 channels", "2 samples 8 channels, wide beats"])
def test_slang_finds_nothing_to_say(name: str, tmp_path: Path) -> None:
    values = [f"-G{parameter}={value}" for parameter, value in SETTINGS[name].verilog().items()]
    sources = [str(path) for path in (*sorted(VECTOR.glob("pool_*.sv")), *sorted(LIBRARY.glob("*.sv")))]
    assert slang_messages(tmp_path, "pool_unit", ["-Wextra", *values, *sources]) == ""


@pytest.mark.parametrize(
    "wrong",
    [{"OperandWidth": 4}, {"UB": 0}, {"ChannelBlock": 0}, {"Depth": 48}, {"RowDepth": 2}, {"DataWidth": 96},
     {"AddrWidth": 8}],
    ids=str,
)  # fmt: skip
def test_illegal_parameters_stop_elaboration(wrong: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="pool_unit: "):
        verilate("pool_unit", wrong, ["--lint-only", *pool_options()], tmp_path)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [({"ub": 0}, "ub"), ({"operand_bits": 12}, "operand_bits"), ({"depth": 48}, "depth"), ({"row_depth": 2}, "row_d"),
     ({"data_bits": 2048}, "data_bits")],
    ids=str,
)  # fmt: skip
def test_illegal_parameters_are_refused_by_the_host_too(wrong: dict[str, int], named: str) -> None:
    with pytest.raises(InputError, match=named):
        PoolParameters(**wrong)
