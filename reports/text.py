"""Words and numbers of the report: units, significant digits, what is unknown, the command that gives a point again."""

from __future__ import annotations

import html
import math
import shlex
from collections.abc import Mapping
from typing import Any

import pandas as pd

from dse.results import Candidate, Cell

__all__ = [
    "NOT_PUBLISHED",
    "command",
    "escape",
    "number",
    "parameters",
    "percent",
    "quantity",
    "records",
    "resource_title",
    "seconds",
    "short_origin",
    "significant",
    "time_unit",
]

NOT_PUBLISHED = "not published"
"""What stands in for a figure that nobody has published, such as the power of a board without measurements."""

_RESOURCE_TITLES = {
    "lut": "LUT",
    "ff": "FF",
    "dsp": "DSP",
    "bram36": "BRAM36",
    "uram288": "URAM288",
    "dram_bytes": "DRAM capacity",
}


def escape(text: object) -> str:
    """``text`` safe inside HTML elements, quoted attributes and plotly labels."""
    return html.escape(str(text), quote=False).replace('"', "&#34;").replace("'", "&#39;")


def number(value: Any) -> float:
    """A figure of a JSON estimate as a float; NaN where it is null or absent."""
    return math.nan if value is None else float(value)


def significant(value: float, digits: int = 4) -> str:
    """``value`` to that many significant digits, thousands separated; whole digits are never dropped."""
    if math.isinf(value):
        return "infinite"
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)))
    if power < -4:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, digits - 1 - power)}f}"


def quantity(value: float, unit: str = "", absent: str = NOT_PUBLISHED) -> str:
    """``value`` with its unit, or ``absent`` where it is NaN."""
    if math.isnan(value):
        return absent
    text = significant(value) if value != int(value) or math.isinf(value) else f"{int(value):,}"
    return f"{text} {unit}".rstrip()


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The frame's rows, each as column name -> value."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def percent(ratio: float, decimals: int = 1) -> str:
    """0.123 as ``12.3 %``, with a space that does not break; "unknown" for NaN."""
    if math.isnan(ratio):
        return "unknown"
    return "infinite" if math.isinf(ratio) else f"{100 * ratio:,.{decimals}f}\N{NO-BREAK SPACE}%"


def time_unit(typical_s: float) -> tuple[float, str]:
    """Factor from seconds and name of the unit in which a time like ``typical_s`` reads well."""
    if typical_s >= 10:
        return 1.0, "s"
    return (1e3, "ms") if typical_s >= 1e-3 else (1e6, "µs")


def seconds(value: float) -> str:
    """A duration of ``value`` seconds in s, ms or µs."""
    if math.isnan(value):
        return "unknown"
    factor, unit = (1.0, "s") if value >= 1 else time_unit(value)
    return f"{significant(value * factor)} {unit}"


def parameters(point: Mapping[str, int]) -> str:
    """A point in words: ``tm=16, tn=24``."""
    return ", ".join(f"{name}={value}" for name, value in point.items())


def short_origin(origin: str) -> str:
    """A paper's name without its authors and venue: what stands before the first bracket or semicolon."""
    return origin.split(" (")[0].split(";")[0].strip() or origin


def resource_title(name: str) -> str:
    """A resource's or constraint's name as it is printed."""
    return _RESOURCE_TITLES.get(name, name)


def command(cell: Cell, candidate: Candidate) -> str:
    """The shell command that estimates the candidate again, quoted so that ``shlex.split`` gives its arguments."""
    words = ["dse", "estimate", "-n", cell.network_reference or cell.network]
    words += ["-d", cell.device_reference or cell.device, "-m", cell.family, "-b", str(cell.batch_size)]
    words += ["--precision", cell.precision]
    if cell.optimiser != "sgd":
        words += ["--optimiser", cell.optimiser]
    if cell.reading:
        words += ["--reading", cell.reading]
    for name, value in candidate.point.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)
