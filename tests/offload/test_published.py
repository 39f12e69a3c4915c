"""What ``dse validate`` says of Hype-training: which figures hold, which are contradicted, and by how much."""

from __future__ import annotations

import pytest

from dse.validation import ValidationRow, validate


@pytest.fixture(scope="module")
def rows() -> list[ValidationRow]:
    return [row for row in validate() if row.paper.startswith("Hype-training")]


def one(rows: list[ValidationRow], **wanted: object) -> ValidationRow:
    (found,) = [row for row in rows if all(getattr(row, key) == value for key, value in wanted.items())]
    return found


def test_every_row_is_as_it_is_labelled(rows: list[ValidationRow]) -> None:
    assert not [row for row in rows if not row.ok]
    assert {row.status for row in rows} == {"reproduced", "close", "contradicted"}
    assert len(rows) >= 40


def test_the_indicator_needs_the_factor(rows: list[ValidationRow]) -> None:
    printed = [row for row in rows if row.quantity.endswith("as printed")]
    assert [row.status for row in printed] == ["contradicted"] * 2
    with_factor = [row for row in rows if row.quantity.endswith("times the inner dimension")]
    assert [row.model for row in with_factor] == pytest.approx([81.81, 142.57], abs=0.005)


def test_the_impossible_row_is_flagged(rows: list[ValidationRow]) -> None:
    row = one(rows, quantity="execution time of MatMul, least possible on three boards")
    assert (row.status, row.published) == ("contradicted", 9.594)
    assert row.model == pytest.approx(26.63, abs=0.01)


def test_the_first_order_form_straddles_the_printed_gain(rows: list[ValidationRow]) -> None:
    gains = [r.model for r in rows if r.table == "2" and r.quantity.startswith("samples per joule")]
    assert gains[:2] == pytest.approx([29.3, 49.0], abs=0.1)
    assert gains[2] < 10


def test_the_link_is_what_the_gain_rests_on(rows: list[ValidationRow]) -> None:
    gain = {row.row: row.model for row in rows if row.quantity == "samples per joule gained on the GPU alone"}
    assert gain["link of 12 GB/s, no relief"] < 10
    assert gain["link of no cost, no relief"] > 20
    assert gain["link of no cost, relief 1.178"] > 35
