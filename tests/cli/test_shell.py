from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from tests.cli.cli_process import ROOT, command, environment

HEAVY = ("numpy", "pandas", "optuna", "plotly", "pyarrow", "rich", "pydantic")


def test_no_verb_prints_help(dse):
    done = dse()
    assert done.code == 0
    for verb in ("sweep", "estimate", "validate", "list", "show"):
        assert verb in done.out


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("verb", ["sweep", "estimate", "validate", "list", "show", ""])
def test_every_verb_has_help(dse, verb, flag):
    done = dse(*([verb] if verb else []), flag)
    assert done.code == 0
    assert done.out.startswith("Usage: dse")


def test_help_of_sweep_names_every_flag(dse):
    text = dse("sweep", "--help").out
    short = ("-n", "-d", "-m", "-b", "-o", "-q", "--precision", "--objective", "--search", "--sampler", "--trials")
    for flag in (*short, "--seed", "--jobs", "--reading", "--no-prove", "--force", "--json"):
        assert flag in text, flag


def test_version(dse):
    import dse as package

    done = dse("--version")
    assert done.out == f"dse {package.__version__}\n"
    assert done.code == 0


def test_console_script_and_module_are_the_same(shell):
    code = "import sys; sys.argv = ['dse', 'list', 'samplers']; from dse.cli import main; main()"
    script = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    module = shell("list", "samplers")
    assert (script.returncode, script.stdout) == (module.code, module.out)


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["list", "networks"],
        ["list", "devices"],
        ["list", "samplers"],
    ],
)
def test_light_commands_import_nothing_heavy(words):
    code = (
        f"import sys; sys.argv = ['dse', *{words!r}]\n"
        "from dse.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n"
        f"    print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert done.stderr == "[]\n"


def test_importing_the_package_imports_nothing_heavy():
    code = f"import dse, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
    assert done.stdout == "[]\n"


def test_a_closed_pipe_is_quiet():
    words = " ".join(command("show", "network", "resnet50"))
    done = subprocess.run(
        ["bash", "-c", f"{words} | head -n 1; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert done.stdout.splitlines() == ["resnet50: input 3x224x224 (channels x height x width), per sample", "0"]
    assert done.stderr == ""


def test_tables_are_framed_on_a_terminal():
    """A real terminal: the far end of a pseudo-terminal pair."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command("list", "samplers"), stdout=theirs, cwd=ROOT, env=environment()) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                block = os.read(ours, 4096)
            except OSError:
                break
            if not block:
                break
            seen += block
        process.wait()
    os.close(ours)
    assert "┃" in seen.decode()
    assert "nsga2" in seen.decode()


def test_output_survives_a_terminal_without_unicode(shell, tmp_path):
    environment_ = {**environment(), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command("show", "device", "zcu102"), capture_output=True, text=True, env=environment_)
    assert done.returncode == 0
    assert done.stderr == ""
