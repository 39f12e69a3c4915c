"""Convolutions cut by their filters: the same work, shared out; what reads the slices; plans of them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.cluster.check import check_plan
from dse.cluster.plan_file import plan_json, write_plan
from dse.cluster.planner import demand_table, plan
from dse.cluster.slicing import slice_groups
from dse.cluster.stages import stage_graph
from dse.errors import InputError
from dse.networks import load_network


@given(
    network=st.sampled_from(["nada_demo", "lenet10", "resnet18", "mobilenet_v2"]),
    number=st.integers(0, 100), count=st.integers(2, 4),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_slices_share_out_the_work_and_nothing_else_changes(network: str, number: int, count: int) -> None:
    whole = load_network(network)
    dense = [layer for layer in whole.layers if layer.op == "conv" and layer.groups == 1]
    name = dense[number % len(dense)].name
    cut = slice_groups(whole, {f"{name}:filters": count})
    assert cut.macs == whole.macs
    parts = [cut[f"{name}.{k}"] for k in range(count)]
    assert sum(part.out_shape[0] for part in parts) == whole[name].out_shape[0]
    assert sum(part.macs for part in parts) == whole[name].macs
    assert all(part.in_shape == whole[name].in_shape for part in parts)
    rounding = count * len([layer for layer in cut.layers if "." in layer.name])
    assert abs(cut.parameters - whole.parameters) <= rounding
    known = {"input"}
    for layer in cut.layers:
        assert set(layer.inputs) <= known, "layers stay in an order in which every input comes first"
        known.add(layer.name)
    assert [s.name for s in stage_graph(cut).stages][-1] == [s.name for s in stage_graph(whole).stages][-1]


def test_channel_wise_layers_are_cut_along_and_meet_where_channels_are_summed() -> None:
    cut = slice_groups(load_network("mobilenet_v2"), {"block1_expand_conv:filters": 2})
    graph = stage_graph(cut)
    named = {stage.name: stage for stage in graph.stages}
    readers = {graph.label(edge) for edge in graph.edges}
    ends = [name for name in readers if name.endswith("-> block1_project_conv")]
    assert len(ends) == 2, "the projection reads both slices' maps"
    assert "block1_expand_conv.fork -> block1_expand_conv.0" in readers
    assert (
        named["block1_expand_conv.0"].layers[0].parameters * 2
        == load_network("mobilenet_v2")["block1_expand_conv"].parameters
    )


def test_slices_before_an_add_are_joined() -> None:
    cut = slice_groups(load_network("nada_demo"), {"block1_conv2:filters": 2})
    joins = [layer for layer in cut.layers if layer.op == "concat"]
    assert len(joins) == 1
    assert joins[0].inputs == tuple(f"{joins[0].name}.{k}" for k in range(2))


def test_slices_of_the_largest_layer_take_less_ram_each() -> None:
    _, whole = demand_table("nada_demo", "nada", nodes=4, reading="nada")
    stage = max(range(len(whole.graph.stages)), key=lambda s: whole.storages[s][0].ram_bits)
    name = whole.graph.stages[stage].name
    _, cut = demand_table("nada_demo", "nada", nodes=4, reading="nada", slices={f"{name}:filters": 2})
    largest = max(option.ram_bits for options in cut.storages for option in options)
    assert largest < whole.storages[stage][0].ram_bits


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_fork_adds_up_the_gradients_of_all_slices(count: int) -> None:
    """One adder fewer than readers, a block each where floating-point adders are DSP blocks; forward it is a wire."""
    _, table = demand_table("nada_demo", "nada", slices={"conv1:filters": count, "block2_conv2:filters": count})
    for name in ("conv1.fork", "block2_conv2.fork"):
        stage = next(n for n, one in enumerate(table.graph.stages) if one.layers and one.layers[0].name == name)
        assert table.stream_blocks(stage, 0, 1.0) == (count - 1) * table.operators[0].adder


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ({"conv1:filter": 2}, "unknown group of layers"),
        ({"conv9:filters": 2}, "unknown group of layers"),
        ({"conv1:filters": 17}, "slices are out of range"),
        ({"loss:filters": 2}, "has no convolution of so many filters"),
    ],
)
def test_bad_slices_are_one_line(slices: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        slice_groups(load_network("nada_demo"), slices)
    assert "\n" not in str(error.value)


def test_a_plan_of_slices_is_checked(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = plan("nada_demo", "nada", nodes=4, reading="nada", slices={"block2_conv1:filters": 2}, seconds=10, gap=0.5)
    path = tmp_path_factory.mktemp("filters") / "plan.json"
    write_plan(plan_json(found), path)
    content, breaches = check_plan(path)
    assert breaches == []
    assert content["model_parallel"] == {"block2_conv1:filters": 2}
