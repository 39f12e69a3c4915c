"""Read and write DMA against the DRAM model, whose protocol checks fail a test by themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from dse.verify.dram import CHANNELS, DECERR, SLVERR, Dram
from tests.rtl.dma_bench import BASE, MEMORY_BYTES, DmaBench, Outcome, build_bench
from tests.rtl.rtl_model import LIBRARY

WIDTHS = (32, 64, 512)
Bytes = npt.NDArray[np.uint8]
Make = Callable[[str, int], DmaBench]


@pytest.fixture(scope="module")
def libraries() -> dict[tuple[str, int], Path]:
    return {}


@pytest.fixture
def make(libraries: dict[tuple[str, int], Path], rtl_cache: Path, rtl_runtime: Path) -> Iterator[Make]:
    open_benches: list[DmaBench] = []

    def bench(top: str, width: int) -> DmaBench:
        key = (top, width)
        if key not in libraries:
            libraries[key] = build_bench(top, width, rtl_cache, rtl_runtime)
        made = DmaBench(libraries[key], width)
        made.memory[:] = np.random.default_rng(width).integers(0, 256, MEMORY_BYTES)
        open_benches.append(made)
        return made

    yield bench
    for made in open_benches:
        made.close()


def random_commands(rng: np.random.Generator, bench: DmaBench, count: int, most: int) -> list[tuple[int, int]]:
    """Anywhere in memory, most of them short, some up to `most` beats."""
    size = MEMORY_BYTES // bench.beat_bytes
    beats = np.minimum(np.where(rng.random(count) < 0.6, rng.integers(1, 9, count), rng.integers(1, most, count)), size)
    starts = [int(rng.integers(0, size - b + 1)) for b in beats]
    return [(bench.dram.base + s * bench.beat_bytes, int(b)) for s, b in zip(starts, beats, strict=True)]


def total(commands: list[tuple[int, int]]) -> int:
    return sum(beats for _, beats in commands)


def held(bench: DmaBench, commands: list[tuple[int, int]]) -> Bytes:
    """What the commands' addresses hold, one after the other."""
    offsets = [address - bench.dram.base for address, _ in commands]
    sizes = [beats * bench.beat_bytes for _, beats in commands]
    return np.concatenate([bench.memory[o : o + n] for o, n in zip(offsets, sizes, strict=True)])


def check_read(bench: DmaBench, commands: list[tuple[int, int]]) -> Outcome:
    data = np.zeros(total(commands) * bench.beat_bytes, np.uint8)
    outcome = bench.transfer(commands, data)
    assert (outcome.error, outcome.beats, outcome.lasts_wrong) == (0, total(commands), 0)
    np.testing.assert_array_equal(data, held(bench, commands))
    return outcome


def check_write(bench: DmaBench, commands: list[tuple[int, int]]) -> Outcome:
    data = np.random.default_rng(len(commands)).integers(0, 256, total(commands) * bench.beat_bytes, np.uint8)
    want, start = bench.memory.copy(), 0
    for address, beats in commands:
        offset, size = address - bench.dram.base, beats * bench.beat_bytes
        want[offset : offset + size] = data[start : start + size]
        start += size
    outcome = bench.transfer(commands, data)
    assert (outcome.error, outcome.beats, outcome.dones) == (0, total(commands), len(commands))
    np.testing.assert_array_equal(bench.memory, want)
    return outcome


CHECKS = {"dma_read": check_read, "dma_write": check_write}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("top", CHECKS)
def test_any_commands_under_any_stalls(make: Make, top: str, width: int) -> None:
    bench = make(top, width)
    rng = np.random.default_rng(width)
    for seed, stall in enumerate((0.0, 0.1, 0.4, 0.7), 1):
        dram = Dram(BASE, seed=seed, latency=int(rng.integers(1, 40)), stall=stall, max_pending=int(rng.integers(0, 4)))
        bench.behave(dram)
        CHECKS[top](bench, random_commands(rng, bench, 25, 700))


