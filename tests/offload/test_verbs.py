"""``dse offload advise`` and ``rank`` as a user calls them."""

from __future__ import annotations

import pytest


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
        (("advise", "nothing.csv"), "nothing.csv: cannot be read: No such file or directory"),
        (("rank", "--size", "1", "2"), "--size: needs three numbers; got '1 2'; allowed: M K N"),
        (("rank", "--boards", "0"), "--boards: must be a whole number; got '0'; allowed: 1 to 1024"),
        (("advize",), "dse offload: unknown command; got 'advize'; allowed: did you mean 'advise'?"),
    ],
)
def test_bad_input_is_one_line(dse, words, says):
    assert says in dse("offload", *words).error
