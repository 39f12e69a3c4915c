"""Every operator by a small graph, in the forms that the operator sets gave it, on samples of 4 x 8 x 8."""

import pytest

from dse.errors import InputError
from tests.networks.onnx_made import body, ints, load, node, scalar, weight

W = weight("w", 6, 4, 3, 3)
TOKENS = ("N", 9, 6)
VECTOR = ("N", 4)


CONVS = [
    ({}, (6, 6, 6)),
    ({"pads": [1, 0, 0, 3]}, (6, 7, 9)),
    ({"strides": [2, 3]}, (6, 3, 2)),
    ({"dilations": [2, 3]}, (6, 4, 2)),
    ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (6, 4, 4)),
    ({"auto_pad": "SAME_LOWER", "strides": [2, 2]}, (6, 4, 4)),
    ({"auto_pad": "VALID"}, (6, 6, 6)),
]


@pytest.mark.parametrize("opset", [9, 10, 11, 13, 18, 22, 28])
@pytest.mark.parametrize(("attributes", "shape"), CONVS)
def test_conv(tmp_path, opset, attributes, shape):
    network = load(tmp_path, [node("Conv", "x w", "y", **attributes)], W, opset=opset)
    assert body(network) == [("conv", shape)]
    assert network.parameters == 216


def test_auto_padding_puts_the_odd_pixel_where_it_says(tmp_path):
    attributes = {"strides": [2, 2], "kernel_shape": [3, 3]}
    for auto, pads in (("SAME_UPPER", (0, 0, 1, 1)), ("SAME_LOWER", (1, 1, 0, 0))):
        network = load(tmp_path, [node("Conv", "x w", "y", auto_pad=auto, **attributes)], W)
        assert network.layers[0].padding == pads


def test_conv_with_groups_and_bias(tmp_path):
    network = load(tmp_path, [node("Conv", "x w b", "y", group=2)], weight("w", 6, 2, 3, 3), weight("b", 6))
    assert (network.layers[0].groups, network.parameters, network.macs) == (2, 114, 108 * 36)


def test_conv_over_one_axis(tmp_path):
    nodes = [node("Conv", "x w", "y", pads=[1, 1])]
    network = load(tmp_path, nodes, weight("w", 5, 4, 3), shape=("N", 4, 10))
    assert body(network) == [("conv", (5, 1, 10))]


@pytest.mark.parametrize("opset", [9, 11, 13, 28])
@pytest.mark.parametrize(("trans", "dims"), [(0, (4, 5)), (1, (5, 4))])
@pytest.mark.parametrize("bias", [False, True])
def test_gemm(tmp_path, opset, trans, dims, bias):
    made = node("Gemm", "x w b" if bias else "x w", "y", transB=trans)
    network = load(tmp_path, [made], weight("w", *dims), weight("b", 5), shape=VECTOR, opset=opset)
    assert body(network) == [("fc", (5, 1, 1))]
    assert network.parameters == 20 + 5 * bias


def test_matmul_and_the_bias_behind_it(tmp_path):
    nodes = [node("MatMul", "x w", "h"), node("Add", "b h", "y")]
    weights = (weight("w", 4, 5), weight("b", 5))
    network = load(tmp_path, nodes, *weights, shape=VECTOR)
    assert (body(network), network.parameters) == ([("fc", (5, 1, 1))], 25)
    network = load(tmp_path, [*nodes, node("Add", "h y", "z")], *weights, shape=VECTOR, outputs=["z"])
    assert [op for op, _ in body(network)] == ["fc", "bias", "add"]  # the product is read without the bias too


def test_matmul_over_positions_is_a_pointwise_convolution(tmp_path):
    network = load(tmp_path, [node("MatMul", "x w", "y")], weight("w", 6, 5), shape=TOKENS)
    assert body(network) == [("conv", (5, 1, 9))]
    assert network.macs == 9 * 30


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Relu", "relu"), ("LeakyRelu", "leaky_relu"), ("Sigmoid", "sigmoid"), ("Tanh", "tanh"), ("Elu", "elu"),
        ("HardSwish", "hard_swish"), ("HardSigmoid", "hard_sigmoid"), ("Gelu", "gelu"), ("Erf", "erf"), ("LRN", "lrn"),
        ("Swish", "swish"), ("Dropout", "dropout"), ("Selu", "elu"), ("Celu", "elu"), ("ThresholdedRelu", "relu"),
    ],
)  # fmt: skip
def test_functions_of_one_element(tmp_path, op, expected):
    network = load(tmp_path, [node(op, "x", "h"), node("Conv", "h w", "y")], W, opset=24)
    assert body(network)[0] == (expected, (4, 8, 8))


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0, 6, "relu6"), (0, 3.4e38, "relu"), (-1, 1, "clip"), (0, 1, "clip")]
)
def test_clip(tmp_path, low, high, expected):
    nodes = [node("Clip", "x", "y", min=float(low), max=float(high))]
    assert body(load(tmp_path, nodes, opset=9)) == [(expected, (4, 8, 8))]
    nodes = [node("Clip", "x low high", "y")]
    assert body(load(tmp_path, nodes, scalar("low", low), scalar("high", high), opset=13)) == [(expected, (4, 8, 8))]


def test_clip_with_one_bound(tmp_path):
    assert body(load(tmp_path, [node("Clip", "x low", "y")], scalar("low", 0)))[0][0] == "relu"
    assert body(load(tmp_path, [node("Clip", "x - high", "y")], scalar("high", 6)))[0][0] == "clip"


@pytest.mark.parametrize(("dims", "slopes"), [((4, 1, 1), 4), ((1,), 1), ((1, 1, 1), 1)])
def test_prelu(tmp_path, dims, slopes):
    network = load(tmp_path, [node("PRelu", "x s", "y")], weight("s", *dims))
    assert (network.layers[0].op, network.parameters) == ("prelu", slopes)


