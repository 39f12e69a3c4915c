from __future__ import annotations

import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import dse as package
from tests.cli.cli_process import ROOT, TerminalErrors, command, environment

CELL_KEYS = {
    "network", "device", "family", "batch_size", "precision", "evaluated", "search_s", "proof", "best", "pareto",
}  # fmt: skip
SMALL = ("sweep", "-n", "lenet10", "-d", "zcu102", "-m", "channel", "-b", "4", "--trials", "20")


@pytest.fixture
def no_dsp(dse, tmp_path):
    """A board with a single DSP block, on which no floating-point lane fits."""
    path = tmp_path / "no_dsp.toml"
    text = Path(dse("show", "device", "zcu102", "--json").json["device"]["path"]).read_text()
    text = text.replace('name = "zcu102"', 'name = "no_dsp"').replace("dsp = 2_520", "dsp = 1")
    path.write_text(text.split("[[power]]")[0] + "[sources]" + text.split("[sources]")[1])
    return path


def without_times(content: object) -> object:
    """Wall times differ from run to run; all else must not."""
    if isinstance(content, dict):
        timed = {"search_s", "seconds", "created", "files", "argv"}
        return {key: without_times(value) for key, value in content.items() if key not in timed}
    return [without_times(item) for item in content] if isinstance(content, list) else content


def test_json_has_the_documented_keys_and_the_files_are_there(dse, tmp_path):
    out = tmp_path / "out"
    done = dse(*SMALL, "-o", out, "--json")
    content = done.json
    cell = content["cells"][0]
    assert done.code == 0
    assert done.err == ""
    assert set(content) >= {"schema_version", "cells", "files"}
    assert set(cell) >= CELL_KEYS
    assert set(cell["proof"]) >= {"kind", "gap"}
    assert set(cell["best"]) >= {"point", "estimate"}
    assert cell["best"]["estimate"]["feasible"]
    assert cell["pareto"]
    written = {path.name for path in out.iterdir()}
    assert written >= {"result.json", "points.parquet", "pareto.csv", "report.html"}
    assert {Path(path).name for path in content["files"].values()} == written
    assert next(iter(content["files"].values())).endswith("report.html")
    assert all((tmp_path / path).is_file() for path in content["files"].values())


def test_the_printed_object_is_the_saved_one(dse, tmp_path):
    out = tmp_path / "out"
    printed = dse(*SMALL, "-o", out, "--json").json
    saved = json.loads((out / "result.json").read_text())
    assert without_times(saved["cells"]) == without_times(printed["cells"])


def test_text_says_winner_proof_papers_and_the_report_first(dse, tmp_path):
    out = tmp_path / "out"
    done = dse(*SMALL, "-o", out)
    assert done.code == 0
    assert "lenet10 on zcu102, channel, batch 4, fp32" in done.out
    assert "winner     tm=" in done.out
    assert "20 trials" in done.out
    assert " s, gap to the proven optimum " in done.out
    assert "samples/s" in done.out
    assert "papers     EF-Train" in done.out
    assert "%)" in done.out
    files = done.out.rstrip().rsplit("\n\n", 1)[1].splitlines()
    assert "report.html" in files[0]


def test_the_grid_is_every_network_device_family_and_batch(dse, tmp_path):
    words = ("-n", "lenet10", "nada_demo", "-d", "zcu102", "-d", "u50", "-m", "batch", "channel", "-b", "4", "8")
    content = dse("sweep", *words, "--trials", 3, "--no-prove", "-o", tmp_path / "out", "--json").json
    cells = [(c["network"], c["device"], c["family"], c["batch_size"]) for c in content["cells"]]
    assert len(cells) == len(set(cells)) == 16
    assert {cell["proof"]["kind"] for cell in content["cells"]} == {"none"}
    assert {cell["proof"]["gap"] for cell in content["cells"]} == {None}


def test_the_same_seed_gives_the_same_result_and_jobs_do_not_matter(dse, tmp_path):
    words = ("sweep", "-n", "lenet10", "-d", "zcu102", "u50", "-m", "channel", "--trials", 20, "--no-prove", "--json")
    first, again, parallel, other = (
        dse(*words, *extra, "-o", tmp_path / str(number)).json["cells"]
        for number, extra in enumerate([("--seed", 1), ("--seed", 1), ("--seed", 1, "--jobs", 2), ("--seed", 2)])
    )
    assert without_times(first) == without_times(again) == without_times(parallel)
    assert [cell["seed"] for cell in other] == [2, 2]


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "random", "qmc"])
def test_every_sampler(dse, tmp_path, sampler):
    cell = dse(*SMALL, "--sampler", sampler, "-o", tmp_path / "out", "--json").json["cells"][0]
    assert 0 < cell["evaluated"] <= 20
    assert cell["proof"]["gap"] >= 0


def test_exhaustive_search_is_its_own_proof(dse, tmp_path):
    out = tmp_path / "out"
    words = ("sweep", "-n", "lenet10", "-d", "zcu102", "-m", "batch", "-b", "4", "--search", "exhaustive")
    cell = dse(*words, "-o", out, "--json").json["cells"][0]
    assert cell["proof"]["kind"] in ("exhaustive", "bound")
    assert cell["proof"]["gap"] == 0
    assert " distinct points, " in dse(*words, "-o", out, "--force").out


def test_several_objectives_give_a_front(dse, tmp_path):
    objectives = ("--objective", "latency", "dsp", "--objective", "bram")
    done = dse(*SMALL, *objectives, "-o", tmp_path / "out", "--json")
    cell = done.json["cells"][0]
    times = [candidate["estimate"]["iteration_s"] for candidate in cell["pareto"]]
    assert len(times) > 1
    assert times == sorted(times)
    text = dse(*SMALL, *objectives, "-o", tmp_path / "other").out
    assert "points in latency, dsp, bram" in text


