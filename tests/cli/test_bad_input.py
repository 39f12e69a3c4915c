"""Each bad input is one line on stderr that names file, key or flag, what was got and the near miss; exit 2."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.cli_process import command, environment

NETWORK = """\
name = "tiny"
source = "made up"
input = { channels = 3, height = 8, width = 8 }

[[layer]]
name = "conv1"
op = "conv"
out_channels = 4
kernel = 3
padding = 1

[[layer]]
name = "conv2"
op = "conv"
from = "conv1"
out_channels = 4
kernel = 3
groups = 2

[[layer]]
name = "loss"
op = "softmax_cross_entropy"
from = "fc"

[[layer]]
name = "fc"
op = "fc"
from = "conv2"
out_channels = 10
"""

SWEEP = ("sweep", "-n", "lenet10", "-d", "zcu102", "-m", "channel", "-o")
ESTIMATE = ("estimate", "-n", "lenet10", "-d", "zcu102", "-m", "channel", "--set", "tm=8", "tn=8")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(NETWORK)
    return path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_the_network_that_the_changes_break_is_good(dse, tiny):
    assert dse("show", "network", tiny).code == 0


@pytest.mark.parametrize(
    ("flag", "value", "says"),
    [
        ("-n", "alexnt", "'alexnt'; allowed: did you mean 'alexnet'?"),
        ("-d", "zcu12", "'zcu12'; allowed: did you mean 'zcu102'?"),
        ("-m", "chanel", "--family: unknown value; got 'chanel'; allowed: did you mean 'channel'?"),
        ("--sampler", "tpee", "--sampler: unknown value; got 'tpee'; allowed: did you mean 'tpe'?"),
        ("--search", "optun", "--search: unknown value; got 'optun'; allowed: did you mean 'optuna'?"),
        ("--objective", "latncy", "--objective: unknown value; got 'latncy'; allowed: did you mean 'latency'?"),
        ("--precision", "fp23", "--precision: unknown value; got 'fp23'; allowed: did you mean 'fp32'?"),
        ("--reading", "publised", "'publised'; allowed: did you mean 'published'?"),
        ("-b", "0", "--batch: must be a whole number; got '0'; allowed: 1 to 1048576"),
        ("-b", "-1", "--batch: must be a whole number; got '-1'; allowed: 1 to 1048576"),
        ("-b", "1.5", "--batch: must be a whole number; got '1.5'; allowed: 1 to 1048576"),
        ("-b", "many", "--batch: must be a whole number; got 'many'; allowed: 1 to 1048576"),
        ("--trials", "0", "--trials: must be a whole number; got '0'; allowed: 1 to "),
        ("--seed", "-1", "--seed: must be a whole number; got '-1'; allowed: 0 to "),
        ("--jobs", "0", "--jobs: must be a whole number; got '0'; allowed: 1 to "),
    ],
)
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_sweep_refuses_a_wrong_value_of_a_flag(dse, tmp_path, flag, value, says, as_json):
    out = tmp_path / "out"
    assert says in dse(*SWEEP, out, flag, value, *as_json).error
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-b", "0"), "--batch: must be a whole number; got '0'"),
        (("--precision", "fp23"), "--precision: unknown value; got 'fp23'; allowed: did you mean 'fp32'?"),
        (("--reading", "publised"), "--reading: unknown value; got 'publised'; allowed: did you mean 'published'?"),
        (("-m", "chanel"), "--family: unknown value; got 'chanel'; allowed: did you mean 'channel'?"),
        (("--set", "tm=9"), "--set tm: is given twice; got '8 and 9'"),
        (("--set", "tm"), "--set: must be NAME=NUMBER with a whole number >= 0; got 'tm'"),
        (("--set", "ifm_word=64"), "ifm_word: unknown parameter; allowed: did you mean 'ifm_words'?"),
        (("--set", "ifm_words=-1"), "--set: must be NAME=NUMBER with a whole number >= 0; got 'ifm_words=-1'"),
        (("--set", "ifm_words=nan"), "--set: must be NAME=NUMBER with a whole number >= 0; got 'ifm_words=nan'"),
        (("--set", "ifm_words=3"), "parameter ifm_words: is not a legal value; got 3; allowed: "),
        (("--set", f"ifm_words={2**80}"), "parameter ifm_words: is not a legal value; got "),
        (("--tiling", "none.toml"), "none.toml: cannot be read: No such file or directory"),
    ],
)
def test_estimate_refuses_a_wrong_value_of_a_flag(dse, words, says):
    assert says in dse(*ESTIMATE, *words).error


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("swep",), "dse: unknown command; got 'swep'; allowed: did you mean 'sweep'?"),
        (("list", "network"), "dse list: unknown command; got 'network'; allowed: did you mean 'networks'?"),
        (("list",), "dse list: Missing command; allowed: devices, families, networks, samplers"),
        (("show", "boards"), "dse show: unknown command; got 'boards'"),
        (("show", "device"), "dse show device: Missing argument 'NAME'"),
        (("sweep", "-n", "lenet10"), "dse sweep: Missing option '--device' / '-d'"),
        (("sweep", "-n"), "Option '-n' requires an argument"),
        (("sweep", "--trails", "5"), "dse sweep: unknown option; got '--trails'; allowed: did you mean '--trials'?"),
        (("validate", "--jsn"), "dse validate: unknown option; got '--jsn'; allowed: did you mean '--json'?"),
        (("show", "device", "zcu102", "extra"), "extra"),
        (("show", "device", "zcu12"), "'zcu12'; allowed: did you mean 'zcu102'?"),
        (("show", "network", "lenet"), "'lenet'; allowed: did you mean 'lenet10'?"),
        (("show", "network", "none.toml"), "none.toml: cannot be read"),
        (("show", "network", ".."), ".."),
    ],
)
def test_wrong_usage_is_one_line(dse, words, says):
    assert says in dse(*words).error


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('op = "conv"', 'op = "conv', "is not valid TOML: "),
        ("padding = 1", "paddin = 1", "layer conv1: unexpected key 'paddin'; allowed: did you mean 'padding'?"),
        ("out_channels = 4\n", "", "layer conv1: out_channels: required key is missing"),
        ("padding = 1", "padding = -1", "layer conv1: padding: is out of range; got -1"),
        ("kernel = 3", "kernel = nan", "layer conv1: kernel: must be a whole number; got nan"),
        ("kernel = 3", 'kernel = "3"', "layer conv1: kernel: must be a whole number; got '3'"),
        ('op = "conv"', 'op = "convv"', "layer conv1: op: unknown value; got 'convv'; allowed: did you mean 'conv'?"),
        ("kernel = 3\ngroups", "kernel = 9\ngroups", "layer conv2: "),
        ("groups = 2", "groups = 3", "layer conv2: groups"),
        ('name = "conv1"\nop = "conv"', 'name = "conv1"\nfrom = "fc"\nop = "conv"', "form a cycle"),
        ('from = "conv1"', 'from = "conv11"', "layer conv2: from: unknown layer; got 'conv11'; allowed: did you mean"),
    ],
)
def test_a_wrong_network_file_is_named_with_its_key(dse, tiny, tmp_path, old, new, says):
    change(tiny, old, new)
    out = tmp_path / "out"
    for words in (("show", "network", tiny), ("sweep", "-n", tiny, "-d", "zcu102", "-o", out)):
        error = dse(*words).error
        assert error.startswith(str(tiny))
        assert says in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[resources]", "[resources", "is not valid TOML: "),
        ("dsp = 2_520", "dps = 2_520", "resources: "),
        ("dsp = 2_520", "dsp = -1", "resources: dsp: is out of range; got -1"),
        ("dsp = 2_520", 'dsp = "2520"', "resources: dsp: must be a whole number; got '2520'"),
        ("hz = 100_000_000", "hz = nan", "clock: hz: is out of range; got nan"),
        ("hz = 100_000_000", "hz = inf", "clock: hz: is out of range; got inf"),
        ("\nlut = 0.8", "\nlut = 1.8", "usable: lut: "),
    ],
)
def test_a_wrong_device_file_is_named_with_its_key(dse, tmp_path, old, new, says):
    board = tmp_path / "board.toml"
    board.write_text(Path(dse("show", "device", "zcu102", "--json").json["device"]["path"]).read_text())
    change(board, old, new)
    out = tmp_path / "out"
    for words in (("show", "device", board), ("sweep", "-n", "lenet10", "-d", board, "-o", out)):
        error = dse(*words).error
        assert error.startswith(str(board))
        assert says in error
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[conv1.forward", "is not valid TOML: "),
        ("[conv9.forward]\ntr = 2", "conv9: is no layer of lenet10; allowed: did you mean 'conv"),
        (
            "[conv1.forwrd]\ntr = 2",
            "conv1: forwrd: is no tiled phase of it; allowed: did you mean 'forward'?",
        ),
        ("[conv1.input_grad]\ntr = 2", "conv1: input_grad: is no tiled phase of it; allowed: "),
        ("[conv2.update]\ntr = 2", "conv2: update: is no tiled phase of it; allowed: "),
        ("[relu1.forward]\ntr = 2", "relu1: has no tiles: only conv, conv_transpose, fc, matmul have; got 'relu'"),
        ("[conv1.forward]\ntrr = 2", "conv1: forward: trr: is no tile of family channel; allowed: did you mean 'tr'?"),
        ("[conv1.forward]\ntr = 0", "conv1: forward: tr: is out of range; got 0; allowed: >= 1"),
        ("[conv1.forward]\ntr = 'x'", "conv1: forward: tr: must be a whole number; got 'x'"),
        ("[conv1]\nforward = 3", "conv1: forward: must be a table; got 3"),
        ("conv1 = 3", "conv1: must be a table; got 3"),
    ],
)
def test_a_wrong_tiling_file_is_named_with_its_key(dse, tmp_path, text, says):
    path = tmp_path / "tiling.toml"
    path.write_text(text)
    error = dse(*ESTIMATE, "--tiling", path).error
    assert error.startswith(str(path))
    assert says in error


def test_a_tiling_needs_the_lanes(dse, tmp_path):
    path = tmp_path / "tiling.toml"
    path.write_text("[conv1.forward]\ntr = 2")
    error = dse("estimate", "-n", "lenet10", "-d", "zcu102", "-m", "channel", "--set", "tm=8", "--tiling", path).error
    assert error.startswith("--set tn: is needed with --tiling; allowed: tn=")


def test_an_output_folder_with_files_is_left_alone(dse, tmp_path):
    kept = tmp_path / "notes.txt"
    kept.write_text("mine")
    assert dse(*SWEEP, tmp_path).error == (
        f"--output {tmp_path}: the folder is not empty; allowed: an empty or new folder, or --force"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_an_output_that_is_a_file_or_below_one_is_refused(dse, tmp_path, force):
    kept = tmp_path / "notes.txt"
    kept.write_text("mine")
    assert f"--output {kept}: is a file" in dse(*SWEEP, kept, *force).error
    assert f"--output {kept / 'out'}: cannot be written" in dse(*SWEEP, kept / "out", *force).error
    assert kept.read_text() == "mine"


def test_an_output_folder_that_cannot_be_written_is_refused(dse, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    target = Path("/proc/nothing") if os.access(locked, os.W_OK) else locked / "out"  # root may write anywhere else
    error = dse(*SWEEP, target).error
    assert error.startswith(f"--output {target}: cannot be written: ")
    assert not any(locked.iterdir())


def test_bad_input_in_a_real_process_leaves_the_folder_untouched(tmp_path):
    words = command("sweep", "-n", "alexnet", "-d", "zcu12", "-o", "out", "--json")
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: device: unknown device; got 'zcu12'; allowed: did you mean 'zcu102'?")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