@pytest.mark.parametrize(
    ("op", "expected"),
    [("BatchNormalization", "batch_norm"), ("InstanceNormalization", "instance_norm"),
     ("GroupNormalization", "group_norm")],
)  # fmt: skip
def test_norms(tmp_path, op, expected):
    more = " m v" if op[0] == "B" else ""
    extra = {"num_groups": 2} if op[0] == "G" else {}
    network = load(tmp_path, [node(op, "x s b" + more, "y", **extra)], *(weight(n, 4) for n in "sbmv"), opset=21)
    assert (network.layers[0].op, network.parameters) == (expected, 8)


def test_layer_norm_over_the_last_axis(tmp_path):
    nodes = [node("LayerNormalization", "x s b", "y", axis=-1)]
    network = load(tmp_path, nodes, weight("s", 6), weight("b", 6), shape=TOKENS)
    assert (network.layers[-3].op, network.layers[-3].out_shape, network.parameters) == ("layer_norm", (6, 1, 9), 12)


POOLS = [
    ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}, "max_pool", (4, 4, 4)),
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2]}, "max_pool", (4, 3, 3)),
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, "max_pool", (4, 4, 4)),
    ("MaxPool", {"kernel_shape": [3, 3], "dilations": [2, 2]}, "max_pool", (4, 4, 4)),
    ("AveragePool", {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"}, "avg_pool", (4, 8, 8)),
    ("AveragePool", {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}, "avg_pool", (4, 3, 3)),
    ("AveragePool", {"kernel_shape": [2, 2], "strides": [4, 4], "pads": [0, 0, 1, 1], "ceil_mode": 1}, "avg_pool",
     (4, 2, 2)),
    ("GlobalAveragePool", {}, "global_avg_pool", (4, 1, 1)),
    ("GlobalMaxPool", {}, "max_pool", (4, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("op", "attributes", "expected", "shape"), POOLS)
def test_pools(tmp_path, op, attributes, expected, shape):
    assert body(load(tmp_path, [node(op, "x", "y", **attributes)])) == [(expected, shape)]


@pytest.mark.parametrize("keepdims", [0, 1])
def test_mean_over_space(tmp_path, keepdims):
    for axes in ([2, 3], [-1, -2]):
        nodes = [node("ReduceMean", "x", "y", axes=axes, keepdims=keepdims)]
        assert body(load(tmp_path, nodes, opset=13)) == [("global_avg_pool", (4, 1, 1))]
    nodes = [node("ReduceMean", "x a", "y", keepdims=keepdims)]
    assert body(load(tmp_path, nodes, ints("a", 2, 3), opset=18)) == [("global_avg_pool", (4, 1, 1))]


@pytest.mark.parametrize(
    ("nodes", "ops"),
    [
        ([node("Add", "x x", "y")], ["add"]),
        ([node("Sub", "x x", "y")], ["sub"]),
        ([node("Mul", "x x", "y")], ["mul"]),
        ([node("Mul", "x c", "y")], ["scale"]),
        ([node("Div", "x c", "y")], ["scale"]),
        ([node("Add", "c x", "y")], ["scale"]),
        ([node("Add", "x v", "y")], ["bias"]),
        ([node("Mul", "v x", "y")], ["channel_scale"]),
        ([node("GlobalAveragePool", "x", "p"), node("Mul", "p x", "y")], ["global_avg_pool", "channel_mul"]),
        ([node("GlobalAveragePool", "x", "p"), node("Add", "p x", "y")], ["global_avg_pool", "upsample", "add"]),
        ([node("Sigmoid", "x", "s"), node("Mul", "s x", "y")], ["swish"]),
        ([node("Sigmoid", "x", "s"), node("Mul", "s s", "y")], ["sigmoid", "mul"]),
    ],
)
def test_elementwise_of_two(tmp_path, nodes, ops):
    network = load(tmp_path, nodes, scalar("c", 0.5), weight("v", 4, 1, 1))
    assert [op for op, _ in body(network)] == ops


def test_gelu_by_way_of_erf(tmp_path):
    nodes = [
        node("Relu", "x", "h"), node("Div", "h r", "d"), node("Erf", "d", "e"), node("Add", "e one", "p"),
        node("Mul", "h p", "q"), node("Mul", "q half", "y"),
    ]  # fmt: skip
    constants = (scalar("r", 1.4142), scalar("one", 1), scalar("half", 0.5))
    assert [op for op, _ in body(load(tmp_path, nodes, *constants))] == ["relu", "gelu"]
    nodes[4:] = [node("Mul", "h half", "q"), node("Mul", "q p", "y")]
    assert [op for op, _ in body(load(tmp_path, nodes, *constants))] == ["relu", "gelu"]


def test_layer_norm_in_single_operators(tmp_path):
    nodes = [
        node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d"), node("Pow", "d two", "s"),
        node("ReduceMean", "s", "v", axes=[-1]), node("Add", "v e", "p"), node("Sqrt", "p", "r"),
        node("Div", "d r", "q"), node("Mul", "q g", "h"), node("Add", "h b", "y"),
    ]  # fmt: skip
    weights = (scalar("two", 2), scalar("e", 1e-5), weight("g", 6), weight("b", 6))
    network = load(tmp_path, nodes, *weights, shape=TOKENS, opset=13)
    assert body(network) == [("transpose", (6, 1, 9)), ("layer_norm", (6, 1, 9))]
    assert network.parameters == 12
    with pytest.raises(InputError, match=r"Pow_s.*not supported"):  # the deviations are wanted for themselves too
        load(tmp_path, nodes, *weights, shape=TOKENS, opset=13, outputs=("y", "d"))
