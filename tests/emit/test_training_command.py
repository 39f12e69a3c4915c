"""``dse verify --train`` as a user types it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.host import AcceleratorError
from dse.verify.train import Trainer
from dse.verify.train_run import TRAIN_REPORT
from tests.cli.cli_process import Outcome
from tests.cli.conftest import dse as dse_command
from tests.emit.training_bench import Open

dse = dse_command
Dse = Callable[..., Outcome]
SMALL = """
name = "small"
source = "a test"
input = { channels = 1, height = 8, width = 8 }
layer = [
  { name = "conv1", op = "conv", out_channels = 4, kernel = 3, stride = 2 },
  { name = "fc",    op = "fc", out_channels = 3 },
  { name = "loss",  op = "LOSS" },
]
"""


@pytest.fixture
def rtl(opened: Open) -> Path:
    return opened("channel").folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace("LOSS", "softmax_cross_entropy"))
    return path


def test_it_prints_iterations_layers_and_where_they_are_kept(dse: Dse, rtl: Path, small: Path) -> None:
    done = dse("verify", rtl, "--train", "3", "--network", small, "--seed", "5", "--latency", "7", "--stall", "20")
    assert done.code == 0, done.err
    rows = re.findall(r"^ +(\d) +(\d+\.\d{4}) +([\d,]+) +([\d.]+) % +(\d+) tensors bit-exact$", done.out, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [1, 2, 3]
    assert "3 of 3 iterations bit-exact" in done.out
    assert re.search(r"^conv1 +weight_grad +[\d,]+ +[\d,]+ +[+-][\d.]+ %$", done.out, re.MULTILINE)
    assert done.out.rstrip().endswith(str(rtl / "train.html"))
    saved = json.loads((rtl / TRAIN_REPORT).read_text())
    assert saved["exact"]
    assert (saved["network"], saved["seed"], saved["dram"]) == ("small", 5, {"latency_cycles": 7, "stall": 0.2})
    assert [f"{row['loss']:.4f}" for row in saved["iterations"]] == [row[1] for row in rows]
    assert "3 of 3 iterations bit-exact" in (rtl / "train.html").read_text("utf-8")


def test_json_is_what_is_kept_and_the_same_again(dse: Dse, rtl: Path, small: Path) -> None:
    words = ("verify", rtl, "--train", "2", "--network", small, "--json")
    content = dse(*words).json
    saved = json.loads((rtl / TRAIN_REPORT).read_text())
    assert {key: content[key] for key in saved} == saved
    assert set(content) - set(saved) == {"schema_version", "report", "page"}
    assert content["iteration_cycles"]["model"] is None  # the family's estimate is for the network that was emitted
    by_layer = sum(row["simulated_cycles"] for row in content["layers"])
    assert by_layer == content["iteration_cycles"]["simulated"] == content["iterations"][-1]["cycles"]
    assert sum(row["predicted_cycles"] for row in content["layers"]) == content["iteration_cycles"]["predicted"]
    page = (rtl / "train.html").read_bytes()
    assert dse(*words).json == content
    assert (rtl / "train.html").read_bytes() == page


def test_quiet_prints_nothing_and_the_emitted_network_has_an_estimate(dse: Dse, rtl: Path) -> None:
    done = dse("verify", rtl, "--train", "1", "--quiet")
    assert (done.code, done.out) == (0, "")
    cycles = json.loads((rtl / TRAIN_REPORT).read_text())["iteration_cycles"]
    assert abs(cycles["predicted"] / cycles["simulated"] - 1) <= 0.0105
    assert cycles["model"] > 0


def test_samples_of_a_file(dse: Dse, rtl: Path, small: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 256, (30, 8, 8)).astype(np.uint8), rng.integers(0, 3, 30)
    np.savez(tmp_path / "mine.npz", x=x, y=y)
    content = dse("verify", rtl, "--train", "2", "-n", small, "--data", tmp_path / "mine.npz", "--json").json
    assert content["exact"]
    assert content["data"].endswith("mine.npz")
    np.savez(tmp_path / "other.npz", x=x[:, :5], y=y)
    error = dse("verify", rtl, "--train", "2", "-n", small, "--data", tmp_path / "other.npz").error
    assert "other.npz: x" in error


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--train", "0"), "--train: must be a whole number; got '0'; allowed: 1 to 1000000"),
        (("--train", "two"), "--train: must be a whole number"),
        (("--train", "1", "--rate-shift", "32"), "--rate-shift: must be a whole number; got '32'; allowed: 0 to 31"),
        (("--train", "1", "--stall", "96"), "--stall: must be a whole number"),
        (("--train", "1", "--data", "x.csv"), "--data: is neither a .npz file nor drawn; got 'x.csv'"),
        (("--train", "1", "--data", "missing.npz"), "missing.npz: cannot be read"),
        (("--train", "1", "--network", "cnn_1y"), "did you mean 'cnn_1x'"),
        (("--train", "1", "--network", "resnet20_cifar10"), "needs a larger ScheduleDepth than was emitted; got 2048"),
        (("--train", "1", "--network", "cnn_1x"), "layer pool1: pool unit parameter row_depth: is too small"),
        (("--train", "1", "--layer", "conv1"), "--layer: does nothing beside --train; got 'conv1'"),
        (("--train", "1", "--max-cycles", "10"), "--max-cycles: does nothing beside --train; got '10'"),
        (("--network", "cnn_1x"), "--network: does nothing alone; got 'cnn_1x'; allowed: with --train N"),
        (("--data", "x.npz"), "--data: does nothing alone"),
        (("--rate-shift", "5"), "--rate-shift: does nothing alone"),
    ],
)
def test_bad_values_are_one_line(dse: Dse, rtl: Path, words: tuple[str, ...], text: str) -> None:
    assert text in dse("verify", rtl, *words).error


def test_a_folder_that_trains_nothing_or_was_changed(dse: Dse, folder: Path, tmp_path: Path, rtl: Path) -> None:
    assert "design.json: cannot be read" in dse("verify", tmp_path, "--train", "1").error
    shutil.copytree(rtl, tmp_path / "copy", ignore=shutil.ignore_patterns("build"))
    (tmp_path / "copy" / "rtl" / "sequencer.sv").write_text("module sequencer; endmodule\n")
    error = dse("verify", tmp_path / "copy", "--train", "1").error
    assert "sequencer.sv: is not the file that dse emit wrote" in error


def test_interrupted_it_keeps_what_it_has(dse: Dse, rtl: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    iterate = Trainer.iterate

    def twice(self: Trainer, number: int, *rest: Any) -> Any:
        if number == 3:
            raise KeyboardInterrupt
        return iterate(self, number, *rest)

    monkeypatch.setattr(Trainer, "iterate", twice)
    done = dse("verify", rtl, "--train", "9", "--network", small, "--json")
    assert done.code == 130
    assert done.json["interrupted"]
    saved = json.loads((rtl / TRAIN_REPORT).read_text())
    assert [row["iteration"] for row in saved["iterations"]] == [1, 2]
    assert "2 of 2 iterations bit-exact" in (rtl / "train.html").read_text("utf-8")

    def never(self: Trainer, *rest: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "iterate", never)
    done = dse("verify", rtl, "--train", "9", "--network", small)
    assert done.code == 130
    assert "0 of 0 iterations bit-exact" in done.out
    assert json.loads((rtl / TRAIN_REPORT).read_text())["iteration_cycles"]["simulated"] is None


def test_a_difference_is_named_and_ends_it_with_1(
    dse: Dse, rtl: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate = Trainer.iterate

    def spoilt(self: Trainer, number: int, *rest: Any) -> Any:
        if number == 2:
            self.model.parameters["fc"]["weight"][0, 0] += 1
        return iterate(self, number, *rest)

    monkeypatch.setattr(Trainer, "iterate", spoilt)
    done = dse("verify", rtl, "--train", "9", "--network", small)
    assert done.code == 1
    assert re.search(r"^ +2 .* differs: .*\bfc: \d+ of \d+ elements", done.out, re.MULTILINE)
    assert "1 of 2 iterations bit-exact" in done.out
    assert not json.loads((rtl / TRAIN_REPORT).read_text())["exact"]


def test_an_accelerator_that_stops_is_one_line_and_1(
    dse: Dse, rtl: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(self: Trainer, *rest: Any) -> Any:
        raise AcceleratorError(3, 17)

    monkeypatch.setattr(Trainer, "iterate", stops)
    done = dse("verify", rtl, "--train", "1", "--network", small)
    assert done.code == 1
    assert done.err.splitlines()[-1] == f"error: {rtl}: write error (at word 17 of the schedule)"
