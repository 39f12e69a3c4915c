"""The shipped networks: counts in print, exact counts, known shapes, and who needs an input gradient."""

import hashlib
import math

import pytest

from dse.network import Layer
from dse.networks import PublishedCount, list_networks, load_network, published_counts
from dse.networks.published import QUANTITIES

# name -> forward MACs, training operations and parameters per sample. They agree with the rounded counts in print, and
# those of nada_demo and nada_example with a sum over the layers of the paper's listing and table.
EXACT = {
    "alexnet": (1_135_256_096, 6_600_706_176, 62_367_776),
    "bert_base": (11_174_217_216, 67_045_303_296, 109_483_778),
    "cnn_1x": (9_889_792, 58_454_016, 82_096),
    "deit_tiny": (1_253_683_200, 7_464_296_448, 5_717_416),
    "lenet10": (4_489_856, 25_169_664, 94_688),
    "mobilenet_v2": (300_774_272, 1_782_969_600, 3_504_872),
    "nada_demo": (2_274_560, 13_032_960, 82_560),
    "nada_example": (115_911_360, 673_792_128, 1_833_400),
    "resnet18": (1_814_073_344, 10_648_412_160, 11_689_512),
    "resnet20_cifar10": (40_813_184, 243_994_368, 272_474),
    "resnet50": (4_089_184_256, 24_299_077_632, 25_557_032),
    "shapes_cnn": (73_440, 419_904, 4_392),
    "shapes_residual": (134_880, 788_544, 1_960),
    "shapes_separable": (54_432, 305_856, 1_536),
    "vgg16": (15_470_264_320, 92_648_177_664, 138_357_544),
    "vgg16_bn": (15_470_264_320, 92_648_177_664, 138_365_992),
    "vgg_cifar10": (615_917_568, 3_688_427_520, 12_973_440),
}
CLASSES = {
    "bert_base": 2,
    "cnn_1x": 10,
    "lenet10": 10,
    "nada_demo": 10,
    "resnet20_cifar10": 10,
    "shapes_cnn": 6,
    "shapes_residual": 6,
    "shapes_separable": 6,
    "vgg_cifar10": 10,
}
PUBLISHED = [(name, count) for name in EXACT for count in published_counts(name)]


def test_every_shipped_network_is_tested() -> None:
    assert set(EXACT) == set(list_networks())


@pytest.mark.parametrize(("name", "count"), PUBLISHED, ids=lambda value: getattr(value, "quantity", value))
def test_published_count(name: str, count: PublishedCount) -> None:
    network = load_network(name)
    assert count.computed(network) == pytest.approx(count.value, rel=count.tolerance, abs=0)
    assert count.holds(network)
    assert count.source


def test_only_the_demo_and_our_own_have_nothing_in_print() -> None:
    assert set(EXACT) - {name for name, _ in PUBLISHED} == {
        "nada_demo",
        "shapes_cnn",
        "shapes_residual",
        "shapes_separable",
    }


def test_published_count_holds_only_within_its_tolerance() -> None:
    network = load_network("lenet10")
    assert PublishedCount("macs", 4_489_856, 0.0, "exact").holds(network)
    assert not PublishedCount("macs", 4_489_857, 0.0, "one too many").holds(network)
    assert PublishedCount("macs", 4_490_000, 0.001, "rounded").holds(network)
    assert not PublishedCount("macs", 4_500_000, 0.001, "too far").holds(network)


@pytest.mark.parametrize("name", EXACT)
def test_exact_counts(name: str) -> None:
    network = load_network(name)
    assert (network.macs, network.training_flop, network.parameters) == EXACT[name]


@pytest.mark.parametrize("name", EXACT)
def test_form_of_the_file(name: str) -> None:
    network = load_network(name)
    path = list_networks()[name]
    assert network.name == name == path.stem
    assert network.source
    assert network.path == str(path)
    assert network.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert network.layers[-1].op in ("softmax_cross_entropy", "sum_square_error")
    assert network.layers[-1].out_shape == (CLASSES.get(name, 1000), 1, 1)


@pytest.mark.parametrize("name", EXACT)
def test_layers_are_in_topological_order_and_shapes_agree(name: str) -> None:
    network = load_network(name)
    shapes = {"input": network.input_shape}
    for layer in network.layers:
        inputs = [shapes[source] for source in layer.inputs]  # KeyError where a layer comes before its input
        if layer.op == "fc":
            assert layer.in_elements == inputs[0][0] * inputs[0][1] * inputs[0][2]
        elif layer.op == "matmul":
            assert inputs[0] == layer.in_shape
            assert layer.macs == math.prod(inputs[1]) * math.prod(layer.out_shape[1:])
        elif layer.op == "concat":
            assert sum(map(math.prod, inputs)) == layer.in_elements
        else:
            assert all(shape == layer.in_shape for shape in inputs)
        shapes[layer.name] = layer.out_shape


