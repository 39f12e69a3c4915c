"""Profiles from CSV files: what a good one holds, and one line for each way to be wrong."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dse.errors import InputError
from dse.offload import load_configurations, load_profile

GOOD = """\
# source: bench of mine
op,size,gpu_ms,gpu_w,fpga_ms,fpga_w,link_mb,layer,phase,calls
Conv2D,,2,250,4,30,8,conv1,forward,
ReLU,small,0.5,100,,,,,,3
"""


def write(path: Path, text: str) -> Path:
    (path / "profile.csv").write_text(text)
    return path / "profile.csv"


def test_units_become_seconds_watts_and_bytes(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path, GOOD))
    conv, relu = profile.operations
    assert profile.source == "bench of mine"
    assert profile.least_fpga_w == 30
    assert (conv.gpu.seconds, conv.gpu.watts, conv.gpu.peak_watts) == (2e-3, 250, 250)
    assert conv.fpga is not None
    assert (conv.fpga.seconds, conv.link_bytes, conv.name) == (4e-3, 8e6, "conv1 forward")
    assert (relu.fpga, relu.calls, relu.name) == (None, 3, "ReLU small")
    assert math.isnan(relu.moved_bytes)


def test_fpga_power_is_scaled_and_nothing_else(tmp_path: Path) -> None:
    profile = load_profile(write(tmp_path, GOOD))
    tripled = profile.with_fpga_power(3)
    assert tripled.operations[0].fpga is not None
    assert tripled.operations[0].fpga.watts == 90
    assert tripled.operations[0].fpga.seconds == 4e-3
    assert tripled.operations[1] == profile.operations[1]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("gpu_ms", "gpu_mss", "header: unknown column; got 'gpu_mss'; allowed: did you mean 'gpu_ms'?"),
        ("gpu_w,", "gpu_ipc,", "header: column 'gpu_w' is missing"),
        ("op,size", "op,op", "header: column is there twice; got 'op'"),
        ("2,250", "-2,250", "line 3: gpu_ms: must be a number; got '-2'; allowed: finite and > 0"),
        ("2,250", "2,inf", "line 3: gpu_w: must be a number; got 'inf'"),
        ("4,30", ",30", "line 3: fpga_ms: fpga_ms and fpga_w are given together or not at all; got 'only fpga_w'"),
        ("forward", "foward", "line 3: phase: unknown phase; got 'foward'; allowed: did you mean 'forward'?"),
        ("conv1,forward", "conv1,", "line 3: layer: a row has both layer and phase, or neither"),
        (",3\n", ",0\n", "line 4: calls: must be a whole number; got '0'; allowed: 1 to"),
        (",3\n", ",3,9\n", "line 4: has more cells than the header; got 11; allowed: up to 10"),
        ("ReLU,small,0.5", ",small,0.5", "line 4: op: must not be empty"),
        ("ReLU", '"ReLU', "is not valid CSV"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_profile(path)
    assert str(caught.value).startswith(str(path))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_says_things_twice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"profile: unknown profile; got 'hype_table'; .* mean 'hype_table1'"):
        load_profile("hype_table")
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be read: No such file"):
        load_profile(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="needs a header line and at least one row"):
        load_profile(write(tmp_path, "op,gpu_ms,gpu_w\n"))
    with pytest.raises(InputError, match="line 3: op: stands already in line 2; got 'a'"):
        load_profile(write(tmp_path, "op,gpu_ms,gpu_w\na,1,1\na,2,2\n"))
    with pytest.raises(InputError, match=r"gpu_peak_w: is below the mean power; got 9\.0; allowed: >= 10"):
        load_profile(write(tmp_path, "op,gpu_ms,gpu_w,gpu_peak_w\na,1,10,9\n"))


def test_configurations_are_checked_alike(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="configurations: unknown table; got 'hype_table'"):
        load_configurations("hype_table")
    path = write(tmp_path, "op,cu,simd,work_group,unroll,f_max_mhz\nMatMul,1,1.5,64,1,200\n")
    with pytest.raises(InputError, match=r"line 2: simd: must be a whole number; got '1\.5'"):
        load_configurations(path)
