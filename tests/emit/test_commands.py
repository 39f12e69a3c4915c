"""``dse emit``, ``dse verify`` and ``dse sweep --emit`` as a user types them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.emit import load_design
from dse.emit.files import sha256
from dse.verify import run as run_module
from dse.verify.run import REPORT
from tests.cli.cli_process import ROOT, Outcome
from tests.cli.conftest import dse as dse_command
from tests.cli.test_json_docs import check

dse = dse_command
Dse = Callable[..., Outcome]


def documented(verb: str) -> Any:
    """The example of a verb's object in docs/json.md."""
    text = (ROOT / "docs" / "json.md").read_text("utf-8")
    (shown,) = re.findall(rf"^## {verb}\n.*?^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return json.loads(shown)


def test_emit_writes_and_says_what(dse: Dse, saved: Path, tmp_path: Path) -> None:
    done = dse("emit", saved, "-o", tmp_path / "rtl")
    assert done.code == 0
    assert "lenet10, batch 4, int8 on zcu102" in done.out
    assert "0 unchanged" in done.out
    assert load_design(tmp_path / "rtl")[0].device.name == "zcu102"
    again = dse("emit", saved / "result.json", "-o", tmp_path / "rtl", "--json").json
    assert again["written"] == []
    check(documented("emit"), again, "")


def test_emit_takes_a_cell_and_a_point(dse: Dse, saved: Path, tmp_path: Path) -> None:
    for number, family in enumerate(("channel", "batch")):
        target = tmp_path / family
        content = dse("emit", saved, "--cell", number, "--point", "front-0", "-o", target, "--json").json
        assert content["design"]["family"] == family


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("{missing}", "-o", "x"), "missing: cannot be read"),
        (("{saved}", "-o", "x", "--point", "paper-99"), "--point: there is no such point"),
        (("{saved}", "-o", "x", "--cell", "7"), "--cell: there is no such cell"),
        (("{saved}", "-o", "x", "--cell", "one"), "--cell: must be a whole number"),
        (("{saved}", "-o", "{saved}"), "the folder holds other files"),
    ],
)
def test_emit_refuses_with_one_line(
    dse: Dse, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    error = dse("emit", *(word.format(missing=tmp_path / "missing", saved=saved) for word in words)).error
    assert text in error


def test_emit_refuses_inputs_that_have_changed_since(dse: Dse, saved: Path, tmp_path: Path) -> None:
    copy = tmp_path / "result"
    shutil.copytree(saved, copy)
    content = json.loads((copy / "result.json").read_text())
    content["run"]["inputs"]["lenet10"] = "0" * 64
    (copy / "result.json").write_text(json.dumps(content))
    assert "is not the file that the sweep read" in dse("emit", copy, "-o", tmp_path / "rtl").error


def test_sweep_emits_the_winner_of_every_task(dse: Dse, tmp_path: Path) -> None:
    words = ("-n", "lenet10", "-d", "zcu102", "-m", "channel", "-b", "2", "4", "--trials", "8", "--no-prove")
    done = dse("sweep", *words, "--precision", "int8", "--emit", "-o", tmp_path / "out", "--json")
    assert done.code == 0
    for batch in (2, 4):
        folder = tmp_path / "out" / "rtl" / f"lenet10-zcu102-{batch}"
        assert done.json["files"][f"rtl {folder.name}"] == str(folder)
        assert load_design(folder)[0].workload.batch_size == batch


def test_sweep_refuses_to_emit_floats_before_it_searches(dse: Dse, tmp_path: Path) -> None:
    error = dse("sweep", "-n", "lenet10", "-d", "zcu102", "--emit", "-o", tmp_path / "out").error
    assert "--emit: the RTL has integer lanes only; got '--precision fp32'" in error
    assert not (tmp_path / "out").exists()


def test_verify_prints_a_table_and_writes_its_report(dse: Dse, folder: Path) -> None:
    done = dse("verify", folder, "--max-cycles", "800", "--layer", "conv1", "fc2", "--stall", "30", "--latency", "5")
    assert done.code == 0, done.err
    assert "5 of 5 phases bit-exact" in done.out
    assert str(folder / REPORT) in done.out
    content = dse("verify", folder, "--max-cycles", "800", "--layer", "conv1", "--json").json
    check(documented("verify"), content, "")
    saved = json.loads((folder / REPORT).read_text())
    assert saved == {key: content[key] for key in saved}
    assert "2 of 2 phases bit-exact" in (folder / "verify.html").read_text("utf-8")


def test_the_report_of_the_sweep_shows_what_verify_found(dse: Dse, saved: Path, folder: Path, tmp_path: Path) -> None:
    sweep, page = tmp_path / "out", tmp_path / "out" / "report.html"
    shutil.copytree(saved, sweep)
    shutil.copytree(folder, sweep / "rtl" / "lenet10-zcu102-4")
    shutil.copytree(folder, sweep / "rtl" / "stale", ignore=shutil.ignore_patterns("build"))
    (sweep / "rtl" / "stale" / REPORT).write_text('{"design_sha256": "of another design"}')
    words = ("verify", sweep / "rtl" / "lenet10-zcu102-4", "--max-cycles", "400", "--layer", "fc2")
    assert dse(*words, "--json").json["sweep_report"] == str(page)
    text = page.read_text("utf-8")
    assert text.count("<h3>Simulated RTL</h3>") == 1
    assert "3 of 3 phases bit-exact" in text
    (sweep / "rtl" / "stale" / REPORT).write_text("[]")
    assert "stale/verify.json: is not what dse verify writes" in dse(*words).error


def test_an_interrupted_verification_keeps_what_it_has(dse: Dse, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_case, calls = run_module.run_case, []

    def once(*words: Any) -> Any:
        calls.append(words)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return run_case(*words)

    monkeypatch.setattr(run_module, "run_case", once)
    done = dse("verify", folder, "--max-cycles", "800", "--json")
    assert done.code == 130
    assert done.json["interrupted"]
    assert len(json.loads((folder / REPORT).read_text())["phases"]) == 1


def test_verify_refuses_with_one_line(dse: Dse, folder: Path, tmp_path: Path) -> None:
    assert "design.json: cannot be read" in dse("verify", tmp_path).error
    assert "--layer: the engine runs no layer" in dse("verify", folder, "--layer", "relu1").error
    assert "--stall: must be a whole number" in dse("verify", folder, "--stall", "100").error
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / "filelist.f").write_text("rtl/other.sv\n")
    assert "filelist.f: is not the file that dse emit wrote" in dse("verify", tmp_path / "copy").error


def test_a_lint_failure_is_told_with_the_tools_words(dse: Dse, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    top = tmp_path / "copy" / "rtl" / "accelerator.sv"
    top.write_text(top.read_text().replace("bad_base, lanes_work;", "bad_base, lanes_work, spare;"))
    design = tmp_path / "copy" / "design.json"
    content = json.loads(design.read_text())
    content["files"]["rtl/accelerator.sv"] = sha256(top.read_bytes())
    design.write_text(json.dumps(content))
    done = dse("verify", tmp_path / "copy")
    assert done.code == 1
    assert "UNUSEDSIGNAL" in done.err
    assert "'spare'" in done.err
