"""Reports: a sweep's result as one offline HTML page that a hardware architect can read, print and send on.

Each module has a function from results to data (dataclasses and data frames, which tests assert on) and another from
data to a plotly figure. To add a report, write such a module and call it from ``page.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.device import Device
from dse.reports.page import render
from dse.reports.shell import write_page
from dse.results import ResultSet

__all__ = ["render", "write_report"]


def write_report(
    result: ResultSet,
    path: Path,
    boards: Mapping[str, Device] | None = None,
    verified: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write the page (about 5 MB, most of it plotly.js) to ``path``, whole or not at all.

    ``boards`` and ``verified`` as for ``render``. Raises OSError where the file cannot be written.
    """
    write_page(render(result, boards, verified), path)
