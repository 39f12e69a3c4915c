"""A small sweep, and designs by hand on top of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import dse
from dse.emit import Choice, Design, design_of, emit
from dse.emit.files import sha256
from dse.results import ResultSet
from dse.store import save
from dse.verify import run, simulator, train_run
from dse.verify.lint import lint
from dse.verify.toolchain import verilator_root
from dse.verify.train import Trainer
from tests.emit.training_bench import PRESETS, Bench, Open
from tests.emit.training_host import BATCH
from tests.schedule.made_networks import NETWORKS

DesignMaker = Callable[..., Design]


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on one accelerator run in one process, so that it is compiled once."""
    for item in items:
        if isinstance(item, pytest.Function) and item.path.name in _PRESET_OF:
            preset = item.callspec.params.get("preset") if hasattr(item, "callspec") else None
            item.add_marker(pytest.mark.xdist_group(f"training {preset or _PRESET_OF[item.path.name]}"))
        elif isinstance(item, pytest.Function) and item.path.parent == _HERE and "folder" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group("verified folder"))


_HERE = Path(__file__).parent

_PRESET_OF = {
    "test_training.py": "batch",
    "test_training_errors.py": "channel",
    "test_training_registers.py": "channel",
    "test_training_command.py": "channel",
}
"""Test file -> accelerator of the tests that do not say which."""


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
        optimiser: str = "sgd",
    ) -> Design:
        cell = replace(
            result.cells[0],
            family=family,
            precision=precision,
            batch_size=batch_size,
            reading="",
            optimiser=optimiser,
        )
        return design_of(Choice(cell, "by hand", point), dse.load_network(network), dse.load_device(device))

    return make


@pytest.fixture(scope="session")
def quick_builds(rtl_runtime: Path) -> Iterator[None]:
    """Models on one copy of Verilator's run-time library; the linters, which are pure, see the same sources once."""
    linted: set[str] = set()

    def lint_once(folder: Path) -> None:
        verilator_root()  # still missing where it is missing
        sources = sha256(b"".join(path.read_bytes() for path in sorted((folder / "rtl").iterdir())))
        if sources not in linted:
            lint(folder)
            linted.add(sources)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "build_runtime", lambda folder: rtl_runtime)
        for module in (run, train_run):
            patch.setattr(module, "lint", lint_once)
        yield


@pytest.fixture(scope="session")
def channel(make_design: DesignMaker) -> Design:
    return make_design("channel", {"tm": 4, "tn": 6, "ifm_words": 512, "ofm_words": 512, "wei_words": 512})


@pytest.fixture(scope="session")
def folder(channel: Design, quick_builds: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where ``channel`` is emitted; whoever changes something works on a copy."""
    path = tmp_path_factory.mktemp("rtl") / "channel"
    emit(channel, path)
    return path


@pytest.fixture(scope="session")
def opened(make_design: DesignMaker, quick_builds: None, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """An accelerator emitted for ``shapes_residual``, which needs every unit; each is compiled once."""
    found: dict[str, Bench] = {}

    def build(name: str) -> Bench:
        if name not in found:
            family, point, words = PRESETS[name]
            design = make_design(family, point, network="shapes_residual", **words)
            folder: Path = tmp_path_factory.mktemp("training") / name
            emit(design, folder)
            found[name] = Bench(design, folder, simulator.build_simulator(folder))
        return found[name]

    return build


@pytest.fixture
def bench(opened: Open) -> Bench:
    return opened("channel")


@pytest.fixture(params=["separable", "biased"])
def trainer(bench: Bench, request: pytest.FixtureRequest) -> Iterator[Trainer]:
    """Ready to train on one that needs no host, and one that waits for it."""
    with bench.trainer(bench.schedule(NETWORKS[request.param], BATCH)) as trainer:
        trainer.accelerator.patience = 2
        yield trainer


@pytest.fixture
def ready(bench: Bench) -> Iterator[Trainer]:
    """Ready to train, with no step of the host."""
    with bench.trainer(bench.schedule(NETWORKS["separable"], BATCH)) as trainer:
        trainer.accelerator.patience = 2
        yield trainer
