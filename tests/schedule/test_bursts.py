"""Writes of few beats wait for the responses to those before them: where bursts are cut, and what it costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.engine import Convolution, EngineParameters, Tiling, command_cycles, fit_tiling, phase_nest
from dse.golden.convolution import Window
from dse.schedule.engine_cycles import BURSTS, engine_cycles
from dse.vector import Pooling, PoolParameters, pool_cycles
from dse.vector.bursts import WriteBursts, burst_starts, covered, repeated

BEAT_BYTES = st.sampled_from([4, 8, 16, 32, 64, 128])


@given(beat_bytes=BEAT_BYTES, beat=st.integers(0, 5000), beats=st.integers(1, 2000))
def test_bursts_are_cut_at_pages_and_after_256_beats(beat_bytes: int, beat: int, beats: int) -> None:
    begins = burst_starts(beat * beat_bytes, beats, beat_bytes)
    ends = [*begins[1:], beats]
    assert begins[0] == 0
    for begin, end in zip(begins, ends, strict=True):
        assert 1 <= end - begin <= 256
        first, last = (beat + begin) * beat_bytes, (beat + end - 1) * beat_bytes
        assert first // 4096 == last // 4096
    assert len(begins) <= beats * beat_bytes // 4096 + beats // 256 + 2
    again = repeated(beats, beat_bytes) * beats
    assert burst_starts((beat + again) * beat_bytes, beats, beat_bytes) == begins


@settings(max_examples=50, deadline=None)
@given(beat_bytes=BEAT_BYTES, beat=st.integers(0, 300), beats=st.integers(1, 40), latency=st.integers(1, 200))
def test_what_covers_the_latency_never_waits(beat_bytes: int, beat: int, beats: int, latency: int) -> None:
    writes, cycle, waits = WriteBursts(BURSTS, latency), 0, 0
    for number in range(60):
        begins = burst_starts((beat + number * beats) * beat_bytes, beats, beat_bytes)
        for begin, end in zip(begins, [*begins[1:], beats], strict=True):
            waits += max(writes.begin - cycle, 0)
            cycle = max(writes.begin, cycle) + end - begin
            writes.end(cycle - 1)
    assert waits == 0 or not covered(BURSTS, beats, latency, beat_bytes)
    if beats * BURSTS + 1 < latency:
        assert waits > 0


def test_writes_of_one_beat_take_their_share_of_the_latency() -> None:
    """A gradient of 1 x 1 kernels on blocks of one channel, wide elements of one beat each: 8 of them a latency."""
    hw = EngineParameters(um=2, un=2, channel_block=1, data_bits=32)
    nest = phase_nest(Convolution(2, 24, 20, (1, 1), Window((1, 1))), "weight_grad", 1)
    tiling = fit_tiling(hw, nest)
    for latency in (40, 100, 400):
        taken = engine_cycles(hw, nest, tiling, latency, raw=True)
        rounds = 20 * 24 // BURSTS
        assert rounds * latency <= taken <= (rounds + 4) * (latency + 3)
    assert engine_cycles(hw, nest, tiling, 2, raw=True) == command_cycles(hw, nest, tiling, 2, True, BURSTS) - 1


def test_many_writes_are_extended_at_the_pace_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes of 3 beats, which boundaries cut now and then."""
    hw = EngineParameters(um=2, un=2, channel_block=1, data_bits=32, sum_depth=16384, operand_depth=2048)
    nest = phase_nest(Convolution(2, 4, 1000, (3, 1), Window((3, 1))), "weight_grad", 1)
    tiling = Tiling(500, 2, 2, 1)  # one tile
    extended = engine_cycles(hw, nest, tiling, 80, raw=True)
    monkeypatch.setattr("dse.schedule.engine_cycles.repeated", lambda beats, beat_bytes: 1 << 30)
    followed = engine_cycles(hw, nest, tiling, 80, raw=True)
    assert followed > 4000 // BURSTS * 80
    assert abs(extended / followed - 1) < 0.004


@settings(max_examples=40, deadline=None)
@given(maps=st.integers(1, 40), columns=st.integers(1, 6), latency=st.integers(1, 120))
def test_rows_with_indexes_wait_only_where_they_are_short(maps: int, columns: int, latency: int) -> None:
    hw = PoolParameters(4, 1, 8, 64, 16, 32)
    command = Pooling("max", Window((2, 2), (2, 2)), (4, maps, 6, 2 * columns), y=0, index=1 << 20)
    free, limited = (pool_cycles(hw, command, latency, bursts) for bursts in (0, BURSTS))
    assert limited >= free
    if covered(BURSTS, columns, latency, hw.beat_bytes):
        assert limited == free
    writes = 2 * 3 * maps
    assert limited >= (writes - 1) // BURSTS * latency