def _shapes(layer: Layer) -> tuple[object, ...]:
    return layer.in_shape, layer.out_shape, layer.kernel, layer.stride, layer.padding


@pytest.mark.parametrize(
    ("network", "layer", "shapes"),
    [
        ("vgg_cifar10", "conv5", ((256, 8, 8), (512, 8, 8), (3, 3), (1, 1), (1, 1, 1, 1))),
        ("vgg_cifar10", "fc1", ((8192, 1, 1), (1024, 1, 1), (1, 1), (1, 1), (0, 0, 0, 0))),
        ("alexnet", "conv1", ((3, 227, 227), (96, 55, 55), (11, 11), (4, 4), (0, 0, 0, 0))),
        ("alexnet", "pool1", ((96, 55, 55), (96, 27, 27), (3, 3), (2, 2), (0, 0, 0, 0))),
        ("alexnet", "conv2", ((96, 27, 27), (256, 27, 27), (5, 5), (1, 1), (2, 2, 2, 2))),
        ("alexnet", "fc6", ((9216, 1, 1), (4096, 1, 1), (1, 1), (1, 1), (0, 0, 0, 0))),
        ("resnet18", "conv1", ((3, 224, 224), (64, 112, 112), (7, 7), (2, 2), (3, 3, 3, 3))),
        ("resnet18", "maxpool", ((64, 112, 112), (64, 56, 56), (3, 3), (2, 2), (1, 1, 1, 1))),
        # version 1.5: the 1x1 keeps the size, the 3x3 halves it
        ("resnet50", "layer2_0_conv1", ((256, 56, 56), (128, 56, 56), (1, 1), (1, 1), (0, 0, 0, 0))),
        ("resnet50", "layer2_0_conv2", ((128, 56, 56), (128, 28, 28), (3, 3), (2, 2), (1, 1, 1, 1))),
        ("resnet50", "avgpool", ((2048, 7, 7), (2048, 1, 1), (7, 7), (7, 7), (0, 0, 0, 0))),
        # NADA, Table I: phi and psi
        ("nada_demo", "conv1", ((3, 32, 32), (16, 16, 16), (5, 5), (2, 2), (2, 2, 2, 2))),
        ("nada_demo", "block2_conv1", ((32, 8, 8), (64, 4, 4), (3, 3), (2, 2), (0, 0, 1, 1))),
        ("nada_demo", "block1_shortcut", ((16, 16, 16), (32, 8, 8), (1, 1), (2, 2), (0, 0, 0, 0))),
        ("nada_example", "im2col", ((3, 224, 224), (27, 112, 112), (3, 3), (2, 2), (0, 0, 1, 1))),
    ],
)
def test_shapes_in_print(network: str, layer: str, shapes: tuple[object, ...]) -> None:
    assert _shapes(load_network(network)[layer]) == shapes


@pytest.mark.parametrize(
    ("name", "spared"),
    [
        ("nada_example", ["im2col", "block0_expand_conv"]),
        ("alexnet", ["conv1"]),
        ("resnet50", ["conv1"]),
        ("nada_demo", ["conv1"]),
    ],
)
def test_only_what_no_parameter_precedes_is_spared_its_input_gradient(name: str, spared: list[str]) -> None:
    assert [layer.name for layer in load_network(name).layers if not layer.needs_input_grad] == spared


def test_depthwise_convolutions_of_mobilenet() -> None:
    layer = load_network("mobilenet_v2")["block1_dw_conv"]
    assert (layer.groups, layer.parameters, layer.macs) == (96, 96 * 9, 96 * 9 * 56 * 56)


def test_residual_blocks_add_their_input() -> None:
    adds = [layer for layer in load_network("nada_example").layers if layer.op == "add"]
    assert [layer.in_shape for layer in adds] == [(24, 28, 28), (48, 14, 14), (64, 14, 14)]
    assert len([layer for layer in load_network("mobilenet_v2").layers if layer.op == "add"]) == 10
    assert load_network("resnet18")["layer2_0_add"].inputs == ("layer2_0_bn2", "layer2_0_down_bn")
    assert load_network("resnet18")["layer2_1_add"].inputs == ("layer2_1_bn2", "layer2_0_relu")


def test_quantities_differ_where_their_conventions_do() -> None:
    network = load_network("nada_example")
    counted = {quantity: count(network) for quantity, count in QUANTITIES.items()}
    assert counted["training_flop_three_passes"] == 695_468_160
    assert counted["training_flop"] == 695_468_160 - 2 * 27 * 32 * 112 * 112
    assert counted["parameters"] - counted["parameters_without_norm"] == 2 * 6896
    assert counted["fc_parameters"] == 1_024_000
    assert counted["conv_training_flop"] == counted["training_flop"] - 6 * 1_024_000
    assert 2 * counted["training_macs"] == counted["training_flop"]
