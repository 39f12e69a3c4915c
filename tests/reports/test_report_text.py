"""Words, numbers and commands of the report."""

from __future__ import annotations

import dataclasses
import math
import shlex

import pytest

from dse.reports.text import NOT_PUBLISHED, command, escape, number, percent, quantity, seconds, significant
from tests.reports import made_up


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (12.3456, "12.35"), (0.0123456, "0.01235"), (1234567.8, "1,234,568"), (1.5e-9, "1.500e-09"),
        (-2.5, "-2.500"), (math.inf, "infinite"),
    ],
)  # fmt: skip
def test_four_significant_digits_and_never_fewer_whole_ones(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(("value", "text"), [(2.5, "2.500 s"), (0.429, "429.0 ms"), (3.2e-5, "32.00 µs")])
def test_times_have_a_unit_that_suits_them(value: float, text: str) -> None:
    assert seconds(value) == text


def test_unknown_is_said_and_is_not_zero() -> None:
    assert math.isnan(number(None))
    assert quantity(number(None), "W") == NOT_PUBLISHED == "not published"
    assert quantity(0.0, "W") == "0 W"
    assert percent(math.nan) == "unknown"
    assert seconds(math.nan) == "unknown"


def test_the_command_names_every_argument() -> None:
    cell = made_up.channel_cell()
    assert cell.best is not None
    assert command(cell, cell.best) == (
        "dse estimate -n alexnet -d zcu102 -m channel -b 4 --precision fp32 --reading exact --set tm=48 --set tn=8"
    )
    default = dataclasses.replace(cell, reading="")
    assert "--reading" not in command(default, cell.best)


def test_the_command_comes_back_whole_from_a_shell() -> None:
    odd = "my nets/it's $HOME; `x`.toml"
    cell = dataclasses.replace(made_up.channel_cell(), network=odd)
    assert cell.best is not None
    words = shlex.split(command(cell, cell.best))
    assert words[:4] == ["dse", "estimate", "-n", odd]
    assert words[-4:] == ["--set", "tm=48", "--set", "tn=8"]


def test_escaped_text_has_no_markup_left() -> None:
    text = escape("""<img src='x' onerror="a()"> & co""")
    assert not set("<>\"'") & set(text)
