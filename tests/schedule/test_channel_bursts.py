"""The channel unit behind DMA engines: planes of few beats and vectors wait where bursts do not cover the latency."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.layout.rows import RowImage
from dse.schedule.engine_cycles import BURSTS
from dse.vector import CHANNEL_KINDS, ChannelOperation, channel_cycles
from dse.vector.channel_timing import READS, ROWS
from dse.vector.channel_waits import _covered, _Waiting


@st.composite
def operations(draw: st.DrawFn) -> ChannelOperation:
    """Any operation on maps of any layout, in DRAM wherever."""
    kind, element = draw(st.sampled_from(CHANNEL_KINDS)), draw(st.sampled_from([1, 2]))
    beat = 4 * element * draw(st.sampled_from([1, 2, 8]))
    shape = tuple(draw(st.integers(1, most)) for most in (9, 20, 6, 9))
    block = draw(st.sampled_from([1, 2, 3, 4])), draw(st.sampled_from([1, 2, 3, 8, 16]))
    image = RowImage.maps((shape[0], shape[1], shape[2], shape[3]), block, element, beat)
    bases = [beat * draw(st.integers(0, 2000)) for _ in range(3)]
    return ChannelOperation(
        kind, image, bases[0], bases[1], None if kind == "norm_backward" and draw(st.booleans()) else bases[2],
        tuple(bases[: READS[kind]]), tuple(bases[: ROWS[kind]]), wide=kind == "bias" and draw(st.booleans()),
    )  # fmt: skip


def stepwise(command: ChannelOperation, latency: int, bursts: int) -> int:
    """All channel blocks, step by step."""
    return _Waiting(command, latency, bursts, command.image.blocked.extents[1]).run()


@settings(max_examples=100, deadline=None)
@given(command=operations(), latency=st.integers(1, 100))
def test_steps_take_as_long_as_passes_where_nothing_waits(command: ChannelOperation, latency: int) -> None:
    free = channel_cycles(command, latency)
    assert stepwise(command, latency, 4096) == free
    limited = stepwise(command, latency, BURSTS)
    assert limited >= free
    if _covered(command, latency, BURSTS):
        assert limited == free


@pytest.mark.parametrize("latency", [40, 60, 200])
def test_planes_of_one_beat_take_their_share_of_the_latency(latency: int) -> None:
    """A bias of 1 x 1 maps in blocks of one channel and sample: every plane is a burst, read and written."""
    image = RowImage.maps((4, 64, 1, 1), (1, 1), 1, 8)
    command = ChannelOperation("bias", image, 0, 0, 1 << 16, (1 << 20,))
    rounds = 4 * 64 // BURSTS
    taken = channel_cycles(command, latency, BURSTS)
    assert (rounds - 1) * latency <= taken <= (rounds + 2) * (latency + 8)
    assert channel_cycles(command, latency) < taken / 2


@pytest.mark.parametrize("kind", CHANNEL_KINDS)
def test_many_blocks_are_extended_at_the_pace_of_the_first(kind: str) -> None:
    image = RowImage.maps((2, 6000, 3, 3), (1, 1), 1, 8)
    command = ChannelOperation(kind, image, 0, 1 << 20, 1 << 21, (1 << 22,) * READS[kind], (1 << 23,) * ROWS[kind])
    extended, followed = channel_cycles(command, 300, BURSTS), stepwise(command, 300, BURSTS)
    assert followed > channel_cycles(command, 300)
    assert abs(extended / followed - 1) < 0.005
