"""Whole training iterations on emitted accelerators: DRAM equals the golden model's, cycles what was predicted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.emit import emit
from dse.verify import simulator
from dse.verify.dram import Dram
from tests.emit.conftest import DesignMaker
from tests.emit.training_bench import Bench, offs
from tests.schedule.made_networks import NETWORKS

WORDS = {"ifm_words": 512, "ofm_words": 512, "wei_words": 512}
PRESETS: dict[str, tuple[str, dict[str, int], dict[str, Any]]] = {
    "batch": ("batch", {"t_b": 4, "t_i": 4}, {}),
    "channel": ("channel", {"tm": 4, "tn": 4, **WORDS}, {}),
    "feature_map": ("feature_map", {"tf_rows": 2, "tf_cols": 3, "tm": 2, **WORDS}, {}),
    "hybrid": (
        "hybrid",
        {"layout": 3, "ub": 3, "um": 3, "un": 6, "ur": 1, "uc": 2, **WORDS},
        {"precision": "int16"},
    ),
}
"""Name -> family, point, number format and board."""
TOTAL, LAYER = 0.0105, 0.0391
"""EF-Train's own model against its board: in total, and in the worst layer."""
Open = Callable[[str], Bench]


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
            with pytest.MonkeyPatch.context() as patch:  # what takes longer to compile pays off in iterations
                patch.setattr(simulator, "OPTIMISE", "-O1")
                found[name] = Bench(design, folder, simulator.build_simulator(folder))
        return found[name]

    return build


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("preset", PRESETS)
def test_networks_other_than_the_emitted_one_train_bit_exactly_in_predicted_cycles(
    opened: Open, preset: str, network: str
) -> None:
    schedule, rows = opened(preset).train(NETWORKS[network], 4)
    assert [row.differences for row in rows] == [(), ()]
    assert rows[0].tensors > 10
    found = offs(schedule, rows[-1])
    assert abs(found.total) <= TOTAL
    assert max(map(abs, found.layers.values())) <= LAYER, found.layers
    assert sum(rows[-1].counters.values()) == rows[-1].cycles


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("preset", PRESETS)
def test_stalls_latency_and_another_batch_size_change_cycles_and_nothing_else(
    opened: Open, preset: str, network: str
) -> None:
    slow = Dram(stall=0.4, latency=13, seed=5)
    schedule, rows = opened(preset).train(NETWORKS[network], 5, slow)  # no multiple of the samples in space
    assert [row.differences for row in rows] == [(), ()]
    assert rows[0].cycles > schedule.cycles


def test_counters_of_an_iteration_add_up_and_are_the_same_in_the_next(opened: Open) -> None:
    _, rows = opened("channel").train(NETWORKS["cnn"], 4, count=3)
    assert rows[0].counters == rows[1].counters == rows[2].counters
    assert all(0 < row.steps < row.cycles for row in rows)


def test_training_goes_on_for_many_iterations_and_the_loss_falls(opened: Open) -> None:
    _, rows = opened("batch").train(NETWORKS["cnn"], 4, count=30)
    assert all(row.exact for row in rows)
    losses = [row.loss for row in rows]
    assert sum(losses[-3:]) < sum(losses[:3])  # the same three batches, seen ten times
