"""Runs every contract test on every family."""

from __future__ import annotations

import pytest

from dse.model import ParallelismModel
from dse.registry import families


@pytest.fixture(params=sorted(families()))
def family(request: pytest.FixtureRequest) -> ParallelismModel:
    """Each family in turn, those of installed packages too."""
    return families()[request.param]