@pytest.mark.parametrize("channel", CHANNELS)
def test_one_channel_stalling_alone(make: Make, channel: str) -> None:
    top = "dma_read" if channel in ("ar", "r") else "dma_write"
    bench = make(top, 64)
    bench.behave(Dram(BASE, seed=7, latency=9, stall=0.7, stalled=(channel,)))
    CHECKS[top](bench, random_commands(np.random.default_rng(3), bench, 30, 300))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("top", CHECKS)
@pytest.mark.parametrize("beats", [1, 3, 17, 64, 400])
def test_back_to_back_commands_lose_no_cycle(make: Make, top: str, width: int, beats: int) -> None:
    bench = make(top, width)
    count = max(4, min(60, MEMORY_BYTES // bench.beat_bytes // beats))
    stride = beats * bench.beat_bytes
    commands = [(bench.dram.base + (i * stride) % (MEMORY_BYTES - stride), beats) for i in range(count)]
    commands = [(address // bench.beat_bytes * bench.beat_bytes, beats) for address, _ in commands]
    outcome = CHECKS[top](bench, commands)
    assert outcome.last_beat - outcome.first_beat + 1 == count * beats
    assert outcome.cycles - count * beats <= 6  # the pipeline's depth and the memory's latency of one cycle each way


def test_outstanding_reads_cover_the_latency(make: Make) -> None:
    bench = make("dma_read", 512)
    bench.behave(Dram(BASE, latency=200))
    outcome = check_read(bench, [(bench.dram.base, 1024)])  # 8 bursts of 64 beats under way
    assert outcome.cycles <= 1024 + 200 + 5


@pytest.mark.parametrize("top", CHECKS)
def test_bandwidth_of_the_memory_limits_the_rate(make: Make, top: str) -> None:
    bench = make(top, 64)
    bench.behave(Dram(BASE, bytes_per_kcycle=3000))  # 3 of 8 bytes a cycle
    outcome = CHECKS[top](bench, [(bench.dram.base, 3000)])
    assert outcome.cycles == pytest.approx(8000, abs=20)


@pytest.mark.parametrize("response", [SLVERR, DECERR])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("top", CHECKS)
def test_an_error_response_stops_and_clear_recovers(make: Make, top: str, width: int, response: int) -> None:
    bench = make(top, width)
    rng = np.random.default_rng(response)
    for seed in range(1, 6):
        first = bench.dram.base + int(rng.integers(MEMORY_BYTES // 4, MEMORY_BYTES // 2))
        stall = 0.0 if seed == 1 else 0.4
        bench.behave(Dram(BASE, seed=seed, latency=12, stall=stall, fault=(first, first + 1), fault_response=response))
        size = MEMORY_BYTES // bench.beat_bytes
        commands = [(bench.dram.base, size // 8), (bench.dram.base, min(size, 16000))]
        before = bench.memory.copy()
        data = np.full(total(commands) * bench.beat_bytes, seed, np.uint8)
        outcome = bench.transfer(commands, data)
        assert outcome.error == 1
        offset = first - bench.dram.base
        good = size // 8 + offset // bench.beat_bytes
        if top == "dma_read":  # exactly the beats before the fault were handed on
            assert outcome.beats == good
            np.testing.assert_array_equal(
                data[: good * bench.beat_bytes], held(bench, commands)[: good * bench.beat_bytes]
            )
        else:
            assert outcome.dones == 1
            beyond = offset // 4096 * 4096 + bench.beat_bytes * 256 * 10
            np.testing.assert_array_equal(bench.memory[beyond:], before[beyond:])
        if seed % 2:  # the bus comes to rest without clear_i too
            bench.settle()
        bench.clear()
        bench.settle()
        bench.behave(Dram(BASE, seed=seed, latency=5, stall=stall))
        CHECKS[top](bench, random_commands(rng, bench, 10, 100))


@pytest.mark.parametrize("stop", ["clear", "reset"])
@pytest.mark.parametrize("top", CHECKS)
def test_a_stop_at_any_time_is_followed_by_a_clean_run(make: Make, top: str, stop: str) -> None:
    bench = make(top, 64)
    rng = np.random.default_rng(5)
    for seed in range(1, 25):
        bench.behave(Dram(BASE, seed=seed, latency=int(rng.integers(1, 30)), stall=float(rng.choice([0, 0.3, 0.7]))))
        commands = random_commands(rng, bench, 20, 400)
        data = np.zeros(total(commands) * bench.beat_bytes, np.uint8)
        bench.transfer(commands, data, limit=int(rng.integers(1, 300)))
        getattr(bench, stop)()
        bench.settle()
        CHECKS[top](bench, random_commands(rng, bench, 5, 100))


@pytest.mark.parametrize("bad", [(4, 5), (0, 0)], ids=["misaligned", "empty"])
@pytest.mark.parametrize("top", CHECKS)
def test_a_bad_command_is_an_error_and_moves_nothing(make: Make, top: str, bad: tuple[int, int]) -> None:
    bench = make(top, 64)
    before = bench.memory.copy()
    outcome = bench.transfer([(bench.dram.base + bad[0], bad[1])], np.zeros(100, np.uint8), limit=100)
    assert (outcome.error, outcome.beats, outcome.dones) == (1, 0, 0)
    assert outcome.cycles < 10
    np.testing.assert_array_equal(bench.memory, before)
    bench.settle()
    bench.clear()
    CHECKS[top](bench, [(bench.dram.base, 20), (bench.dram.base + 4000, 30)])


def test_a_cleared_write_leaves_what_was_not_sent(make: Make) -> None:
    bench = make("dma_write", 64)
    before = bench.memory.copy()
    data = np.full(256 * 8, 0xA5, np.uint8)
    bench.transfer([(bench.dram.base, 256)], data, limit=40)
    bench.clear()
    bench.settle()
    changed = int((bench.memory[:2048] != before[:2048]).any() and np.argmin(bench.memory[:2048] == 0xA5))
    assert 0 < changed <= 40 * 8
    np.testing.assert_array_equal(bench.memory[changed:2048], before[changed:2048])


MISTAKES = [
    ("dma_read", "burst_split", "PageBeats < 256 ? PageBeats : 256", "256", "AR: crosses 4 KiB"),
    (
        "dma_read",
        "dma_read",
        "= arlen_q;",
        "= arlen_q & {8{!axi_rvalid_i}};",
        "AR: changed before it was taken",
    ),
    (
        "dma_write",
        "dma_write",
        "wlast_q   <= last_beat",
        "wlast_q   <= beat_q == 8'd3",
        "WLAST is not at the",
    ),
    ("dma_write", "dma_write", "= wdata_q;", "= data_i;", "W: changed before it was taken"),
]
"""Top, source, what it has, what a mistake would have, what the DRAM model says."""


@pytest.mark.parametrize(("top", "source", "right", "wrong", "message"), MISTAKES, ids=lambda value: str(value)[:20])
def test_the_memory_notices_breaches_of_the_protocol(
    tmp_path: Path, rtl_runtime: Path, top: str, source: str, right: str, wrong: str, message: str
) -> None:
    for path in LIBRARY.glob("*.sv"):
        text = path.read_text()
        assert path.stem != source or right in text
        (tmp_path / path.name).write_text(text.replace(right, wrong) if path.stem == source else text)
    bench = DmaBench(build_bench(top, 512, tmp_path / "build", rtl_runtime, tmp_path), 512)
    try:
        bench.behave(Dram(BASE, stall=0.5))
        with pytest.raises(AssertionError, match=message):
            CHECKS[top](bench, random_commands(np.random.default_rng(1), bench, 20, 300))
    finally:
        bench.close()
