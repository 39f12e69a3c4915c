"""``dse verify --train``: whole iterations on an emitted accelerator, simulated against the golden model."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dse.cli.guard import INTERRUPTED, NOTHING_FEASIBLE, OK
from dse.cli.options import MAX_SEED, whole
from dse.cli.output import Table, number, percent, print_json, print_tables
from dse.cli.progress import named_bar

if TYPE_CHECKING:
    from dse.verify.dram import Dram
    from dse.verify.train import TrainedIteration
    from dse.verify.train_run import TrainVerification

__all__ = ["verify_train"]

MAX_ITERATIONS = 10**6
_BARS = "▁▂▃▄▅▆▇█"
_MOST_BARS = 60


def verify_train(
    folder: Path, train: str, data: str, dram: Dram, rate_shift: str, seed: str, network: str, *,
    as_json: bool, quiet: bool,
) -> int:  # fmt: skip
    """Train and compare; exit 1 where a tensor differs, or the accelerator stops."""
    from dse.host import AcceleratorError
    from dse.networks import load_network
    from dse.verify.toolchain import ToolError
    from dse.verify.train_run import TRAIN_REPORT, TrainSettings, verify_training

    settings = TrainSettings(
        whole("--train", train, 1, MAX_ITERATIONS), data, dram, whole("--rate-shift", rate_shift, 0, 31),
        whole("--seed", seed, 0, MAX_SEED), load_network(network) if network else None,
    )  # fmt: skip
    silent = as_json or quiet
    try:
        with named_bar("start") as update:
            result = verify_training(folder, settings, None if quiet else update, None if silent else _print_row)
    except (ToolError, AcceleratorError, TimeoutError) as error:
        print(f"error: {folder}: {error}", file=sys.stderr)
        return NOTHING_FEASIBLE
    page = _write_page(result, folder)
    if as_json:
        print_json({**result.content(), "report": str(folder / TRAIN_REPORT), "page": str(page)})
    elif not quiet:
        _print(result)
        print(folder / TRAIN_REPORT)
        print(page)
    if result.interrupted:
        print("interrupted: what was found so far is saved", file=sys.stderr)
        return INTERRUPTED
    return OK if result.exact else NOTHING_FEASIBLE


def _write_page(result: TrainVerification, folder: Path) -> Path:
    from dse.reports.training import write_training_report

    page = folder / "train.html"
    write_training_report(result, page)
    return page


def _print_row(row: TrainedIteration) -> None:
    if row.number == 1:
        print("iteration      loss      cycles   lanes  DRAM")
    lanes = percent(row.steps, row.cycles)
    dram = f"{row.tensors} tensors bit-exact" if row.exact else f"differs: {'; '.join(row.differences[:3])}"
    print(f"{row.number:>9}  {row.loss:>8.4f}  {row.cycles:>10,}  {lanes:>6}  {dram}", flush=True)


def _print(result: TrainVerification) -> None:
    rows = [
        (r.layer, r.phase, number(r.simulated), number(r.predicted), _off(r.predicted, r.simulated))
        for r in result.layers()
    ]
    name = result.schedule.workload.network.name
    title = f"\n{result.design.title}: cycles of an iteration of {name}"
    print_tables(Table(title, ("layer", "phase", "simulated", "predicted", "off by"), rows, "llrrr"))
    exact = sum(row.exact for row in result.rows)
    print(f"\n{exact} of {len(result.rows)} iterations bit-exact")
    if result.rows:
        total, predicted, model = result.rows[-1].cycles, result.schedule.cycles, result.model_cycles
        offs = f"predicted {_off(predicted, total)}, model {_off(model, total)}"
        print(f"{total:,} cycles an iteration; off by: {offs}")
        losses = [row.loss for row in result.rows]
        print(f"loss {losses[0]:.4f} {sparkline(losses)} {losses[-1]:.4f}")
    before, after = result.accuracy
    print(f"accuracy on test samples: {100 * before:.1f} % before, {100 * after:.1f} % after")


def sparkline(values: Sequence[float]) -> str:
    """Values as bars of eight heights, each the mean of neighbours where there are more than fit a line."""
    width = min(len(values), _MOST_BARS)
    edges = [len(values) * i // width for i in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, span = min(means), max(means) - min(means) or 1.0
    return "".join(_BARS[min(int((mean - low) / span * len(_BARS)), len(_BARS) - 1)] for mean in means)


def _off(model: float, simulated: int) -> str:
    return f"{100 * (model / simulated - 1):+.2f} %" if simulated and model == model else "unknown"