def test_reading_and_precision_reach_the_cells(dse, tmp_path):
    words = (*SMALL, "--reading", "published", "--precision", "int16", "--no-prove", "-o", tmp_path / "out", "--json")
    cell = dse(*words).json["cells"][0]
    assert cell["reading"] == "published"
    assert cell["precision"] == "int16"


def test_all_families_by_default(dse, tmp_path):
    words = ("sweep", "-n", "lenet10", "-d", "u250", "--trials", 3, "--no-prove", "-o", tmp_path / "out", "--json")
    assert {cell["family"] for cell in dse(*words).json["cells"]} >= {"batch", "feature_map", "channel"}


def test_force_writes_into_a_folder_with_files_and_keeps_the_others(dse, tmp_path):
    kept = tmp_path / "notes.txt"
    kept.write_text("mine")
    assert dse(*SMALL, "--no-prove", "-o", tmp_path, "--force", "-q").code == 0
    assert kept.read_text() == "mine"
    assert (tmp_path / "report.html").is_file()


def test_quiet_prints_nothing(dse, tmp_path):
    done = dse(*SMALL, "--no-prove", "-o", tmp_path / "out", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_networks_and_devices_by_path(dse, tmp_path):
    network = dse("show", "network", "lenet10", "--json").json["network"]["path"]
    device = dse("show", "device", "zcu102", "--json").json["device"]["path"]
    words = ("-n", network, "-d", device, "-m", "channel", "--trials", 3, "--no-prove", "-o", tmp_path / "out")
    assert dse("sweep", *words).code == 0


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_nothing_feasible_is_diagnosed_and_exits_1(dse, tmp_path, as_json, no_dsp):
    out = tmp_path / "out"
    done = dse("sweep", "-n", "lenet10", "-d", no_dsp, "-m", "channel", "--trials", 5, "-o", out, *as_json)
    assert done.code == 1
    assert done.err.startswith("error: nothing feasible: channel on no_dsp: dsp ")
    assert "% over" in done.err
    assert done.err.count("\n") == 1
    assert (out / "result.json").is_file()
    if as_json:
        cell = done.json["cells"][0]
        assert cell["best"] is None
        assert cell["diagnosis"]["short"]
        assert cell["diagnosis"]["smallest_board"]
    else:
        for label in ("none: nothing feasible", "short of", "nearest", "the smallest shipped board that does"):
            assert label in done.out


def test_one_feasible_cell_is_enough(dse, tmp_path, no_dsp):
    words = ("sweep", "-n", "lenet10", "-d", no_dsp, "zcu102", "-m", "channel", "--trials", 5, "--no-prove")
    done = dse(*words, "-o", tmp_path / "out")
    assert done.code == 0
    assert "none: nothing feasible" in done.out


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupt_saves_what_was_found_and_exits_130(tmp_path, jobs):
    """Ctrl-C as a terminal sends it, to the whole process group, once the progress bar shows the search."""
    words = (
        "-n",
        "alexnet",
        "-d",
        "zcu102",
        "vcu1525",
        "-m",
        "channel",
        "--trials",
        10**6,
        "--jobs",
        jobs,
        "-o",
        "out",
    )
    with TerminalErrors(command("sweep", *words), tmp_path) as run:
        run.wait_for("search (")
        os.killpg(run.process.pid, signal.SIGINT)
        out = run.finish()
    assert run.process.returncode == 130, run.seen
    assert "interrupted: what was found so far is saved" in run.seen
    assert "Traceback" not in run.seen
    saved = json.loads((tmp_path / "out" / "result.json").read_text())
    assert saved["run"]["interrupted"] is True
    assert saved["cells"][0]["best"]["estimate"]["feasible"]
    assert "winner" in out


def test_no_progress_where_stderr_is_no_terminal(shell):
    done = shell(*SMALL, "--no-prove")
    assert done.code == 0
    assert done.err == ""


def test_progress_bar_on_a_terminal_unless_quiet(tmp_path):
    words = ("sweep", "-n", "lenet10", "-d", "zcu102", "-m", "channel", "--trials", 50, "--no-prove", "--force")
    for extra, seen in (((), True), (("--quiet",), False)):
        with TerminalErrors(command(*words, *extra), tmp_path) as run:
            run.finish()
        assert run.process.returncode == 0
        assert ("left" in run.seen) is seen


def test_the_example_prints_parameters_for_a_generator(tmp_path):
    words = [command()[0], str(ROOT / "examples" / "sweep_and_pick.py")]
    done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("parameter int unsigned TM = ")
    assert "gap to the optimum" in done.stdout


def test_the_library_sweeps_and_gives_a_frame():
    result = package.sweep(["lenet10"], ["zcu102"], ["channel"], batch_sizes=[4], trials=10, prove=False)
    assert isinstance(result, package.ResultSet)
    frame = result.to_frame()
    assert list(frame["network"]) == ["lenet10"]
    assert bool(frame["feasible"][0])


def test_an_unknown_gap_is_not_printed_as_a_number():
    from dse.cli.sweep_text import proof_text

    result = package.sweep(["lenet10"], ["zcu102"], ["channel"], batch_sizes=[4], trials=3, prove=False)
    cell = result.cells[0]
    assert "optimum not proven (" in proof_text(cell, 3)
    missed = replace(cell, proof=replace(cell.proof, kind="bound", gap=float("inf")))
    assert proof_text(missed, 3).endswith("none of them feasible; the winner is the proven optimum")
