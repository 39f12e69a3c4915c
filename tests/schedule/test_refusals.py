"""Networks that the accelerator does not train, each refused in one line that says where and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.engine import EngineParameters
from dse.errors import InputError
from dse.network import Network
from dse.schedule import Hardware, TensorMap, build_schedule, least_hardware
from dse.schedule.graph import TrainingGraph
from tests.schedule.made_networks import NETWORKS, SQUARED, Row, made_network, made_workload

ENGINE = EngineParameters(um=4, un=4, channel_block=4)
FC: Row = ("fc", "fc", {"out_channels": 2})
CONV: Row = ("conv1", "conv", {"out_channels": 4, "kernel": 3, "padding": 1})


def refusal(network: Network, hardware: Hardware | None = None) -> str:
    with pytest.raises(InputError) as caught:
        build_schedule(made_workload(network), hardware or least_hardware(network, ENGINE))
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_an_operation_that_no_unit_does() -> None:
    text = refusal(made_network((2, 4, 4), CONV, ("act", "sigmoid", {}), FC, SQUARED))
    assert text.startswith("layer act: no unit of the accelerator does this; got 'sigmoid'")
    assert "batch_norm" in text


def test_an_add_of_three() -> None:
    rows = [(f"c{i}", "conv", {**CONV[2], "inputs": ("input",)}) for i in range(3)]
    text = refusal(made_network((4, 4, 4), *rows, ("add", "add", {"inputs": ("c0", "c1", "c2")}), FC, SQUARED))
    assert text.startswith("layer add: an add has two inputs; got 3")


def test_more_than_two_readers() -> None:
    twice: Row = ("a", "add", {"inputs": ("conv1", "conv1")})
    again: Row = ("b", "add", {"inputs": ("a", "conv1")})
    text = refusal(made_network((2, 4, 4), CONV, twice, again, FC, SQUARED))
    assert text.startswith("layer conv1: has too many readers: errors are added in pairs; got 3")


def test_a_convolution_in_groups_that_the_engine_lacks_or_a_transposed_one() -> None:
    text = refusal(made_network((2, 4, 4), ("up", "conv_transpose", {"out_channels": 2, "kernel": 2}), FC, SQUARED))
    assert text.startswith("layer up: ")


@pytest.mark.parametrize(("name", "unit", "layer"), [("cnn", "pool", "pool1"), ("biased", "channel", "shift")])
def test_units_that_are_left_out(name: str, unit: str, layer: str) -> None:
    hardware = least_hardware(NETWORKS[name], ENGINE)
    without = replace(hardware, **{"pool": None} if unit == "pool" else {"has_channel": False})
    assert refusal(NETWORKS[name], without).startswith(f"layer {layer}: this accelerator has no {unit} unit")


def test_a_channel_unit_on_a_port_narrower_than_a_sum() -> None:
    engine = replace(ENGINE, operand_bits=16, data_bits=32)
    hardware = least_hardware(NETWORKS["biased"], engine)
    assert not hardware.has_channel
    text = refusal(NETWORKS["biased"], hardware)
    assert text.startswith("layer shift: this accelerator has no channel unit, which needs a port of 64 bits")
    with pytest.raises(InputError, match="channel unit: a sum is wider than a beat; got 32"):
        Hardware(engine, None, has_channel=True)


def test_a_pool_whose_window_does_not_fit_the_ring() -> None:
    small = least_hardware(NETWORKS["cnn"], ENGINE)
    large = made_network((2, 40, 40), ("pool", "max_pool", {"kernel": 9, "stride": 9}), FC, SQUARED)
    assert "pool" in refusal(large, small)


def test_more_slots_than_a_record_can_name() -> None:
    rows = [(f"c{i}", "conv", CONV[2]) for i in range(140)]
    text = refusal(made_network((4, 2, 2), *rows, FC, SQUARED))
    assert text.startswith("schedule: has too many errors with an exponent; got 257")


def test_a_second_tensor_of_a_name_is_an_error() -> None:
    tensors = TensorMap(ENGINE)
    tensors.maps("error", "conv", (1, 4, 2, 2))
    with pytest.raises(ValueError, match="error conv already"):
        tensors.maps("error", "conv", (1, 4, 2, 2))


def test_a_relu_is_joined_only_where_nobody_else_reads_what_is_before_it() -> None:
    assert TrainingGraph(NETWORKS["cnn"]).joined == {f"conv{i}": f"relu{i}" for i in (1, 2, 3)}
    assert TrainingGraph(NETWORKS["residual"]).joined == {"bn1": "relu1", "add": "relu2"}
    graph = TrainingGraph(NETWORKS["forked"])
    assert graph.joined == {"left": "left_relu", "twice": "relu"}  # the stem has two readers
    assert graph.readers["stem"] == graph.readers["join"] == 2
    assert TrainingGraph(NETWORKS["biased"]).joined == {"conv1": "relu1", "bias2": "relu2"}


def test_errors_at_a_fork_are_aligned_added_and_normalised_with_the_mask() -> None:
    network = NETWORKS["forked"]
    steps = build_schedule(made_workload(network), least_hardware(network, ENGINE)).steps
    sums = [i for i, step in enumerate(steps) if step.what == "sum of two errors"]
    assert [steps[i].layer for i in sums] == ["join", "stem"]
    for i in sums:
        rule, after = steps[i].rule, steps[i + 1]
        assert (rule.shift, rule.start, rule.addend) == ("align", "max", -8)
        assert (after.what, after.rule.a, after.rule.shift) == ("normalise", rule.o, "normalise")
    assert sum(step.what == "normalise and mask" for step in steps) == 1  # of the last ReLU, whose pool is wide
