"""What a training step keeps in DRAM and for how long, sums of gradients at forks, optimisers, and fused functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.devices import load_device
from dse.models.auxiliary import FUSED, published_dram_capacity
from dse.models.operators import OPERATIONS
from dse.network import MAC_OPERATIONS, Network
from dse.networks import list_networks, load_network
from dse.networks.graph import build_network
from dse.networks.layer_spec import LayerSpec
from dse.registry import families
from dse.training_graph import KEEPS, Kept, gradient_sums, kept_tensors, training_memory
from dse.workload import OPTIMISERS, PHASES, Workload, precision_named
from tests.contract.helpers import random_points, workload

BOARD = load_device("zcu102")
UPDATE = PHASES.index("update")


def network_of(*specs: LayerSpec, shape=(4, 6, 6)) -> Network:
    ends = [
        LayerSpec("fc", "fc", (specs[-1].name,), out_channels=3),
        LayerSpec("loss", "softmax_cross_entropy", ("fc",)),
    ]
    return build_network("made", "made for a test", shape, [*specs, *ends], "test")


def conv(name: str, source: str, channels: int = 4) -> LayerSpec:
    return LayerSpec(name, "conv", (source,), out_channels=channels, kernel=(3, 3), padding=(1, 1, 1, 1))


def lives(network: Network, **options) -> dict[tuple[str, str], tuple[int, int, int]]:
    """(layer, kind) -> elements, first and last step."""
    names = [*(layer.name for layer in network.layers), "input"]
    return {(names[t.layer], t.kind): (t.elements, t.born, t.dies) for t in kept_tensors(network, **options)}


def test_lifetimes_by_hand() -> None:
    """Steps 0 to 5 forward, 11 to 6 backward for layers 0 to 5."""
    pool = LayerSpec("pool", "max_pool", ("relu",), kernel=(2, 2))
    network = network_of(conv("conv", "input"), LayerSpec("relu", "relu", ("conv",)), pool)
    assert [layer.name for layer in network.layers] == ["conv", "relu", "pool", "fc", "loss"]
    assert lives(network) == {
        ("input", "map"): (144, 0, 9),  # for the weight gradient of conv
        ("conv", "map"): (144, 0, 0),  # relu takes its place
        ("relu", "map"): (144, 1, 2),
        ("relu", "mask"): (144, 1, 8),
        ("pool", "map"): (36, 2, 6),  # for the weight gradient of fc
        ("pool", "index"): (36, 2, 7),
        ("fc", "map"): (3, 3, 3),
        ("loss", "map"): (3, 4, 5),
        ("conv", "error"): (144, 8, 9),
        ("relu", "error"): (144, 7, 7),  # the gradient of its input takes its place
        ("pool", "error"): (36, 6, 7),
        ("fc", "error"): (3, 5, 6),
    }
    columns = lives(network, unrolled=True)
    assert columns["conv", "columns"] == (36 * 36, 0, 9)
    assert columns["input", "map"] == (144, 0, 0)


def test_a_fork_keeps_two_gradients_at_once() -> None:
    network = network_of(conv("a", "input"), conv("b", "a"), conv("c", "b"), LayerSpec("add", "add", ("c", "a")))
    assert gradient_sums(network) == ((1, 144),)  # b adds its gradient of a to the one that came through the add
    found = lives(network)
    assert found["a", "error"] == (144, 8, 11)
    assert found["a", "partial"] == (144, 10, 10)
    assert ("input", "error") not in found


def test_no_gradient_goes_to_the_input_or_an_untrained_branch() -> None:
    scale = LayerSpec("scale", "scale", ("input",))
    network = network_of(scale, conv("a", "input"), LayerSpec("add", "add", ("a", "scale")))
    assert {name for (name, kind) in lives(network) if kind == "error"} == {"a", "add", "fc"}
    assert gradient_sums(network) == ()


def test_a_product_keeps_the_factor_that_a_gradient_reads() -> None:
    specs = [conv("q", "input"), LayerSpec("k", "scale", ("input",))]
    product = LayerSpec("qk", "matmul", ("q", "k"), transpose=True)
    found = lives(network_of(*specs, product))
    last = 2 * 5 - 1
    assert found["k", "map"][2] == last - 2  # for the gradient of q
    assert found["q", "map"][2] == 2  # nobody wants that of k


ONE, TWO = (
    ("conv", "relu", "tanh", "gelu", "batch_norm", "softmax", "max_pool", "dropout", "layer_norm"),
    ("add", "mul"),
)


@st.composite
def dags(draw: st.DrawFn) -> Network:
    """Any layers of one shape reading any earlier ones; what nobody reads is added up at the end."""
    names, specs = ["input"], list[LayerSpec]()
    for number in range(draw(st.integers(1, 9))):
        op = draw(st.sampled_from(ONE + TWO))
        inputs = tuple(draw(st.sampled_from(names)) for _ in range(1 + (op in TWO)))
        name = f"l{number}"
        window = {"kernel": (3, 3), "padding": (1, 1, 1, 1)} if op in ("conv", "max_pool") else {}
        extra = {"out_channels": 4} if op == "conv" else {"stride": (1, 1)} if op == "max_pool" else {}
        specs.append(LayerSpec(name, op, inputs, **window, **extra))
        names.append(name)
    read = {source for spec in specs for source in spec.inputs}
    ends = [name for name in names[1:] if name not in read]
    if len(ends) > 1:
        specs.append(LayerSpec("ends", "add", tuple(ends)))
    return network_of(*specs, shape=(4, 3, 3))


def wanted(network: Network) -> list[tuple[int, int, str]]:
    """(step, layer number, kind) of all that a step reads, by walking the graph forward and then backward."""
    numbers = {layer.name: i for i, layer in enumerate(network.layers)} | {"input": -1}
    trained = {-1: False}
    reads, steps = [], 2 * len(network.layers)
    for i, layer in enumerate(network.layers):
        inputs = [numbers[name] for name in layer.inputs]
        trained[i] = layer.parameters > 0 or any(trained[s] for s in inputs)
        if i:  # an input may be gone at the step itself where the output takes its place
            reads += [(max(i - 1, s, 0), s, "map") for s in inputs]
    for i, layer in reversed(list(enumerate(network.layers))):
        inputs, step = [numbers[name] for name in layer.inputs], steps - 1 - i
        if not trained[i]:
            continue
        if layer.op != "softmax_cross_entropy":
            reads.append((max(step - 1, 0), i, "error"))
        for kind in KEEPS.get(layer.op, ()):
            if kind == "inputs":
                reads += [(step, s, "map") for s in inputs]
            elif layer.op == "softmax_cross_entropy" or kind == "output":
                reads.append((step, i, "map"))
            else:
                reads.append((step, i, kind))
    return reads


@settings(max_examples=200, deadline=None)
@given(dags())
def test_whatever_a_step_reads_is_alive(network: Network) -> None:
    alive: dict[tuple[int, str], Kept] = {(t.layer, t.kind): t for t in kept_tensors(network)}
    steps = 2 * len(network.layers)
    for step, layer, kind in wanted(network):
        tensor = alive[layer, kind]
        assert tensor.born <= step <= tensor.dies, (network.layers[layer].name, kind)
    assert all(0 <= t.born <= t.dies < steps for t in kept_tensors(network))
    work = workload(network, 3)
    at = [
        sum(t.elements * (t.bits or 32) / 8 * (3 if t.per_sample else 1)
            for t in kept_tensors(network) if t.born <= step <= t.dies)
        for step in range(steps)
    ]  # fmt: skip
    found = training_memory(work)
    assert found.peak_bytes == pytest.approx(max(at) + 8 * network.parameters)
    assert sum(found.kept_bytes) + found.input_bytes <= max(at) + 1e-6
    readers = {layer.name: 0 for layer in network.layers}
    for layer in network.layers:
        for source in layer.inputs:
            readers[source] = readers.get(source, 0) + layer.needs_input_grad
    trained = {layer.name for layer in network.layers if layer.parameters or layer.needs_input_grad}
    assert len(gradient_sums(network)) == sum(max(readers[name] - 1, 0) for name in trained)


@settings(max_examples=25, deadline=None)
@given(dags())
def test_every_family_estimates_any_graph(network: Network) -> None:
    for family in families().values():
        for optimiser in ("sgd", "adam"):
            work = replace(workload(network, 2), optimiser=OPTIMISERS[optimiser])
            found = family.evaluate(work, BOARD, random_points(family.space(work, BOARD), 3), detail=True)
            assert np.isfinite(found.iteration_s).all()
            assert np.all(found.layers.cycles >= found.layers.mac_floor_cycles - 1e-6)


@pytest.mark.parametrize("name", sorted(list_networks()))
def test_liveness_needs_less_than_keeping_everything(name: str) -> None:
    for batch in (1, 16):
        work = workload(name, batch)
        found = training_memory(work)
        assert found.parameter_bytes < found.peak_bytes < published_dram_capacity(work)
        names = [layer.name for layer in work.network.layers]
        assert found.peak_step[0] in names
        # What is kept over the turn from forward to backward is alive there together.
        assert found.kept_bytes.sum() + found.input_bytes + found.parameter_bytes <= found.peak_bytes * (1 + 1e-12)


@pytest.mark.parametrize(
    ("family", "reading"), [(f, r) for f in sorted(families()) for r in families()[f].readings if r != "prefetch"]
)
def test_the_largest_batch_fits_and_one_sample_more_does_not(family: str, reading: str) -> None:
    model, board = families()[family], load_device("pynq_z1")
    for name in ("vgg16", "resnet50", "vgg_cifar10"):
        work = workload(name, 1)
        most = model.largest_batch(work, board, reading=reading)
        point = model.space(work, board).corner(low=True)
        for batch, fits in ((most, True), (most + 1, False)):
            if batch:
                found = model.evaluate(workload(name, batch), board, point, reading=reading)
                assert (found.violation["dram_bytes"] <= 0) == fits
    assert model.largest_batch(workload("vgg16"), replace(board, dram_bytes=10**8), reading=reading) == 0
    assert model.largest_batch(workload("lenet10"), replace(board, dram_bytes=10**15), reading=reading) == 2**20


@pytest.mark.parametrize("family", sorted(families()))
@pytest.mark.parametrize("precision", ["int8", "bf16", "fp32"])
def test_an_optimiser_costs_its_states(family: str, precision: str) -> None:
    model, network = families()[family], load_network("resnet20_cifar10")
    plain = Workload(network, 4, precision_named(precision))
    points = random_points(model.space(plain, BOARD), 4)
    base = model.evaluate(plain, BOARD, points, detail=True)
    for optimiser in OPTIMISERS.values():
        found = model.evaluate(replace(plain, optimiser=optimiser), BOARD, points, detail=True)
        states = optimiser.states * network.parameters * plain.precision.accumulator_bits / 8
        np.testing.assert_allclose(found.dram_bytes - base.dram_bytes, 2 * states)
        np.testing.assert_allclose(found.dram_capacity_bytes - base.dram_capacity_bytes, states)
        more = found.layers.cycles - base.layers.cycles
        assert np.all(more[:, :, :UPDATE] == 0)
        assert np.all(more >= 0)
        # The schedule of batch has a lane for every stream, so that one as long as the others takes no time.
        if family in ("channel", "feature_map"):
            assert np.all((more[:, :, UPDATE].sum(axis=1) > 0) == (optimiser.states > 0))


def test_sums_at_the_forks_of_resnet50_are_as_many_as_its_adds() -> None:
    """Where a stage begins the map that forks is not the one that the add writes."""
    network = load_network("resnet50")
    adds = [layer.out_elements for layer in network.layers if layer.op == "add"]
    sums = [size for _, size in gradient_sums(network)]
    assert len(sums) == len(adds)
    assert sum(sums) != sum(adds)
    forks = {"maxpool", *(layer.name for layer in network.layers if layer.op == "relu")}
    sizes = {layer.name: layer.out_elements for layer in network.layers}
    read = [source for layer in network.layers for source in layer.inputs]
    assert sorted(sums) == sorted(sizes[name] for name in forks if read.count(name) == 2)


def test_what_is_kept_is_what_the_backward_passes_read() -> None:
    """The table of costs and the table of what is kept say the same of every operation."""
    for op, phases in OPERATIONS.items():
        reads = [name for phase in ("input_grad", "weight_grad") for one in phases.get(phase, ()) for name in one.reads]
        keeps = set(KEEPS.get(op, ()))
        assert ("mask" in reads) == ("mask" in keeps), op
        assert ("index" in reads) == ("index" in keeps), op
        if op == "embedding":  # numbers of rows, and the gradient's rows that are added to
            assert keeps == {"inputs"}
        elif "in" in reads:
            assert keeps & {"inputs", "output", "normalised", "denominators"}, op
    assert set(KEEPS) <= set(OPERATIONS) | set(MAC_OPERATIONS)
    for op, phases in FUSED.items():
        reads = {name for one in phases.get("input_grad", ()) for name in one.reads}
        assert reads == {"mask" if "mask" in KEEPS[op] else "out" if "output" in KEEPS[op] else "in"}, op


@pytest.mark.parametrize("op", [op for op in FUSED if op != "prelu"])
def test_a_fused_function_moves_less_and_only_where_it_alone_reads(op: str) -> None:
    channel = families()["channel"]
    specs = [conv("a", "input"), LayerSpec("f", op, ("a",))]
    alone = network_of(*specs, shape=(4, 8, 8))
    shared = network_of(*specs, LayerSpec("add", "add", ("f", "a")), shape=(4, 8, 8))
    moved = []
    for network in (alone, shared):
        work = workload(network, 4)
        point = channel.space(work, BOARD).corner(low=True)
        layers = channel.evaluate(work, BOARD, point, detail=True).layers
        moved.append(layers.dram_bytes[1, : PHASES.index("weight_grad")])
    size = 4 * 4 * 256
    expected = {"mask": (size / 32, size / 32), "output": (0, size), "inputs": (size, size)}[KEEPS[op][0]]
    np.testing.assert_allclose(moved[0], expected)
    fork = 3 * size  # the gradient of a is summed there, by the function that the backward pass meets last
    whole = {"mask": (2 + 1 / 32, 2 + 1 / 32), "output": (2, 3), "inputs": (2, 3)}[KEEPS[op][0]]
    np.testing.assert_allclose(moved[1], (whole[0] * size, whole[1] * size + fork))
