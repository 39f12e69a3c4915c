"""The scalar part of batch normalisation in RTL: any sums that maps can have, up to the most elements a channel."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dse.golden.rounding import divide
from tests.rtl.conftest import ModelFactory
from tests.rtl.rtl_model import RtlModel, Words

MOST = (1 << 24) - 1
"""Elements of a channel."""
COUNTS = st.one_of(st.sampled_from([1, 2, 3, MOST - 1, MOST]), st.integers(1, MOST))
WHOLE = 1 << 20
SHARES = st.one_of(st.sampled_from([0, WHOLE]), st.integers(0, WHOLE))
"""Of the way from the least to the largest value, in 2^-20."""
Channel = dict[str, int]


def _rounded(numerator: int, count: int) -> int:
    return int(divide(np.array(numerator, object), count))


def _between(least: int, most: int, share: int) -> int:
    return least + (most - least) * share // WHOLE


def _forward(bits: int, count: int, first: int, second: int) -> tuple[Channel, Channel]:
    """Sums of ``count`` elements and of their squares, and the statistics by the golden formulas."""
    end = 1 << bits - 1
    total = _between(-count * end, count * (end - 1), first)
    squares = _between(-(-total * total // count), count * end * end, second)
    deviation = max(math.isqrt(count * squares - total * total), count)
    want = {"mean": _rounded(total << 8, count), "inverse": (count << bits + 8) // deviation}
    return {"sum_i": total, "square_i": squares, "inverse_i": 0, "gain_i": 0}, want


def _backward(bits: int, count: int, first: int, second: int) -> tuple[Channel, Channel]:
    """Gradients of ``count`` elements, and what the errors need, by the golden formulas."""
    end = 1 << bits - 1
    total = _between(-count * end, count * (end - 1), first)
    products = _between(-count * end * (end - 1), count * end * (end - 1), second)
    inverse, gain = _between(0, 1 << bits + 8, WHOLE - first), _between(-end, end - 1, second)
    want = {
        "mean": _rounded(total << 8, count),
        "gain": _rounded(products << 8, count),
        "scale": (gain * inverse + (1 << bits - 1)) >> bits,
    }
    return {"sum_i": total, "square_i": products, "inverse_i": inverse, "gain_i": gain}, want


def _run(model: RtlModel, bits: int, count: int, backward: bool, channels: list[Channel]) -> list[Channel]:
    """The results of channels, of which the next enters as soon as it may."""
    inputs = {"sum_i": 24 + bits, "square_i": 23 + 2 * bits, "inverse_i": bits + 9, "gain_i": bits}
    signed = {"mean": bits + 8, "gain": 2 * bits + 7, "scale": bits + 8}
    period = max(23 + bits, 2 * bits + 7) + 1
    cycles = period * (len(channels) + 3)
    starts = [cycle % period == 0 and cycle // period < len(channels) for cycle in range(cycles)]
    values = [channels[cycle // period if start else 0] for cycle, start in enumerate(starts)]
    ports = {
        name: _words([value[name] % (1 << width) for value in values], width) for name, width in inputs.items()
    }  # only what is there at the start counts
    same = {"count_i": np.full(cycles, count), "backward_i": np.full(cycles, int(backward))}
    out = model.run(ports | same | {"start_i": np.array(starts, np.uint32)}, before_edge=True)
    assert all(out["ready_o"][np.array(starts)])
    results = []
    for cycle in np.flatnonzero(out["done_o"]):
        read = {
            name.removesuffix("_o"): int.from_bytes(words[cycle].tobytes(), "little") for name, words in out.items()
        }
        top = {name: 1 << width - 1 for name, width in signed.items()}
        results.append(read | {name: (read[name] ^ top[name]) - top[name] for name in signed})
    return results


def _words(values: list[int], width: int) -> Words:
    count = -(-width // 32)
    return np.frombuffer(b"".join(value.to_bytes(4 * count, "little") for value in values), "<u4").reshape(-1, count)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=COUNTS, shares=st.lists(st.tuples(SHARES, SHARES), min_size=1, max_size=4))
def test_statistics_are_those_of_the_golden_formulas(
    build_model: ModelFactory, bits: int, backward: bool, count: int, shares: list[tuple[int, int]]
) -> None:
    model = build_model("channel_statistics", OperandWidth=bits)
    drawn = [(_backward if backward else _forward)(bits, count, *share) for share in shares]
    results = _run(model, bits, count, backward, [channel for channel, _ in drawn])
    assert [{name: result[name] for name in want} for result, (_, want) in zip(results, drawn, strict=True)] == [
        want for _, want in drawn
    ]
