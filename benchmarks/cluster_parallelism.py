"""Data, layer and model parallelism against each alone and mixed, as a table in Markdown (docs/cluster.md has one).

``python benchmarks/cluster_parallelism.py [--seconds S] [--boards 2 4 8 16] [--networks N ...]``; frames per second
with fill, drain, update and the sum of gradients, a batch of 128 on NADA's boards, weights where the planner wants.
Exits 1 where one pipeline over more boards comes out slower than one over fewer, which it contains.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from dse.cluster.arrangement import Arrangement, arrangements

NETWORKS = ("nada_example", "mobilenet_v2", "resnet18", "lenet10")
COLUMNS = ("DP engine", "DP pipeline", "LP", "LP x MP", "DP x LP", "DP x LP x MP")


def column(one: Arrangement) -> str:
    """The column of an arrangement: DP by itself is a single-board accelerator or a pipeline on each board."""
    if one.boards == 1:
        return "DP pipeline" if one.how == "pipeline" else "DP engine"
    return one.kind


def best_by_column(found: Sequence[Arrangement]) -> dict[str, Arrangement]:
    """The fastest arrangement of every column; what is sliced may also be left whole."""
    best: dict[str, Arrangement] = {}
    for one in found:
        for name in {column(one), column(one) + " x MP"} & set(COLUMNS):
            if name not in best or one.fps > best[name].fps:
                best[name] = one
    return best


def cell(one: Arrangement | None, fastest: float) -> str:
    """Frames per second, how many groups of how many boards, and what was sliced."""
    if one is None:
        return ""
    if not one.fps:
        return "none found"
    text = f"**{one.fps:,.1f}**" if one.fps == fastest else f"{one.fps:,.1f}"
    return text + (f" ({one.groups} x {one.boards})" if one.groups > 1 and one.boards > 1 else "")


def telling(network: str, boards: int) -> Callable[[str], None] | None:
    """Prints what is being tried, where someone looks."""
    if not sys.stderr.isatty():
        return None
    return lambda text: print(f"\r\x1b[K{network}, {boards} boards: {text}", end="", file=sys.stderr)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4.0, help="for each plan")
    options.add_argument("--boards", type=int, nargs="+", default=[2, 4, 8, 16])
    options.add_argument("--networks", nargs="+", default=NETWORKS)
    chosen = options.parse_args()
    began, worse = time.perf_counter(), 0
    print("| network | boards | " + " | ".join(COLUMNS) + " | gap of LP |")
    print("|---|---|" + "---|" * (len(COLUMNS) + 1))
    for network in chosen.networks:
        before = 0.0
        for boards in sorted(chosen.boards):
            found = arrangements(
                network, "nada", boards, seconds=chosen.seconds, gap=0.01, report=telling(network, boards)
            )
            best = best_by_column(found)
            fastest = max(one.fps for one in found)
            plans = best["LP"].plans
            pipeline_fps = plans[0].fps if plans else 0.0
            worse += pipeline_fps < before
            before, whole = pipeline_fps, plans[0].found.gap if plans else float("inf")
            cells = [cell(best.get(name), fastest) for name in COLUMNS]
            gap = f"{whole:.1%}" if whole < float("inf") else ""
            print(f"| {network} | {boards} | " + " | ".join(cells) + f" | {gap} |", flush=True)
    print(f"\n{time.perf_counter() - began:,.0f} s, {chosen.seconds:g} s a plan", flush=True)
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
