"""Advice on operations as tables and as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.cli.output import Table, number, print_tables, seconds
from dse.offload.advice import VERDICTS, score
from dse.schema import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dse.offload.advice import Advice

__all__ = ["advice_json", "print_advice"]


def advice_json(assumptions: Mapping[str, str], advice: Sequence[Advice]) -> dict[str, Any]:
    """Assumptions, the rule's score, and every operation."""
    rows = []
    for one in advice:
        content = asdict(one)
        content.pop("operation")
        rows.append({"name": one.operation.name, "calls": one.operation.calls, **content})
    return {"assumptions": dict(assumptions), "rule_score": plain(asdict(score(advice))), "operations": plain(rows)}


def print_advice(assumptions: Mapping[str, str], advice: Sequence[Advice]) -> None:
    """Operations, assumptions, what the verdicts mean and how often they came, the rule's score."""
    rows = [
        (
            one.operation.name,
            seconds(one.operation.gpu.seconds),
            seconds(one.operation.fpga.seconds) if one.operation.fpga else "unknown",
            seconds(one.transfer_s),
            _yes(one.rule),
            _yes(one.faster),
            number(one.energy_ratio, 3),
            f"{one.saved_j * 1e3:+,.1f}" if math.isfinite(one.saved_j) else "unknown",
            _bandwidth(one.break_even_bytes_per_s),
            _bandwidth(one.break_even_energy_bytes_per_s),
            one.verdict,
        )
        for one in advice
    ]
    columns = (
        "operation", "GPU", "FPGA", "transfer", "rule", "faster", "energy FPGA/GPU", "saved, mJ",
        "GB/s for time", "GB/s for energy", "verdict",
    )  # fmt: skip
    print_tables(
        Table("operations, per call", columns, rows, "lrrrllrrrrl"),
        Table("verdicts", ("", "operations", "GPU time", "saved, J, each alone", ""), _verdicts(advice), "lrrrl"),
        Table("assumptions", ("", ""), list(assumptions.items()), "ll"),
    )
    counts = score(advice)
    if any(one.rule is not None for one in advice):
        print(
            f"\nrule against measured times: {counts.right} rightly offloaded, {counts.false_positive} wrongly, "
            f"{counts.missed} missed"
        )


def _verdicts(advice: Sequence[Advice]) -> list[tuple[str, ...]]:
    """Per verdict: operations, their time on the GPU and what offloading each saves, in all calls of an iteration."""
    rows: list[tuple[str, ...]] = []
    for verdict, meaning in VERDICTS.items():
        group = [one for one in advice if one.verdict == verdict]
        gpu_s = sum(one.operation.gpu.seconds * one.operation.calls for one in group)
        key = {"offload": "saved_j", "beside": "saved_beside_j"}.get(verdict, "")
        saved = f"{sum(getattr(one, key) * one.operation.calls for one in group):,.3f}" if key and group else ""
        rows.append((verdict, str(len(group)), seconds(gpu_s), saved, meaning))
    return rows


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _bandwidth(value: float) -> str:
    """GB/s, ``never`` where no bandwidth is enough."""
    return "never" if value == math.inf else number(value / 1e9, 2)
