"""``dse train --golden``: what it prints, writes and refuses."""

from __future__ import annotations

import json
import os
import signal

import numpy as np
import pytest

from tests.cli.cli_process import TerminalErrors, command

WORDS = ("train", "--golden", "-n", "shapes_cnn", "--samples", 200, "--epochs", 2)


def test_json_has_an_epoch_of_each_arithmetic(dse, tmp_path):
    done = dse(*WORDS, "--json", "-o", tmp_path / "out.json")
    training = done.json["training"]
    assert json.loads((tmp_path / "out.json").read_text())["training"] == training
    assert (training["network"], training["data"], training["interrupted"]) == ("shapes_cnn", "shapes", False)
    assert (training["train_samples"], training["test_samples"]) == (160, 40)
    assert [run["precision"] for run in training["runs"]] == ["int8", "fp32"]
    for run in training["runs"]:
        assert [epoch["epoch"] for epoch in run["epochs"]] == [1, 2]
        assert all(0 <= epoch["accuracy"] <= 1 and epoch["samples_per_s"] > 0 for epoch in run["epochs"])


def losses(outcome):
    return [[epoch["loss"] for epoch in run["epochs"]] for run in outcome.json["training"]["runs"]]


def test_a_seed_gives_the_same_losses_and_flags_reach_the_arithmetic(dse):
    first = losses(dse(*WORDS, "--json"))
    assert first == losses(dse(*WORDS, "--json", "--seed", 0))
    other_rates = losses(dse(*WORDS, "--json", "--rate-shift", 9, "--learning-rate", "0.001"))
    assert [run[0] for run in first] != [run[0] for run in other_rates]
    assert losses(dse(*WORDS, "--json", "--seed", 3)) != first
    halved = losses(dse(*WORDS, "--json", "--halve-every", 2))
    assert [run[0] for run in halved] == [run[0] for run in first]
    assert [run[1] for run in halved] != [run[1] for run in first]
    assert [len(run) for run in losses(dse(*WORDS, "--json", "--precision", "fp32"))] == [2]
    assert losses(dse(*WORDS, "--json", "--precision", "int16"))[1] == first[1]


def test_text_has_a_row_an_epoch_with_units(dse, tmp_path):
    done = dse(*WORDS, "-o", tmp_path / "out.json")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "shapes_cnn on shapes: 160 samples to train, 40 to test, batch 32"
    assert lines[2].split() == ["int8", "fp32"]
    assert lines[3].split() == ["epoch", *["loss", "accuracy", "samples/s"] * 2]
    assert [line.split()[0] for line in lines[4:6]] == ["1", "2"]
    assert lines[4].count("%") == 2
    assert lines[6] == f"written: {tmp_path / 'out.json'}"


def test_a_file_of_the_users(dse, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "own.npz", x=rng.uniform(-1, 1, (80, 1, 12, 12)), y=np.arange(80) % 6)
    done = dse("train", "--golden", "-n", "shapes_cnn", "--data", tmp_path / "own.npz", "--epochs", 1, "--json")
    assert done.json["training"]["data"] == "own.npz"
    assert done.json["training"]["train_samples"] == 64


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("train", "-n", "shapes_cnn"), "--golden: is required"),
        ((*WORDS, "--data", "shape"), "--data: is neither a .npz file nor drawn; got 'shape'"),
        ((*WORDS, "--data", "none.npz"), "none.npz: cannot be read: No such file or directory"),
        ((*WORDS, "--precision", "int4"), "--precision: unknown value; got 'int4'; allowed: did you mean 'int8'?"),
        ((*WORDS, "--precision", "bf16"), "--precision: unknown value; got 'bf16'"),
        ((*WORDS, "--epochs", 0), "--epochs: must be a whole number; got '0'; allowed: 1 to 1000000"),
        ((*WORDS, "--batch", "x"), "--batch: must be a whole number"),
        ((*WORDS, "--batch", 161), "data shapes: does not fill a batch; got '160 samples'; allowed: 161 or more"),
        ((*WORDS, "--learning-rate", "nan"), "--learning-rate: must be a number; got 'nan'"),
        ((*WORDS, "--rate-shift", 32), "--rate-shift: must be a whole number; got '32'; allowed: 0 to 31"),
        ((*WORDS, "--samples", 29), "needs five samples a class; got 29; allowed: 30 or more"),
        ((*WORDS, "-o", "out.txt"), "--output out.txt: is no JSON file; got '.txt'"),
        (("train", "--golden", "-n", "mobilenet_v2"), "network mobilenet_v2: layer"),
        (("train", "--golden", "-n", "resnet18"), "data shapes: has no such number of classes; got 1000"),
    ],
)
def test_bad_input(dse, words, says):
    assert says in dse(*words).error


def test_a_file_is_not_overwritten_without_force(dse, tmp_path):
    path = tmp_path / "out.json"
    path.write_text("mine")
    assert "the file exists" in dse(*WORDS, "-o", path).error
    assert path.read_text() == "mine"
    assert dse(*WORDS, "-o", path, "--force").code == 0


def test_interrupt_keeps_the_epochs_that_were_finished(tmp_path):
    words = ("train", "--golden", "-n", "shapes_cnn", "--samples", 400, "--epochs", 100_000, "-o", "out.json")
    with TerminalErrors(command(*words), tmp_path) as run:
        run.wait_for("0:00:02")
        os.killpg(run.process.pid, signal.SIGINT)
        out = run.finish()
    assert run.process.returncode == 130, run.seen
    assert "interrupted: the epochs that were finished are kept" in run.seen
    assert "Traceback" not in run.seen
    training = json.loads((tmp_path / "out.json").read_text())["training"]
    assert training["interrupted"] is True
    rows = [line.split()[0] for line in out.splitlines() if "%" in line]
    assert len(training["runs"][0]["epochs"]) == len(training["runs"][1]["epochs"]) == len(rows) >= 1
