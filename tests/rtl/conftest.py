"""Models are compiled once per test run, into a temporary folder, and shared by the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.verify.toolchain import build_runtime
from tests.rtl.rtl_model import RtlModel

ModelFactory = Callable[..., RtlModel]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one setting of a unit run in one process, so that it is compiled once."""
    for item in items:
        if item.path.parent == Path(__file__).parent and hasattr(item, "callspec") and "name" in item.callspec.params:
            item.add_marker(pytest.mark.xdist_group(f"{item.path.name} {item.callspec.params['name']}"))


@pytest.fixture(scope="session")
def rtl_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rtl")


@pytest.fixture(scope="session")
def rtl_runtime(rtl_cache: Path) -> Path:
    return build_runtime(rtl_cache / "runtime")


@pytest.fixture(scope="session")
def build_model(rtl_cache: Path, rtl_runtime: Path) -> ModelFactory:
    models: dict[tuple[str, tuple[tuple[str, int], ...]], RtlModel] = {}

    def build(top: str, **parameters: int) -> RtlModel:
        key = (top, tuple(parameters.items()))
        if key not in models:
            models[key] = RtlModel(top, parameters, rtl_cache, rtl_runtime)
        return models[key]

    return build
