"""A small sweep, and designs by hand on top of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import dse
from dse.emit import Choice, Design, design_of
from dse.results import ResultSet
from dse.store import save

DesignMaker = Callable[..., Design]


@pytest.fixture(scope="session")
def result() -> ResultSet:
    return dse.sweep(
        ["lenet10"], ["zcu102"], ["channel", "batch"], batch_sizes=[4], precision="int8", trials=12, prove=False
    )


@pytest.fixture(scope="session")
def saved(result: ResultSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    save(result, folder)
    return folder


@pytest.fixture(scope="session")
def make_design(result: ResultSet) -> DesignMaker:
    def make(
        family: str,
        point: dict[str, int],
        precision: str = "int8",
        device: str = "zcu102",
        network: str = "lenet10",
        batch_size: int = 4,
    ) -> Design:
        cell = replace(result.cells[0], family=family, precision=precision, batch_size=batch_size, reading="")
        return design_of(Choice(cell, "by hand", point), dse.load_network(network), dse.load_device(device))

    return make
