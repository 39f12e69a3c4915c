"""Schedules of made-up networks: nothing is read before it was written, every parameter is updated once."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.engine import EngineParameters
from dse.network import Network, Shape
from dse.schedule import ALIGNMENT, SPACES, build_schedule, least_hardware
from dse.schedule.address_map import plain_map
from tests.schedule.dataflow import Access, recorded
from tests.schedule.made_networks import NETWORKS, Row, made_network, made_workload

ENGINES = (
    EngineParameters(ub=4, um=1, un=4, channel_block=1),
    EngineParameters(um=4, un=4, channel_block=4),
    EngineParameters(ub=2, um=3, un=6, ur=2, channel_block=3, operand_bits=16),
)
PARAMETERS = ("weight", "bias")


def _window(draw: st.DrawFn, name: str, op: str, shape: Shape) -> tuple[Row, Shape]:
    c, h, w = shape
    if op == "conv":
        kernel, stride, groups = draw(st.sampled_from([1, 3])), draw(st.sampled_from([1, 2])), draw(st.booleans())
        channels = c * draw(st.integers(1, 2)) if groups else draw(st.integers(1, 5))
        more: dict[str, Any] = {"out_channels": channels, "groups": c if groups else 1, "bias": draw(st.booleans())}
        padding = kernel // 2
    else:
        kernel, stride, padding, channels = draw(st.integers(1, min(h, w, 3))), draw(st.integers(1, 3)), 0, c
        more = {}
    size = [(extent + 2 * padding - kernel) // stride + 1 for extent in (h, w)]
    given_ = {"kernel": kernel, "stride": stride, "padding": padding, **more}
    return (name, op, given_), (channels, size[0], size[1])


def _block(draw: st.DrawFn, number: int, source: str, shape: Shape) -> list[Row]:
    """A residual block: a path beside ``source``, and their sum."""
    conv = {"out_channels": shape[0], "kernel": 3, "padding": 1, "inputs": (source,), "bias": draw(st.booleans())}
    rows: list[Row] = [(f"path{number}", "conv", conv)]
    rows += [(f"of_path{number}", op, {}) for op in draw(st.sampled_from([[], ["batch_norm"], ["relu"]]))]
    sides = [rows[-1][0], source]
    rows.append((f"join{number}", "add", {"inputs": tuple(sides if draw(st.booleans()) else sides[::-1])}))
    return rows


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Chains and residual blocks of every operation."""
    shape = start = draw(st.tuples(st.integers(1, 3), st.integers(3, 8), st.integers(3, 8)))
    rows: list[Row] = []
    for number in range(draw(st.integers(1, 7))):
        op = draw(st.sampled_from(["conv", "relu", "bias", "batch_norm", "max_pool", "avg_pool", "block"]))
        name = f"{op}{number}"
        if op == "block":
            rows += _block(draw, number, rows[-1][0] if rows else "input", shape)
        elif op in ("conv", "max_pool", "avg_pool"):
            row, shape = _window(draw, name, op, shape)
            rows.append(row)
        else:
            rows.append((name, op, {}))
    rows.append(("fc", "fc", {"out_channels": draw(st.integers(2, 4)), "bias": draw(st.booleans())}))
    rows.append(("loss", draw(st.sampled_from(["sum_square_error", "softmax_cross_entropy"])), {}))
    return made_network(start, *rows)


def check_slots(work_slots: dict[tuple[str, str], int | None], accesses: list[Access]) -> None:
    """Slots that a rule reads were written, and belong to what the step reads."""
    known: set[int] = set()
    for access in accesses:
        rule = access.step.rule
        needs_a = rule.shift != "zero" or rule.start != "zero"
        needs_b = rule.shift == "align" or rule.start == "max"
        assert not needs_a or rule.a is not None, access
        assert not needs_b or rule.b is not None, access
        read = {work_slots[key] for key in access.reads}
        for slot in (rule.a, rule.b):
            assert slot is None or (slot in known and slot in read), access
        here = read | {work_slots[key] for key in access.writes}
        for slot in (rule.o, rule.weight, rule.bias):
            assert slot is None or slot in here, access
            known |= set() if slot is None else {slot}


def check_order(network: Network, accesses: list[Access]) -> None:
    """Reads follow writes; only parameters and the wide error's room are written more than once, or read before."""
    parameters = {(kind, name) for access in accesses for kind, name in access.reads if kind in PARAMETERS}
    known = {("activation", "input")} | {key for access in accesses for key in access.reads if key[0] == "target"}
    updated: Counter[tuple[str, str]] = Counter()
    for access in accesses:
        for key in access.reads:
            assert key in known or key in parameters, access
            assert key not in updated, f"{key} is read after its update: {access}"
        for key in access.writes:
            if key in parameters:
                updated[key] += 1
            assert key not in known or key == ("wide", "scratch"), f"{key} is written twice: {access}"
        known |= set(access.writes) - parameters
    trained = {layer.name for layer in network.layers if layer.parameters}
    assert {name for _, name in parameters} == trained
    assert updated == dict.fromkeys(parameters, 1)
    biased = {layer.name for layer in network.layers if layer.bias or layer.op in ("bias", "batch_norm")}
    assert {name for kind, name in parameters if kind == "bias"} == biased


def check_wide(accesses: list[Access]) -> None:
    """What is written into the one room for wide errors is read before the next is."""
    key, waiting = ("wide", "scratch"), False
    for access in accesses:
        if key in access.reads:
            waiting = False
        if key in access.writes:
            assert not waiting, access
            waiting = True
    assert not waiting


@settings(max_examples=200, deadline=None)
@given(network=networks(), engine=st.sampled_from(ENGINES), batch_size=st.integers(1, 5))
def test_a_schedule_reads_what_was_written_and_updates_every_parameter_once(
    network: Network, engine: EngineParameters, batch_size: int
) -> None:
    work, accesses = recorded(made_workload(network, batch_size, engine.operand_bits), least_hardware(network, engine))
    check_order(network, accesses)
    check_wide(accesses)
    check_slots({(tensor.kind, tensor.name): tensor.slot for tensor in work.tensors}, accesses)
    for space in SPACES:
        regions = sorted((t.base, t.size_bytes) for t in work.tensors if t.space == space)
        assert all(base % ALIGNMENT == 0 and size > 0 for base, size in regions)
        assert all(base + size <= after for (base, size), (after, _) in pairwise(regions))
        assert sum(regions[-1:][0]) <= work.tensors.size_bytes(space) if regions else True


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_emitted_map_has_every_region_once(name: str, engine: EngineParameters) -> None:
    network = NETWORKS[name]
    schedule = build_schedule(made_workload(network, 3, engine.operand_bits), least_hardware(network, engine))
    found = plain_map(schedule.tensors)
    assert found["alignment_bytes"] == ALIGNMENT
    taken: dict[str, int] = dict.fromkeys(SPACES, 0)
    for region in found["regions"]:
        assert region["base"] == taken[region["space"]]  # in order of address, each at the next boundary
        taken[region["space"]] += -(-region["bytes"] // ALIGNMENT) * ALIGNMENT
    assert taken == found["bytes"]
    slots = [region["slot"] for region in found["regions"] if region["slot"] is not None]
    assert sorted(slots) == list(range(schedule.tensors.slots))
