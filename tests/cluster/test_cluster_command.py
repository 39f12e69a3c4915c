"""``dse cluster``: what it prints, writes and refuses."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from tests.cli.cli_process import Outcome, run_here


def run(folder: Path, *words: object) -> Outcome:
    with contextlib.chdir(folder):
        return run_here("cluster", *words)


def test_plan_is_printed_written_and_checked(tmp_path: Path) -> None:
    words = ("plan", "-n", "nada_demo", "-c", "nada", "--nodes", 3, "--gap", 0.5, "--time-limit", 20, "-o", "p.json")
    done = run(tmp_path, *words)
    assert done.code == 0, done.err
    for text in ("nada_demo on 3 nodes of nada", "throughput", "binding", "use of every node", "plan: p.json"):
        assert text in done.out
    plan = json.loads((tmp_path / "p.json").read_text())
    assert plan["schema_version"] == 1
    assert len(plan["nodes"]) == 3
    checked = run(tmp_path, "check", "p.json")
    assert checked.code == 0
    assert checked.out.endswith("every constraint holds\n")
    plan["stages"][-1]["node"] = "fpga2"
    (tmp_path / "p.json").write_text(json.dumps(plan))
    broken = run(tmp_path, "check", "p.json", "--json")
    assert broken.code == 1
    assert "input, output and loss are on the node with the host" in {b["rule"] for b in broken.json["breaches"]}


def test_scale_is_one_line_for_each_number(tmp_path: Path) -> None:
    done = run(tmp_path, "scale", "-n", "nada_demo", "-c", "nada", "--nodes", "1..2", "--gap", 0.6)
    assert done.code == 0, done.err
    assert [line.split()[0] for line in done.out.splitlines()[2:]] == ["1", "2"]


def test_what_does_not_fit_says_what_is_missing(tmp_path: Path) -> None:
    done = run(tmp_path, "plan", "-n", "nada_example", "-c", "nada", "--nodes", 2, "--reading", "nada")
    assert done.code == 1
    assert "does not fit" in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan", "-n", "nada_demo", "-c", "nadda"), "cluster: unknown cluster; got 'nadda'; allowed: did you mean"),
        (("plan", "-n", "nada_demo", "-c", "nada", "--nodes", "17"), "cluster nada: has not so many nodes; got 17"),
        (("plan", "-n", "nada_demo", "-c", "nada", "--nodes", "x"), "--nodes: must be a whole number; got 'x'"),
        (("plan", "-n", "nada_demo", "-c", "nada", "--gap", "nan"), "--gap: must be a number; got 'nan'"),
        (("plan", "-n", "nada_demo", "-c", "nada", "--model-parallel", "conv1"), "must be GROUP:M"),
        (("plan", "-n", "nada_demo", "-c", "nada", "--model-parallel", "conv1:2"), "has no channel-wise run"),
        (("plan", "-n", "nada_demo", "-c", "nada", "--precision", "int4"), "--precision: unknown value"),
        (("plan", "-n", "nada_demo", "-c", "nada", "--reading", "nda"), "did you mean 'nada'"),
        (("plan", "-n", "nada_demo", "-c", "nada", "-o", "no/where.json"), "its folder does not exist"),
        (("scale", "-n", "nada_demo", "-c", "nada", "--nodes", "5..2"), "the range ends before it begins"),
        (
            ("scale", "-n", "nada_demo", "-c", "mixed8", "--nodes", "9..20"),
            "has not so many nodes; got 20; allowed: 1 to 8",
        ),
        (("check", "missing.json"), "missing.json: cannot be read: No such file or directory"),
        (("chek",), "unknown command; got 'chek'; allowed: did you mean 'check'?"),
    ],
)
def test_bad_input_is_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert message in run(tmp_path, *words).error


def test_best_compares_kinds_of_parallelism(tmp_path: Path) -> None:
    done = run(tmp_path, "best", "-n", "lenet10", "-c", "nada", "--nodes", 2, "--time-limit", 2, "--gap", 0.5, "--json")
    assert done.code == 0, done.err
    rows = done.json["arrangements"]
    assert {"LP", "DP"} <= {row["kind"] for row in rows}
    assert rows[0]["fps"] == max(row["fps"] or 0 for row in rows)


def test_the_best_plan_so_far_is_simulated_and_drawn(tmp_path: Path) -> None:
    words = ("-n", "nada_demo", "-c", "nada", "--nodes", 2, "--gap", 0.5, "--simulate", "--report", "page.html")
    done = run(tmp_path, "plan", *words)
    assert done.code == 0, done.err
    assert "simulated" in done.out
    assert "report: page.html" in done.out
    assert "timeline-0-data" in (tmp_path / "page.html").read_text("utf-8")
