"""Queues of valid/ready streams: every word once, in order, no word lost to a stall, a word every cycle."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tests.rtl.rtl_model import RtlModel, pack, unpack

CYCLES = 4000
Flags = npt.NDArray[np.bool_]
BLOCKS = [
    ("skid_buffer", {"Width": 1}, 2, 1),
    ("skid_buffer", {"Width": 33}, 2, 1),
    ("skid_buffer", {"Width": 128}, 2, 1),
    ("stream_fifo", {"Width": 8, "Depth": 2}, 3, 2),
    ("stream_fifo", {"Width": 65, "Depth": 8}, 9, 2),
    ("stream_fifo", {"Width": 32, "Depth": 64}, 65, 2),
]
"""Module, parameters, words it holds, latency in cycles."""


def drive(model: RtlModel, width: int, valid: Flags, ready: Flags, clear: Flags) -> tuple[list[int], list[int], Flags]:
    """Random words in; returns the words taken and those given, and when ready_o was high."""
    words = np.random.default_rng(width).integers(0, 1 << min(width, 62), (len(valid), 1))
    stimulus = {"valid_i": valid, "ready_i": ready, "clear_i": clear, "data_i": pack(words, width)}
    out = model.run(stimulus, before_edge=True)
    ready_o, valid_o = out["ready_o"][:, 0] != 0, out["valid_o"][:, 0] != 0
    given = unpack(out["data_o"][:, :2], min(width, 62), 1)[:, 0]
    return list(words[valid & ready_o, 0]), list(given[valid_o & ready]), ready_o


@pytest.mark.parametrize(("top", "parameters", "capacity", "latency"), BLOCKS)
@pytest.mark.parametrize(("offered", "taken"), [(0.5, 0.5), (0.9, 0.2), (0.2, 0.9)])
def test_words_leave_as_they_came(
    build_model: Callable[..., RtlModel],
    top: str,
    parameters: dict[str, int],
    capacity: int,
    latency: int,
    offered: float,
    taken: float,
) -> None:
    rng = np.random.default_rng(capacity)
    valid, ready = rng.random(CYCLES) < offered, rng.random(CYCLES) < taken
    valid[-capacity - 10 :], ready[-capacity - 10 :] = False, True
    words_in, words_out, _ = drive(
        build_model(top, **parameters), parameters["Width"], valid, ready, np.zeros(CYCLES, bool)
    )
    assert words_out == words_in
    assert len(words_in) > 0.7 * CYCLES * min(offered, taken)


@pytest.mark.parametrize(("top", "parameters", "capacity", "latency"), BLOCKS)
def test_no_cycle_is_lost_and_the_capacity_is_as_stated(
    build_model: Callable[..., RtlModel], top: str, parameters: dict[str, int], capacity: int, latency: int
) -> None:
    model = build_model(top, **parameters)
    ones, zeros = np.ones(200, bool), np.zeros(200, bool)
    words_in, words_out, ready_o = drive(model, parameters["Width"], ones, ones, zeros)
    assert ready_o.all()
    assert len(words_in) - len(words_out) == latency
    words_in, words_out, _ = drive(model, parameters["Width"], ones, zeros, zeros)
    assert (len(words_in), len(words_out)) == (capacity, 0)


@pytest.mark.parametrize(("top", "parameters", "capacity", "latency"), BLOCKS)
def test_clear_drops_what_is_held(
    build_model: Callable[..., RtlModel], top: str, parameters: dict[str, int], capacity: int, latency: int
) -> None:
    fill = capacity + 5
    valid, ready = np.ones(fill + 30, bool), np.zeros(fill + 30, bool)
    clear = np.arange(fill + 30) == fill
    valid[fill:], ready[fill + 1 :] = False, True
    words_in, words_out, _ = drive(build_model(top, **parameters), parameters["Width"], valid, ready, clear)
    assert (len(words_in), words_out) == (capacity, [])
