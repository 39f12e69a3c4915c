"""``dse train --golden``: what accuracy an accelerator's arithmetic reaches, before anything is built."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli.file import check_file, write_file
from dse.cli.guard import INTERRUPTED, OK
from dse.cli.options import MAX_BATCH, MAX_SEED, Json, NetworkName, checked, whole
from dse.cli.output import print_json
from dse.cli.progress import step_bar
from dse.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dse.golden import Arithmetic, DataSet, Epoch, GoldenModel, Schedule
    from dse.network import Network

__all__ = ["train"]

MAX_EPOCHS = 10**6
MAX_SAMPLES = 10**7
TRAINED = ("int8", "int16", "fp32")

_Golden = Annotated[bool, typer.Option("--golden", help="Train in numpy, in the accelerator's arithmetic.")]
_Data = Annotated[str, typer.Option("--data", metavar="FILE|shapes", help="A .npz file with x and y, or drawn shapes.")]
_Samples = Annotated[str, typer.Option("--samples", metavar="N", help="Shapes to draw; a fifth is for testing.")]
_Precision = Annotated[
    str, typer.Option("--precision", metavar="P", help="int8 or int16, compared with fp32; or fp32 alone.")
]
_Epochs = Annotated[str, typer.Option("--epochs", metavar="N", help="Passes over the training samples.")]
_Batch = Annotated[str, typer.Option("--batch", "-b", metavar="BATCH", help="Samples per iteration.")]
_RateShift = Annotated[
    str, typer.Option("--rate-shift", metavar="N", help="Integers: largest step of a weight, 2^-N of its range.")
]
_Optimiser = Annotated[
    str, typer.Option("--optimiser", metavar="O", help="Integers: sgd, or momentum of 7/8; fp32 has momentum.")
]
_Rate = Annotated[str, typer.Option("--learning-rate", metavar="R", help="fp32: learning rate; momentum is 0.9.")]
_Halve = Annotated[
    str, typer.Option("--halve-every", metavar="N", help="Epochs between halvings of the rates; default: a fifth.")
]
_Seed = Annotated[str, typer.Option("--seed", metavar="N", help="Seed of shapes, weights, order and rounding.")]
_File = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="The .json file to write.")]
_Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


def train(
    network: NetworkName,
    golden: _Golden = False,
    data: _Data = "shapes",
    samples: _Samples = "2500",
    precision: _Precision = "int8",
    epochs: _Epochs = "10",
    batch: _Batch = "32",
    rate_shift: _RateShift = "4",
    optimiser: _Optimiser = "sgd",
    learning_rate: _Rate = "0.02",
    halve_every: _Halve = "",
    seed: _Seed = "0",
    output: _File = None,
    force: _Force = False,
    as_json: Json = False,
) -> int:
    """Train a network in the accelerator's integers and in fp32, and compare loss and accuracy epoch by epoch."""
    from dse.golden import GoldenModel, Schedule
    from dse.networks import load_network

    if not golden:
        raise InputError("--golden", "is required", allowed="dse train --golden, which trains in numpy")
    count = whole("--epochs", epochs, 1, MAX_EPOCHS)
    every = whole("--halve-every", halve_every or str(-(-count // 5)), 1, MAX_EPOCHS)
    number = whole("--seed", seed, 0, MAX_SEED)
    schedule = Schedule(count, whole("--batch", batch, 1, MAX_BATCH), every, number)
    momentum = checked("--optimiser", optimiser, ("sgd", "momentum")) == "momentum"
    formats = checked("--precision", precision, TRAINED)
    arithmetics = _arithmetics(formats, rate_shift, momentum, learning_rate, number)
    drawn = whole("--samples", samples, 1, MAX_SAMPLES)
    if output:
        check_file(output, ".json", "JSON", force)
    net = load_network(network)
    models = [GoldenModel(net, arithmetic, number) for arithmetic in arithmetics]
    content = _Run(net, _load(data, net, drawn, number), schedule, models).run(quiet=as_json)
    if output:
        write_file(output, json.dumps(content, indent=2, allow_nan=False) + "\n")
    if as_json:
        print_json(content)
    elif output:
        print(f"written: {output}")
    if content["training"]["interrupted"]:
        print("interrupted: the epochs that were finished are kept", file=sys.stderr)
        return INTERRUPTED
    return OK


def _arithmetics(precision: str, rate_shift: str, momentum: bool, learning_rate: str, seed: int) -> list[Arithmetic]:
    from dse.golden import FloatArithmetic, IntegerArithmetic

    try:
        rate = float(learning_rate)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= 1000:
        raise InputError("--learning-rate", "must be a number", learning_rate, "above 0, up to 1000")
    shift = whole("--rate-shift", rate_shift, 0, 31)
    integers = [IntegerArithmetic(int(precision[3:]), shift, seed, momentum=momentum)] if precision != "fp32" else []
    return [*integers, FloatArithmetic(rate)]


def _load(data: str, network: Network, samples: int, seed: int) -> DataSet:
    from dse.golden import draw_shapes, load_npz

    if data == "shapes":
        return draw_shapes(network.input_shape, network.layers[-1].in_shape[0], samples, seed)
    if not data.lower().endswith(".npz"):
        raise InputError("--data", "is neither a .npz file nor drawn", data, "shapes, or a name that ends in .npz")
    return load_npz(Path(data), network.input_shape, seed)


class _Run:
    """Models trained side by side, an epoch of each in turn, so that an interrupt leaves a fair comparison."""

    def __init__(self, network: Network, data: DataSet, schedule: Schedule, models: Sequence[GoldenModel]) -> None:
        data.check(network, schedule.batch_size)
        self.network, self.data, self.schedule, self.models = network, data, schedule, models
        self.names = [model.arithmetic.name for model in models]
        self.done: list[list[Epoch]] = [[] for _ in models]

    def run(self, quiet: bool) -> dict[str, Any]:
        """Train all epochs, or up to an interrupt; returns what JSON says of it."""
        interrupted = False
        try:
            if not quiet:
                self._print_head()
            self._train(quiet)
        except KeyboardInterrupt:
            interrupted = True
        from dse.schema import plain

        return {"training": plain(self._content(interrupted))}

    def _train(self, quiet: bool) -> None:
        from dse.golden import train as train_epochs

        batches = len(self.data.train[1]) // self.schedule.batch_size
        total, done = batches * self.schedule.epochs * len(self.models), 0
        with step_bar("training") as report:

            def one() -> None:
                nonlocal done
                done += 1
                if report:
                    report(done, total)

            runs = [train_epochs(model, self.data, self.schedule, one) for model in self.models]
            for epochs in zip(*runs, strict=True):
                for kept, epoch in zip(self.done, epochs, strict=True):
                    kept.append(epoch)
                if not quiet:
                    self._print_epoch(epochs)

    def _print_head(self) -> None:
        train, test = len(self.data.train[1]), len(self.data.test[1])
        counts = f"{train:,} samples to train, {test:,} to test, batch {self.schedule.batch_size}"
        print(f"{self.network.name} on {self.data.name}: {counts}\n")
        print("".join(["     ", *(f"  {name:>8}" + " " * 24 for name in self.names)]).rstrip())
        print("epoch" + f"  {'loss':>8}  {'accuracy':>10}  {'samples/s':>10}" * len(self.names), flush=True)

    def _print_epoch(self, epochs: Sequence[Epoch]) -> None:
        cells = (f"  {e.loss:>8.4f}  {100 * e.accuracy:>8.1f} %  {e.samples_per_s:>10,.0f}" for e in epochs)
        print(f"{epochs[0].number:>5}" + "".join(cells), flush=True)

    def _content(self, interrupted: bool) -> dict[str, Any]:
        runs = [
            {
                "precision": name,
                "epochs": [
                    {
                        "epoch": epoch.number,
                        "loss": epoch.loss,
                        "accuracy": epoch.accuracy,
                        "train_s": epoch.train_s,
                        "samples_per_s": epoch.samples_per_s,
                    }
                    for epoch in done
                ],
            }
            for name, done in zip(self.names, self.done, strict=True)
        ]
        return {
            "network": self.network.name,
            "data": self.data.name,
            "train_samples": len(self.data.train[1]),
            "test_samples": len(self.data.test[1]),
            "batch_size": self.schedule.batch_size,
            "halve_every": self.schedule.halve_every,
            "seed": self.schedule.seed,
            "interrupted": interrupted,
            "runs": runs,
        }
