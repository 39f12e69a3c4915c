"""Networks as task graphs, and where their costs come from."""

from __future__ import annotations

import math

import pytest

from dse import Workload, load_network
from dse.errors import InputError
from dse.offload import Cost, OpProfile, Platform, Profile, check_schedule, list_schedule, load_profile
from dse.offload.gpu_model import load_gpu, roofline
from dse.offload.scenario import operations_of, training_scenario
from dse.offload.step_costs import step_costs
from dse.offload.training_graph import link_bytes, training_graph
from dse.workload import optimiser_named, precision_named

FP32 = precision_named("fp32")
V100 = load_gpu("v100")


def workload(name: str, batch: int = 16) -> Workload:
    return Workload(load_network(name), batch, FP32)


def test_lenet_has_every_phase_and_its_dependencies() -> None:
    work = workload("lenet10")
    graph = training_graph(work, {key: {"gpu": cost} for key, cost in roofline(work, V100).items()})
    by_name = graph.by_name
    assert graph.tasks[0].name == "conv1 forward"
    assert "input batch" in by_name["conv1 forward"].inputs
    assert "conv1 weights" in by_name["conv1 forward"].inputs
    assert "conv1 input_grad" not in by_name
    first = by_name["conv1 weight_grad"]
    assert "input batch" in first.inputs
    assert by_name["conv1 update"].inputs[0] == "conv1 weight_grad"
    assert sum(task.phase == "weight_grad" for task in graph.tasks) == sum(
        layer.parameters > 0 for layer in work.network.layers
    )


def test_backward_waits_for_forward_and_for_the_layers_behind() -> None:
    import networkx as nx

    work = workload("resnet20_cifar10", 4)
    graph = training_graph(work, {key: {"gpu": cost} for key, cost in roofline(work, V100).items()})
    reach = nx.transitive_closure_dag(graph.networkx())
    loss = next(layer.name for layer in reversed(work.network.layers))
    for layer in work.network.layers:
        if layer.needs_input_grad and f"{layer.name} input_grad" in graph.by_name and layer.name != loss:
            assert reach.has_edge(f"{layer.name} forward", f"{layer.name} input_grad")
            assert reach.has_edge(f"{loss} forward", f"{layer.name} input_grad")
    convs = [layer for layer in work.network.layers if layer.op == "conv" and layer.needs_input_grad]
    assert not reach.has_edge(f"{convs[0].name} weight_grad", f"{convs[0].name} input_grad")


def test_a_step_of_two_gpus_waits_for_both_gradients() -> None:
    work = workload("lenet10")
    costs = {key: {"gpu": cost} for key, cost in roofline(work, V100).items()}
    one, two = training_graph(work, costs), training_graph(work, costs, gpus=2)
    assert len(two.tasks) == 2 * len(one.tasks)
    assert two.samples == 32
    assert {"conv1 weight_grad", "1:conv1 weight_grad"} <= set(two.by_name["1:conv1 update"].inputs)
    machine = Platform(gpus=2)
    schedule = list_schedule(two, machine, ())
    alone = list_schedule(one, Platform(), ())
    assert schedule is not None
    assert alone is not None
    assert check_schedule(two, machine, schedule) == []
    assert schedule.seconds >= alone.seconds
    assert {t.tensor.rpartition(" ")[2] for t in schedule.transfers} == {"weight_grad"}


def test_a_product_of_two_activations_sends_a_gradient_to_either() -> None:
    import networkx as nx

    work = workload("deit_tiny", 2)
    graph = training_graph(work, {key: {"gpu": cost} for key, cost in roofline(work, V100).items()})
    product = next(layer for layer in work.network.layers if layer.op == "matmul")
    first, second = product.inputs
    by_name = graph.by_name
    assert f"{second} forward" in by_name[f"{product.name} input_grad"].inputs
    assert f"{first} forward" in by_name[f"{product.name} weight_grad"].inputs
    assert by_name[f"{product.name} weight_grad"].out_bytes == work.network[second].out_elements * 2 * 4
    reach = nx.transitive_closure_dag(graph.networkx())
    for source, phase in ((first, "input_grad"), (second, "weight_grad")):
        assert reach.has_edge(f"{product.name} {phase}", f"{source} input_grad")


def test_networks_of_all_kinds_schedule_soundly() -> None:
    for name in ("alexnet", "vgg16", "resnet18", "mobilenet_v2", "cnn_1x", "deit_tiny"):
        work = workload(name, 8)
        scenario = training_scenario(work, V100, load_profile("hype_table1"))
        machine = Platform(fpga_idle_w=scenario.fpga_idle_w)
        schedule = list_schedule(scenario.graph, machine, scenario.graph.candidates)
        assert schedule is not None
        assert check_schedule(scenario.graph, machine, schedule) == []


