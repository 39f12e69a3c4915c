"""Options of the whole suite, and what its processes share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from dse.verify.toolchain import build_runtime
from tests.made_once import made_once

# A busy machine is no failure: what may take long is bounded by the suite's own time, not by an example's.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate", action="store_true", help="write golden files anew instead of comparing")


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def rtl_runtime(run_folder: Path) -> Path:
    """Verilator's run-time library and header, which every model needs."""
    return made_once(run_folder / "verilated", build_runtime)
