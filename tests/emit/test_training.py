"""Whole training iterations on emitted accelerators: DRAM equals the golden model's, cycles what was predicted."""

from __future__ import annotations

import pytest

from dse.errors import InputError
from dse.verify.dram import Dram
from tests.emit.training_bench import PRESETS, Open, offs
from tests.schedule.made_networks import NETWORKS

TOTAL, LAYER = 0.0105, 0.0391
"""EF-Train's own model against its board: in total, and in the worst layer."""


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


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("preset", PRESETS)
def test_bursts_that_do_not_cover_a_long_latency_are_predicted(opened: Open, preset: str, network: str) -> None:
    schedule, rows = opened(preset).train(NETWORKS[network], 4, Dram(latency=60), count=1)
    assert rows[0].differences == ()
    found = offs(schedule, rows[0])
    assert abs(found.total) <= TOTAL
    assert max(map(abs, found.layers.values())) <= 0.03, found.layers


def test_counters_of_an_iteration_add_up_and_are_the_same_in_the_next(opened: Open) -> None:
    _, rows = opened("batch").train(NETWORKS["cnn"], 4, count=3)
    assert rows[0].counters == rows[1].counters == rows[2].counters
    assert all(0 < row.steps < row.cycles for row in rows)


def test_training_goes_on_for_many_iterations_and_the_loss_falls(opened: Open) -> None:
    _, rows = opened("batch").train(NETWORKS["cnn"], 4, count=30)
    assert all(row.exact for row in rows)
    losses = [row.loss for row in rows]
    assert sum(losses[-3:]) < sum(losses[:3])  # the same three batches, seen ten times


@pytest.mark.parametrize("preset", ["channel", "hybrid"])
def test_velocities_are_kept_where_the_accelerator_has_momentum(opened: Open, preset: str) -> None:
    schedule, rows = opened(preset).train(NETWORKS["residual"], 4, count=4, optimiser="momentum")
    assert [row.differences for row in rows] == [()] * 4
    assert {tensor.kind for tensor in schedule.tensors} >= {"weight_velocity", "bias_velocity"}
    found = offs(schedule, rows[-1])
    assert abs(found.total) <= TOTAL
    assert max(map(abs, found.layers.values())) <= LAYER, found.layers


def test_an_accelerator_without_momentum_refuses_it(opened: Open) -> None:
    with pytest.raises(InputError, match="this accelerator keeps no velocities"):
        opened("batch").schedule(NETWORKS["residual"], 4, optimiser="momentum")
