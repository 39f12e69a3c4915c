"""The published tables hold, and the checker can tell when they do not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dse.errors import InputError
from dse.validation import STATUSES, ValidationRow, validate

shared = pytest.mark.xdist_group("published figures")  # computed once, when they are needed


@pytest.fixture(scope="module")
def rows() -> list[ValidationRow]:
    return validate()


@shared
def test_every_published_figure_is_met(rows: list[ValidationRow]) -> None:
    assert not [row for row in rows if not row.ok]
    assert {row.status for row in rows} == set(STATUSES)


@shared
def test_table_6_is_reproduced_to_the_cycle(rows: list[ValidationRow]) -> None:
    table = [row for row in rows if row.table == "6" and row.quantity == "latency, our model"]
    assert len(table) == 15
    assert all(row.model == row.published and row.tolerance == 0 for row in table)
    assert {row.row: row.model for row in table}["total"] == 69_295_691


@shared
def test_resources_that_must_be_exact_are(rows: list[ValidationRow]) -> None:
    bram = [row for row in rows if row.quantity == "B_Conv"]
    assert sorted(row.model for row in bram) == [108, 288, 672, 672]
    exact = {row.quantity: row.model for row in rows if row.paper.startswith("DarkFPGA") and row.table == "III"}
    assert exact["DSP"] == 6241
    assert exact["BRAM18"] == 1232


@shared
def test_deviation_is_what_it_says(rows: list[ValidationRow]) -> None:
    for row in rows:
        assert row.deviation == pytest.approx(row.model / row.published - 1)


@shared
def test_counts_of_rows_per_status_do_not_shrink_unseen(rows: list[ValidationRow]) -> None:
    counts = Counter(row.status for row in rows)
    assert counts["reproduced"] >= 50
    assert counts["close"] >= 25


CASE = """
paper = "made up"
[[case]]
name = "arithmetic"
[[case.row]]
name = "r"
table = "1"
quantity = "q"
unit = "J"
measure = "product"
times = [{ value = 2 }, { value = 3 }]
published = %s
tolerance = 0.01
status = "%s"
"""


@pytest.mark.parametrize(
    ("published", "status", "ok"),
    [(6, "reproduced", True), (7, "reproduced", False), (7, "contradicted", True), (6, "contradicted", False)],
)
def test_a_wrong_figure_is_noticed(tmp_path: Path, published: float, status: str, ok: bool) -> None:
    (tmp_path / "made.toml").write_text(CASE % (published, status))
    (row,) = validate(tmp_path)
    assert row.ok is ok
    assert row.model == 6


def test_a_malformed_table_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "made.toml").write_text(CASE % (6, "exact"))
    with pytest.raises(InputError, match="status: unknown value; got 'exact'"):
        validate(tmp_path)
    (tmp_path / "made.toml").write_text((CASE % (6, "close")).replace('measure = "product"', 'measure = "produkt"'))
    with pytest.raises(InputError, match="did you mean 'product'"):
        validate(tmp_path)
