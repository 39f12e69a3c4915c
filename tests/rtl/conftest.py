"""Models are compiled once per test run, into a folder that its processes share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rtl.rtl_model import RtlModel

ModelFactory = Callable[..., RtlModel]


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one setting of a unit, or else of one file, run in one process: another waits until it is compiled."""
    for item in items:
        if isinstance(item, pytest.Function) and item.path.parent == _HERE and "rtl_runtime" in item.fixturenames:
            setting = item.callspec.params.get("name", "") if hasattr(item, "callspec") else ""
            item.add_marker(pytest.mark.xdist_group(f"{item.path.name} {setting}".strip()))


_HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def rtl_cache(run_folder: Path) -> Path:
    return run_folder / "rtl"


@pytest.fixture(scope="session")
def build_model(rtl_cache: Path, rtl_runtime: Path) -> ModelFactory:
    models: dict[tuple[str, tuple[tuple[str, int], ...]], RtlModel] = {}

    def build(top: str, **parameters: int) -> RtlModel:
        key = (top, tuple(parameters.items()))
        if key not in models:
            models[key] = RtlModel(top, parameters, rtl_cache, rtl_runtime)
        return models[key]

    return build
