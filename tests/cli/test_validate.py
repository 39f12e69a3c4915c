from __future__ import annotations

import pytest

from dse.validation import STATUSES, ValidationRow
from tests.cli.cli_process import run_here

KEYS = {
    "paper", "table", "row", "quantity", "unit", "published", "model", "deviation", "tolerance", "status", "ok", "note",
}  # fmt: skip


def row(**changes: object) -> ValidationRow:
    good: dict[str, object] = {
        "paper": "A paper", "table": "1", "row": "first", "quantity": "time", "unit": "ms", "published": 100.0,
        "model": 101.0, "deviation": 0.01, "tolerance": 0.02, "status": "close", "ok": True, "note": "by hand",
    }  # fmt: skip
    return ValidationRow(**{**good, **changes})  # type: ignore[arg-type]


@pytest.fixture
def rows(monkeypatch):
    """What the models say, replaced by what a test wants."""

    def replace(*wanted: ValidationRow) -> None:
        monkeypatch.setattr("dse.validation.validate", lambda: list(wanted))

    return replace


@pytest.fixture(scope="module")
def printed():
    return run_here("validate", "--json")


@pytest.mark.xdist_group("published figures")
def test_json_rows_have_the_documented_keys(printed):
    done, content = printed, printed.json
    assert set(content) == {"schema_version", "rows"}
    assert len(content["rows"]) > 30
    for entry in content["rows"]:
        assert set(entry) == KEYS
        assert entry["status"] in STATUSES
        assert isinstance(entry["ok"], bool)
    assert done.code == (0 if all(entry["ok"] for entry in content["rows"]) else 1)


@pytest.mark.xdist_group("published figures")
def test_table_6_is_among_them_and_exact(printed):
    total = [r for r in printed.json["rows"] if r["published"] == 69_295_691]
    assert [entry["deviation"] for entry in total] == [0]


def test_text_has_one_line_a_row_and_a_summary(dse, rows):
    rows(row(), row(row="second", model=99.0, deviation=-0.01, note=""))
    done = dse("validate")
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0] == "A paper"
    assert " ".join(lines[2].split()) == "1 first time ms 100 101 +1.00 % 2.00 % close ok [1]"
    assert " ".join(lines[3].split()) == "1 second time ms 100 99 -1.00 % 2.00 % close ok"
    assert "[1] by hand" in lines
    assert lines[-1] == "2 values, none outside their tolerance"


def test_a_row_outside_its_tolerance_is_marked_and_exits_1(dse, rows):
    rows(row(), row(row="second", model=150.0, deviation=0.5, ok=False))
    assert dse("validate").code == dse("validate", "--json").code == 1
    text = dse("validate").out
    assert "MISSED" in text
    assert text.splitlines()[-1] == "2 values, 1 outside their tolerance"


def test_unknown_figures_are_null_and_said_to_be_unknown(dse, rows):
    rows(row(model=float("nan"), deviation=float("nan"), ok=False))
    assert dse("validate", "--json").json["rows"][0]["model"] is None
    assert "unknown" in dse("validate").out
