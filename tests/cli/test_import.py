"""``dse import``, and the other verbs on a file of a foreign format."""

import shutil
from pathlib import Path

import pytest

from dse.networks import load_network
from tests.cli.cli_process import ROOT

MODEL = ROOT / "tests" / "fixtures" / "onnx" / "mlp.onnx"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    shutil.copy(MODEL, tmp_path / "mlp.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_writes_a_network_and_says_what_it_found(dse, folder):
    done = dse("import", "mlp.onnx", "-o", "net.toml")
    assert done.code == 0
    assert "26,475" in done.out
    assert "note: a softmax_cross_entropy over 10 classes" in done.out
    assert load_network(folder / "net.toml").layers == load_network(folder / "mlp.onnx").layers
    assert sorted(path.name for path in folder.iterdir()) == ["mlp.onnx", "net.toml"]


def test_json(dse, folder):
    content = dse("import", "mlp.onnx", "-o", "net.toml", "--json").json["import"]
    assert (content["macs"], content["parameters"], content["file"]) == (26432, 26475, "net.toml")


def test_a_cfg_file(dse, folder):
    text = "[net]\nheight=8\nwidth=8\nchannels=3\n[convolutional]\nfilters=4\nsize=3\nactivation=relu\n[avgpool]\n"
    (folder / "small.cfg").write_text(text)
    assert dse("import", "small.cfg", "-o", "small.toml").code == 0
    assert load_network(folder / "small.toml").macs == 6 * 6 * 4 * 27


def test_nothing_is_overwritten_without_force(dse, folder):
    (folder / "net.toml").write_text("mine")
    assert "--output net.toml: the file exists" in dse("import", "mlp.onnx", "-o", "net.toml").error
    assert (folder / "net.toml").read_text() == "mine"
    assert dse("import", "mlp.onnx", "-o", "net.toml", "--force").code == 0
    assert load_network(folder / "net.toml").parameters == 26475


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (("nothing.onnx", "-o", "a.toml"), ["nothing.onnx: cannot be read: No such file"]),
        (("mlp.onnx", "-o", "a.txt"), ["--output a.txt", "ends in .toml"]),
        (("mlp.onnx", "-o", "no/a.toml"), ["folder does not exist"]),
        (("mlp.pb", "-o", "a.toml"), ["mlp.pb", "no format", ".onnx, .cfg"]),
        (("mlp.onnx",), ["--output"]),
    ],
)
def test_bad_input(dse, folder, words, parts):
    error = dse("import", *words).error
    assert all(part in error for part in parts), error
    assert [path.name for path in folder.iterdir()] == ["mlp.onnx"]


def test_the_other_verbs_read_it(dse, folder):
    assert dse("show", "network", "mlp.onnx", "--json").json["network"]["macs"] == 26432
    words = ("-n", "mlp.onnx", "-d", "zcu102", "-m", "channel", "-b", "4")
    assert dse("sweep", *words, "--trials", "20", "-o", "out", "--quiet").code == 0
    assert (folder / "out" / "report.html").exists()