def test_the_roofline_is_what_it_says() -> None:
    work = workload("vgg16", 64)
    costs = roofline(work, V100, mac_share=0.5, stream_share=1.0)
    heavy = max(work.network.layers, key=lambda x: x.macs)
    assert costs[heavy.name, "forward"].seconds == pytest.approx(2 * heavy.macs * 64 / (15.7e12 * 0.5))
    assert costs[heavy.name, "update"].seconds == pytest.approx(3 * heavy.parameters * 4 / 900e9)
    adam = Workload(work.network, 64, FP32, optimiser_named("adam"))
    slower = roofline(adam, V100, mac_share=0.5, stream_share=1.0)[heavy.name, "update"].seconds
    assert slower == pytest.approx(costs[heavy.name, "update"].seconds * 7 / 3)
    halved = roofline(work, V100, mac_share=0.25, stream_share=0.5)
    assert all(halved[key].seconds == pytest.approx(2 * cost.seconds) for key, cost in costs.items())


def profile(*rows: OpProfile) -> Profile:
    return Profile(rows, "made up")


CONV = OpProfile("Conv2D", "large", Cost(4e-3, 250, 260), Cost(8e-3, 50, 50))


def test_kernels_are_stretched_to_the_roofline_or_taken_as_they_stand() -> None:
    work = workload("lenet10")
    times = roofline(work, V100)
    stretched = step_costs(work, profile(CONV), times).costs["conv1", "forward"]
    assert stretched["gpu"].seconds == pytest.approx(times["conv1", "forward"].seconds)
    assert stretched["fpga"].seconds == pytest.approx(2 * stretched["gpu"].seconds)
    assert step_costs(work, profile(CONV), times, scaled=False).costs["conv1", "forward"]["fpga"] == CONV.fpga


def test_the_size_class_is_the_nearest_by_ratio() -> None:
    work = workload("lenet10")
    times = roofline(work, V100)
    seconds = times["conv1", "forward"].seconds
    near = OpProfile("Conv2D", "near", Cost(seconds * 2, 100, 100), Cost(seconds, 10, 10))
    costs = step_costs(work, profile(CONV, near), times, scaled=False).costs
    assert costs["conv1", "forward"]["gpu"] == near.gpu


def test_a_layers_own_row_wins_and_a_board_replaces_the_fpga_side() -> None:
    work = workload("lenet10")
    times = roofline(work, V100)
    own = OpProfile("Conv2D", "", Cost(1e-3, 99, 99), Cost(2e-3, 9, 9), layer="conv1", phase="forward")
    found = step_costs(work, profile(CONV, own), times)
    assert found.costs["conv1", "forward"] == {"gpu": own.gpu, "fpga": own.fpga}
    assert found.origins["profile, by layer"] == 1
    board = step_costs(work, profile(CONV, own), times, {("conv1", "forward"): Cost(5e-3, 7, 7)})
    assert board.costs["conv1", "forward"]["fpga"].seconds == 5e-3
    assert all("fpga" not in costs for key, costs in board.costs.items() if key != ("conv1", "forward"))
    other = OpProfile("x", "", own.gpu, own.fpga, layer="conv9", phase="forward")
    with pytest.raises(InputError, match=r"profile: layer conv9: is not in the network; got 'conv9'; allowed: did you"):
        step_costs(work, profile(other), times)


def test_updates_stay_on_the_gpu() -> None:
    work = workload("alexnet")
    scenario = training_scenario(work, V100, load_profile("hype_table1"))
    assert all(set(task.costs) == {"gpu"} for task in scenario.graph.tasks if task.phase == "update")


def test_bytes_of_an_operation_are_its_tensors() -> None:
    work = workload("lenet10", 2)
    scenario = training_scenario(work, V100, load_profile("hype_table1"))
    moved = link_bytes(scenario.graph)
    layer = work.network["conv1"]
    c, h, w = work.network.input_shape
    expected = 4 * (2 * c * h * w + layer.parameters + 2 * layer.out_elements)
    assert moved["conv1 forward"] == expected
    (operation,) = [o for o in operations_of(scenario.graph, work) if o.name == "conv1 forward"]
    assert operation.moved_bytes == expected
    assert math.isnan(operation.gpu_ipc)


def test_an_unknown_gpu_is_answered_with_the_choices() -> None:
    with pytest.raises(InputError, match="gpu: unknown GPU; got 'v1000'; allowed: did you mean 'v100'"):
        load_gpu("v1000")
