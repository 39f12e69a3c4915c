"""``dse offload advise`` and ``rank`` as a user calls them."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.cli.cli_process import TerminalErrors, command


def test_advise_prints_every_operation_its_assumptions_and_the_score(dse):
    done = dse("offload", "advise")
    assert done.code == 0
    assert "link         12 GB/s" in done.out
    assert "GPU 39 W, FPGA 13 W" in done.out
    assert done.out.splitlines()[-1] == ("rule against measured times: 7 rightly offloaded, 3 wrongly, 0 missed")


def test_a_free_link_lets_operations_go_and_a_real_one_does_not(dse):
    def verdicts(*words):
        return [o["verdict"] for o in dse("offload", "advise", *words, "--json").json["operations"]]

    assert verdicts("--link", "inf").count("offload") == 7
    assert verdicts("--link", "12").count("offload") == 0


def test_power_of_three_boards_is_counted_when_asked_for(dse):
    one, three = (
        dse("offload", "advise", "--fpga-power-factor", factor, "--json").json["operations"][0]["energy_ratio"]
        for factor in (1, 3)
    )
    assert three == pytest.approx(3 * one)


def test_thresholds_can_be_given(dse):
    done = dse("offload", "advise", "--max-bandwidth", 50, "--max-ipc", 6, "--json")
    rules = {o["name"]: o["rule"] for o in done.json["operations"]}
    assert rules["MatMul medium"] is True
    assert rules["Conv2D medium"] is False


def test_rank_flags_the_impossible_row(dse):
    done = dse("offload", "rank", "--boards", 3)
    assert [line.split()[0] for line in done.out.splitlines() if "below the least" in line] == ["4"]
    assert "rank correlation with the measured times (Spearman): 1.000" in done.out
    content = dse("offload", "rank", "--size", 1, 2, 3, "--json").json
    assert content["macs"] == 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("advise", "--rule", "nand"), "--rule: unknown value; got 'nand'; allowed: did you mean 'and'?"),
        (("advise", "--link", "0"), "--link: must be a number; got '0'; allowed: 1e-06 to 1e+06 or inf"),
        (("advise", "--gpu-idle", "x"), "--gpu-idle: must be a number; got 'x'; allowed: 0 to 10000"),
        (("advise", "--calibrate", "MatMul", "Conv3D"), "got 'Conv3D'; allowed: "),
        (("advise", "--trace", "t.json"), "--trace: is of a network's step; allowed: with --network"),
        (("advise", "-d", "zcu102"), "--device: is of a network's step; allowed: with --network"),
        (("advise", "nothing.csv"), "nothing.csv: cannot be read: No such file or directory"),
        (("rank", "--size", "1", "2"), "--size: needs three numbers; got '1 2'; allowed: M K N"),
        (("rank", "--boards", "0"), "--boards: must be a whole number; got '0'; allowed: 1 to 1024"),
        (("advize",), "dse offload: unknown command; got 'advize'; allowed: did you mean 'advise'?"),
    ],
)
def test_bad_input_is_one_line(dse, words, says):
    assert says in dse("offload", *words).error


def test_simulate_compares_with_the_gpu_alone_and_states_what_it_assumes(dse):
    done = dse("offload", "simulate", "-n", "alexnet", "--link", "inf", "--contention", "1.178")
    assert done.code == 0
    assert done.out.startswith("alexnet, batch 256, goal energy\n")
    for text in ("contention relief  1.178", "link               infinite", "GPU 39 W, FPGA 13 W, host 0 W"):
        assert text in done.out
    assert done.out.splitlines()[-1].startswith("a scenario from the assumptions above, not a measurement")


def test_the_link_decides(dse):
    def efficiency(link):
        return dse("offload", "simulate", "-n", "alexnet", "--link", link, "--json").json["efficiency_ratio"]

    ratios = [efficiency(link) for link in (0.1, 12, "inf")]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1.01
    assert ratios[2] > 1.2


def test_a_board_of_ours_is_the_fpga_side(dse):
    words = ("-n", "lenet10", "-d", "zcu102", "-b", 16, "--set", "tm=16", "tn=16", "ifm_words=1024")
    more = ("ofm_words=512", "wei_words=512", "--json")
    content = dse("offload", "simulate", *words, *more).json
    assert content["assumptions"]["FPGA times"].startswith("zcu102, channel, tm=16, tn=16")
    assert content["throughput_ratio"] >= 1
    advice = dse("offload", "advise", *words, *more).json["operations"]
    conv = next(o for o in advice if o["name"] == "conv1 forward")
    assert conv["faster"] is False
    assert conv["break_even_bytes_per_s"] is None


def test_a_cap_that_nothing_meets_exits_1_and_one_that_binds_is_kept(dse):
    nothing = dse("offload", "simulate", "-n", "lenet10", "--goal", "cap", "--cap", 50)
    assert nothing.code == 1
    assert "no assignment of operations stays within 50 W" in nothing.out
    kept = dse("offload", "simulate", "-n", "lenet10", "--goal", "cap", "--cap", 200, "--evaluations", 50, "--json")
    assert kept.json["hybrid"]["peak_power_w"] <= 200
    assert kept.json["gpu_only"]["peak_power_w"] <= 200


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--goal", "enrgy"), "--goal: unknown value; got 'enrgy'; allowed: did you mean 'energy'?"),
        (("--goal", "cap"), "--cap: is needed with --goal cap; allowed: a power in watts"),
        (("--contention", "0.9"), "--contention: must be a number; got '0.9'; allowed: 1 to 10"),
        (("--dvfs", "1", "0"), "--dvfs: must be a number; got '0'; allowed: 0.01 to 1"),
        (("--gpu", "v10"), "gpu: unknown GPU; got 'v10'; allowed: did you mean 'v100'?"),
        (("--profile", "none"), "--profile: nothing is known of an FPGA; got 'none'; allowed: a profile, or --device"),
        (("-m", "chanel", "-d", "zcu102"), "--family: unknown value; got 'chanel'"),
        (("--set", "tm=4"), "--set: is of a board; allowed: with --device"),
        (("-d", "zcu104", "-b", "4"), "device zcu104: no power is published for this board; allowed: --fpga-power W"),
        (("-d", "zcu102", "--set", "tm=4"), "tn"),
    ],
)
def test_bad_input_to_simulate_is_one_line(dse, words, says):
    assert says in dse("offload", "simulate", "-n", "lenet10", *words).error


def test_the_printed_rule_of_the_paper_leaves_no_schedule_under_its_cap(dse):
    done = dse("offload", "simulate", "-n", "alexnet", "--goal", "cap", "--cap", 230, "--dvfs", 1)
    assert done.code == 1
    assert "no assignment of operations stays within 230 W" in done.out


def test_nothing_to_offload_is_said(dse):
    done = dse("offload", "simulate", "-n", "lenet10", "-b", 16, "--link", "0.001", "--evaluations", 50)
    assert "operations that an FPGA could run: each is best left on the GPU" in done.out
    assert "+0.0 %" in done.out


def test_a_format_that_the_card_lacks_is_said(dse):
    words = ("-n", "lenet10", "-b", 16, "--precision", "int8", "--evaluations", 5)
    assert "in fp32 because it has no int8" in dse("offload", "simulate", *words).out


def test_several_gpus_and_fpgas(dse):
    words = ("-n", "lenet10", "-b", 16, "--gpus", 2, "--fpgas", 3, "--link", "inf", "--evaluations", 60, "--json")
    content = dse("offload", "simulate", *words).json
    assert content["assumptions"]["devices"] == "2 GPU, 3 FPGA"
    assert {run["unit"] for run in content["runs"]} >= {"gpu0", "gpu1", "fpga0"}
    assert content["throughput_ratio"] >= 1


def test_a_report_is_written_once_and_not_over_another(dse, tmp_path):
    path = tmp_path / "timeline.html"
    words = ("offload", "simulate", "-n", "lenet10", "-b", 16, "--evaluations", 20, "-o", path)
    assert f"report: {path}" in dse(*words).out
    assert f"dse {' '.join(map(str, words))}" in path.read_text()
    assert "the file exists; allowed: a name that is free, or --force" in dse(*words).error
    assert dse(*words, "--force").code == 0
    assert "is no .html file" in dse(*words[:-1], tmp_path / "timeline.txt").error
    assert "its folder does not exist" in dse(*words[:-1], tmp_path / "absent" / "timeline.html").error


def test_an_interrupt_prints_the_best_so_far(tmp_path):
    words = ("offload", "simulate", "-n", "resnet50", "--evaluations", 100_000)
    with TerminalErrors(command(*words), tmp_path) as run:
        run.wait_for("assigning 161 operations")
        run.wait_for("%")
        time.sleep(0.5)
        os.killpg(run.process.pid, signal.SIGINT)
        out = run.finish()
    assert run.process.returncode == 130
    assert "resnet50, batch 256, goal energy" in out
    assert "Traceback" not in run.seen
