"""Where the weights of the stages on one node are kept: on chip, or in DRAM for how many frames a load.

From the least RAM up, the steps that save most DRAM traffic per bit of RAM are taken while there is room: the greedy
rule of a knapsack, which loses at most one step against the best choice of fractions.
"""

from __future__ import annotations

from collections.abc import Sequence

from dse.cluster.demand import DemandTable
from dse.cluster.storages import Storage

__all__ = ["kept_on_node", "kept_weights"]


def kept_on_node(options: Sequence[tuple[Storage, ...]], ram_bits: float) -> list[int] | None:
    """Number of the storage that each stage on a node of ``ram_bits`` gets; None where even the least has no room."""
    ways = [0 if len(o) == 1 else min(range(len(o)), key=lambda w, o=o: o[w].ram_bits) for o in options]  # type: ignore[misc]
    spare = ram_bits - sum(o[w].ram_bits for o, w in zip(options, ways, strict=True))
    if spare < 0:
        return None
    steps = []
    for number, (choices, least) in enumerate(zip(options, ways, strict=True)):
        base = choices[least]
        for way, option in enumerate(choices) if len(choices) > 1 else ():
            saved = base.dram_read_bits + base.dram_write_bits - option.dram_read_bits - option.dram_write_bits
            extra = option.ram_bits - base.ram_bits
            if saved > 0 and extra > 0:
                steps.append((saved / extra, saved, number, way, extra))
    taken: dict[int, tuple[float, float]] = {}
    for _, saved, number, way, extra in sorted(steps, reverse=True):
        before, paid = taken.get(number, (0.0, 0.0))
        if saved > before and extra - paid <= spare:
            spare -= extra - paid
            taken[number] = (saved, extra)
            ways[number] = way
    return ways


def kept_weights(table: DemandTable, node: Sequence[int]) -> tuple[int, ...]:
    """Number of the storage of every stage [L] on the nodes ``node`` [L]; the least RAM where there is no room."""
    storage = list(table.leanest)
    for number, one in enumerate(table.cluster.nodes):
        stages = [stage for stage, where in enumerate(node) if where == number]
        ways = kept_on_node([table.storages[stage] for stage in stages], one.ram_bits)
        for stage, way in zip(stages, ways or (), strict=False):
            storage[stage] = way
    return tuple(storage)
