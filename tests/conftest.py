"""Options of the whole suite."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine is no failure: what may take long is bounded by the suite's own time, not by an example's.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate", action="store_true", help="write golden files anew instead of comparing")
