from __future__ import annotations

import pytest

from dse.reports.panels import Panel, make_panels
from dse.results import ResultSet
from tests.reports import made_up


@pytest.fixture
def result() -> ResultSet:
    """Three families on zcu102 (feature_map infeasible) and one on a board without published power."""
    return made_up.made_up()


@pytest.fixture
def panels(result: ResultSet) -> tuple[Panel, ...]:
    """The result's two panels."""
    return make_panels(result, made_up.BOARDS)
