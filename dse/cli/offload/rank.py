"""``dse offload rank``: configurations of a kernel by the latency indicator, and times that no hardware reaches."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dse.cli.guard import OK
from dse.cli.options import Json, whole
from dse.cli.output import Table, number, print_json, print_tables, seconds
from dse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dse.offload.indicator import Ranked

__all__ = ["rank"]

_Configurations = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="A CSV file of configurations with their F_max, or hype_table4 (five MatMul kernels)."
    ),
]
_Size = Annotated[
    list[str] | None,
    typer.Option("--size", metavar="M K N", help="The product's sizes, M x K by K x N; default: 2048 1024 1024."),
]
_Boards = Annotated[str, typer.Option("--boards", metavar="N", help="FPGAs that share the work.")]


def rank(
    configurations: _Configurations = "hype_table4", size: _Size = None, boards: _Boards = "1", as_json: Json = False
) -> int:
    """Order configurations of a matrix product by the latency indicator; flag times that no hardware can reach."""
    from dse.offload.indicator import load_configurations, rank_correlation
    from dse.offload.indicator import rank as order
    from dse.schema import plain

    sizes = [whole("--size", text, 1, 2**20) for text in size or ("2048", "1024", "1024")]
    if len(sizes) != 3:
        raise InputError("--size", "needs three numbers", " ".join(size or ()), "M K N")
    count = whole("--boards", boards, 1, 1024)
    loaded, source = load_configurations(configurations)
    ranked = order(loaded, math.prod(sizes), count)
    timed = [r for r in ranked if not math.isnan(r.configuration.measured_s)]
    correlation = rank_correlation([r.indicator for r in timed], [r.configuration.measured_s for r in timed])
    if as_json:
        rows = [{**asdict(r.configuration), **asdict(r)} for r in ranked]
        for row in rows:
            row.pop("configuration")
        content = {"source": source, "macs": math.prod(sizes), "boards": count, "rank_correlation": correlation}
        print_json(plain({**content, "configurations": rows}))
        return OK
    _print(ranked, source, sizes, count)
    if not math.isnan(correlation):
        print(f"rank correlation with the measured times (Spearman): {correlation:.3f}")
    return OK


def _print(ranked: Sequence[Ranked], source: str, sizes: Sequence[int], boards: int) -> None:
    rows = [
        (
            str(r.position),
            str(r.configuration.compute_units),
            str(r.configuration.simd_width),
            str(r.configuration.work_group),
            str(r.configuration.unroll),
            number(r.configuration.f_max_hz / 1e6, 1),
            f"{r.indicator:.5g}",
            seconds(r.least_s),
            seconds(r.configuration.measured_s),
            "below the least" if r.impossible else "",
        )
        for r in ranked
    ]
    m, k, n = sizes
    title = f"{ranked[0].configuration.op} of {m} x {k} by {k} x {n} on {boards} FPGA, from {source}"
    columns = ("", "CU", "SIMD", "work group", "unroll", "F_max, MHz", "indicator", "least time", "measured", "")
    print_tables(Table(title, columns, rows, "rrrrrrrrrl"))
    print("\nindicator: M K N / (work group x F_max); least time: every lane (CU x SIMD x unroll) busy in every cycle")
    impossible = sum(r.impossible for r in ranked)
    if impossible:
        print(f"measured times that the lanes cannot reach: {impossible}")
