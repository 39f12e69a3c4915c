"""Clusters that a network does not fit: what is missing, and changes that fit while the next smaller one does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from dse.cluster.demand import DemandTable
from dse.cluster.explain import STEPS, Explanation, explain
from dse.cluster.hardware import Node
from dse.cluster.planner import demand_table
from dse.cluster.search import SearchSettings, fastest_placement


def small(nodes: int, change: Callable[[Node], Node], network: str = "nada_demo") -> DemandTable:
    """A network on boards that are changed from NADA's."""
    _, whole = demand_table(network, "nada", nodes=nodes, reading="nada")
    return changed(whole, change)


def changed(table: DemandTable, change: Callable[[Node], Node]) -> DemandTable:
    nodes = tuple(change(node) for node in table.cluster.nodes)
    return replace(table, cluster=replace(table.cluster, nodes=nodes))


def fits(table: DemandTable) -> bool:
    """Whether a placement exists at all: found, or proven not to be there."""
    found = fastest_placement(table, SearchSettings(seconds=20, gap=1e9))
    assert found.placement is not None or found.bound_fps == 0, "undecided"
    return found.placement is not None


def step_of(why: Explanation, what: str) -> float:
    """By how much more of ``what`` on every node the explanation says that it fits."""
    text = next(text for text in why.changes if f"% more {what} on every node" in text)
    percent = re.match(r"(\d+) % more", text)
    assert percent is not None
    return min(STEPS, key=lambda step: abs(step - 1 - int(percent[1]) / 100))


def is_smallest(table: DemandTable, step: float, change: Callable[[float], Callable[[Node], Node]]) -> bool:
    """Whether it fits with that step and not with the one before."""
    before = [one for one in STEPS if one < step]
    return fits(changed(table, change(step))) and not (before and fits(changed(table, change(before[-1]))))


def test_boards_with_too_little_ram() -> None:
    table = small(2, lambda node: replace(node, ram_bits=3.0e6))
    why = explain(table)
    assert why.missing.startswith("on-chip RAM: ")
    need, have = (float(x) for x in re.findall(r"([\d.]+) Mb", why.missing))
    assert have == 6.0
    assert need == pytest.approx(sum(min(o.ram_bits for o in options) for options in table.storages) / 1e6, abs=0.06)
    step = step_of(why, "on-chip RAM")
    assert is_smallest(table, step, lambda s: lambda node: replace(node, ram_bits=node.ram_bits * s))


def test_boards_with_too_few_dsp_blocks() -> None:
    table = small(2, lambda node: replace(node, dsp=30.0))
    why = explain(table)
    assert "DSP blocks" in why.missing
    step = step_of(why, "DSP blocks")
    assert is_smallest(table, step, lambda s: lambda node: replace(node, dsp=node.dsp * s))
    assert not any("connection" in text for text in why.changes)


def test_boards_with_too_few_connections() -> None:
    """RAM and DSP blocks suffice on two boards, but a board may have one edge and a way there and back has two."""
    half = 0.62 * sum(min(o.ram_bits for o in options) for options in small(2, lambda node: node).storages)
    table = small(2, lambda node: replace(node, ram_bits=half, connections=1))
    why = explain(table)
    assert why.missing.startswith("a placement: every resource suffices in sum")
    text = next(text for text in why.changes if "connection" in text)
    more = int(text.split()[0])
    assert fits(changed(table, lambda node: replace(node, connections=1 + more)))
    fewer = {1: 0, 2: 1, 4: 2, 8: 4}[more]
    assert not fits(changed(table, lambda node: replace(node, connections=1 + fewer)))


def test_one_more_board_where_one_is_missing() -> None:
    table = small(1, lambda node: replace(node, ram_bits=3.0e6))
    why = explain(table)
    text = next(text for text in why.changes if "more node" in text)
    more = int(text.split()[0])
    last = table.cluster.nodes[-1]

    def with_nodes(count: int) -> DemandTable:
        extra = tuple(replace(last, name=f"extra{n}") for n in range(count))
        return replace(table, cluster=replace(table.cluster, nodes=(*table.cluster.nodes, *extra)))

    assert fits(with_nodes(more))
    assert more > 1
    assert not fits(with_nodes(more - 1))
