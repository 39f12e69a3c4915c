"""The operator cost file says what its own raw counts say; the synthesis behind them is not repeated here."""

from __future__ import annotations

import importlib.util
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PRECISIONS = ["int8", "int16", "bf16", "fp32"]


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    return tomllib.loads((ROOT / "models" / "operator_cost.toml").read_text())


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("characterise", ROOT / "benchmarks" / "characterise_operators.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_precisions_and_source(table: dict[str, Any]) -> None:
    assert [name for name, value in table.items() if isinstance(value, dict)] == PRECISIONS
    assert table["tool"] in table["source"]
    for words in ("-family xc7", "rtl_templates/lib/", "not placed", "not measured on silicon", "control logic is not"):
        assert words in table["source"]
    assert "lut_control" not in table


@pytest.mark.parametrize("kind", ["lut", "ff"])
@pytest.mark.parametrize("name", PRECISIONS)
def test_fit_reproduces_the_counts(table: dict[str, Any], name: str, kind: str) -> None:
    row = table[name]
    lanes, counts = np.array(row["lanes"]), np.array(row[kind])
    assert len(lanes) == len(counts) >= 4
    np.testing.assert_array_equal(lanes, np.array(row["outputs"]) * np.array(row["inputs"]))
    error = np.abs(row[f"{kind}_per_lane"] * lanes + row[f"{kind}_fixed"] - counts) / counts
    stated = row[f"{kind}_residual_max"]
    assert error.max() <= stated <= error.max() + 1e-4
    assert stated <= row["residual_max"] < 0.05
    assert row[f"{kind}_per_lane"] > 0
    assert row[f"{kind}_fixed"] >= 0


@pytest.mark.parametrize("name", PRECISIONS)
def test_dsp_counts_are_those_of_the_units(table: dict[str, Any], name: str) -> None:
    row = table[name]
    per_lane = row["dsp_per_multiplier"] + row["dsp_per_adder"]
    assert row["dsp"] == [per_lane * lanes for lanes in row["lanes"]]


def test_rendering_the_counts_of_the_file_gives_the_file(table: dict[str, Any], script: ModuleType) -> None:
    results = {}
    for precision in script.PRECISIONS:
        row = table[precision.name]
        for size, *counts in zip(precision.sizes(), row["lut"], row["ff"], row["dsp"], strict=True):
            results[size] = script.Counts(*counts)
        for family, suffix in (("xc7", ""), ("xcup", "_xcup")):
            for unit, kind in zip(precision.units(family), ("multiplier", "adder"), strict=True):
                results[unit] = script.Counts(*row[f"{kind}_lut_ff"], row[f"dsp_per_{kind}{suffix}"])
    assert script.render(results, table["tool"]) == (ROOT / "models" / "operator_cost.toml").read_text()


def test_fit_recovers_a_line_and_keeps_the_fixed_part_non_negative(script: ModuleType) -> None:
    assert script.fit([1, 2, 4], [13, 23, 43]) == script.Fit(10.0, 3.0, 0.0)
    below = script.fit([1, 2, 4], [7, 17, 37])
    assert below.fixed == 0
    assert below.residual > 0


def test_unknown_cells_are_not_free(script: ModuleType) -> None:
    assert script.count_cells({"LUT2": 3, "INV": 1, "FDRE": 5, "DSP48E1": 2, "CARRY4": 9}) == script.Counts(4, 5, 2)
    with pytest.raises(ValueError, match="RAMB18E1"):
        script.count_cells({"LUT2": 3, "RAMB18E1": 1})
