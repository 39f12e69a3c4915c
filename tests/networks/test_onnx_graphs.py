"""Operators that move, join and name tensors, whole graphs as exporters write them, and what is refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from dse.errors import InputError
from dse.networks.onnx_import import SUPPORTED
from tests.networks.onnx_made import body, ints, load, node, reals, weight

W = weight("w", 6, 4, 3, 3)
TOKENS = ("N", 9, 6)
VECTOR = ("N", 4)


@pytest.mark.parametrize("opset", [9, 13, 18])
def test_pad(tmp_path, opset):
    pads = [0, 0, 1, 2, 0, 0, 3, 4]
    if opset < 11:
        network = load(tmp_path, [node("Pad", "x", "y", pads=pads)], opset=opset)
    else:
        network = load(tmp_path, [node("Pad", "x p", "y")], ints("p", *pads), opset=opset)
    assert body(network) == [("pad", (4, 12, 14))]
    assert network.layers[0].padding == (1, 2, 3, 4)


def test_pad_of_named_axes(tmp_path):
    nodes = [node("Pad", "x p - a", "y")]
    assert body(load(tmp_path, nodes, ints("p", 1, 2), ints("a", 3), opset=18)) == [("pad", (4, 8, 11))]


@pytest.mark.parametrize("opset", [9, 13])
def test_squeeze_and_unsqueeze_move_nothing(tmp_path, opset):
    if opset < 13:
        moves = [node("Squeeze", "p", "s", axes=[2, 3]), node("Unsqueeze", "s", "y", axes=[2, 3])]
        more = ()
    else:
        moves, more = [node("Squeeze", "p a", "s"), node("Unsqueeze", "s a", "y")], (ints("a", 2, 3),)
    network = load(tmp_path, [node("GlobalAveragePool", "x", "p"), *moves], *more, opset=opset)
    assert body(network) == [("global_avg_pool", (4, 1, 1))]


@pytest.mark.parametrize("opset", [9, 10, 17])
def test_slice(tmp_path, opset):
    values = {"starts": [1, -6], "ends": [3, 2**31 - 1], "axes": [1, 2]}
    if opset < 10:
        network = load(tmp_path, [node("Slice", "x", "y", **values)], opset=opset)
    else:
        given = [ints(name, *row) for name, row in values.items()]
        network = load(tmp_path, [node("Slice", "x starts ends axes", "y")], *given, opset=opset)
    assert body(network) == [("slice", (2, 6, 8))]


def test_slice_with_steps(tmp_path):
    given = ints("s", 1, 0), ints("e", 8, 8), ints("a", 2, 3), ints("t", 2, 3)
    network = load(tmp_path, [node("Slice", "x s e a t", "y")], *given)
    assert body(network) == [("slice", (4, 4, 3))]
    assert network.layers[0].stride == (2, 3)


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_split_and_concat(tmp_path, opset):
    join = node("Concat", "b a", "y", axis=1)
    if opset == 11:
        network = load(tmp_path, [node("Split", "x", "a b", axis=1, split=[1, 3]), join], opset=opset)
    elif opset == 13:
        network = load(tmp_path, [node("Split", "x s", "a b", axis=1), join], ints("s", 1, 3), opset=opset)
    else:
        network = load(tmp_path, [node("Split", "x", "a b", axis=1, num_outputs=2), join], opset=opset)
    sizes = [(2, 8, 8)] * 2 if opset == 18 else [(1, 8, 8), (3, 8, 8)]
    assert body(network) == [*(("slice", size) for size in sizes), ("concat", (4, 8, 8))]


@pytest.mark.parametrize("opset", [9, 10, 11, 18])
def test_resize(tmp_path, opset):
    op, names = ("Upsample", "x f") if opset == 9 else ("Resize", "x f" if opset == 10 else "x - f")
    network = load(tmp_path, [node(op, names, "y", mode="nearest")], reals("f", 1, 1, 2, 3), opset=opset)
    assert body(network) == [("upsample", (4, 16, 24))]


def test_a_shape_that_the_graph_computes(tmp_path):
    nodes = [
        node("Shape", "x", "s"), node("Constant", "", "zero", value_int=0), node("Gather", "s zero", "n", axis=0),
        node("Unsqueeze", "n first", "n1"), node("Concat", "n1 rest", "t", axis=0), node("Reshape", "x t", "h"),
        node("Gemm", "h w", "y"),
    ]  # fmt: skip
    network = load(tmp_path, nodes, ints("first", 0), ints("rest", -1), weight("w", 256, 10))
    assert [layer.op for layer in network.layers] == ["flatten", "fc", "softmax_cross_entropy"]


def test_channels_last_as_tensorflow_writes(tmp_path):
    nodes = [
        node("Transpose", "x", "a", perm=[0, 3, 1, 2]), node("Conv", "a w", "c"), node("Add", "c b", "d"),
        node("Transpose", "d", "e", perm=[0, 2, 3, 1]), node("Reshape", "e s", "f"), node("MatMul", "f v", "g"),
        node("Softmax", "g", "y"),
    ]  # fmt: skip
    weights = (W, weight("b", 1, 6, 1, 1), ints("s", -1, 120), weight("v", 120, 7))
    network = load(tmp_path, nodes, *weights, shape=("unk__1", 7, 6, 4))
    assert network.input_shape == (4, 7, 6)
    assert [layer.op for layer in network.layers] == ["conv", "flatten", "fc", "softmax_cross_entropy"]
    assert network.parameters == 216 + 6 + 840


def test_a_transpose_that_moves_is_a_layer(tmp_path):
    moved = node("Transpose", "x", "h", perm=[0, 1, 3, 2])
    network = load(tmp_path, [moved, node("MaxPool", "h", "y", kernel_shape=[1, 1])], shape=("N", 4, 8, 5))
    assert body(network) == [("transpose", (4, 5, 8)), ("max_pool", (4, 5, 8))]
    # Functions of one element do not see it, and moved twice it is where it was.
    back = node("Transpose", "r", "y", perm=[0, 1, 3, 2])
    network = load(tmp_path, [moved, node("Relu", "h", "r"), back], shape=("N", 4, 8, 5))
    assert body(network) == [("relu", (4, 8, 5))]


def test_shuffled_channels_move(tmp_path):
    nodes = [
        node("Reshape", "x a", "b"), node("Transpose", "b", "c", perm=[0, 2, 1, 3, 4]), node("Reshape", "c d", "e"),
        node("Conv", "e w", "y"),
    ]  # fmt: skip
    network = load(tmp_path, nodes, ints("a", -1, 2, 2, 8, 8), ints("d", -1, 4, 8, 8), W)
    assert body(network)[-1] == ("conv", (6, 6, 6))
    assert {"reshape", "transpose"} & {op for op, _ in body(network)}


@pytest.mark.parametrize("batch", ["N", 1, 8, 0])
def test_any_batch(tmp_path, batch):
    nodes = [node("Conv", "x w", "h"), node("Flatten", "h", "f"), node("Gemm", "f v", "y")]
    assert load(tmp_path, nodes, W, weight("v", 216, 3), shape=(batch, 4, 8, 8)).macs == 216 * 36 + 648


def test_class_token_is_a_slice(tmp_path):
    index = numpy_helper.from_array(np.array(0), "i")
    nodes = [node("MatMul", "x v", "t"), node("Gather", "t i", "h", axis=1), node("Gemm", "h w", "y")]
    network = load(tmp_path, nodes, index, weight("v", 6, 6), weight("w", 6, 3), shape=TOKENS)
    assert body(network) == [("conv", (6, 1, 9)), ("slice", (6, 1, 1)), ("fc", (3, 1, 1))]


@pytest.mark.parametrize("op", ["Identity", "Cast"])
def test_names_and_types_cost_nothing(tmp_path, op):
    extra = {"to": 1} if op == "Cast" else {}
    assert body(load(tmp_path, [node(op, "x", "h", **extra), node("Relu", "h", "y")])) == [("relu", (4, 8, 8))]


def test_expand(tmp_path):
    pooled = node("GlobalAveragePool", "x", "p")
    network = load(tmp_path, [node("Relu", "x", "h"), node("Expand", "h s", "y")], ints("s", 1, 4, 8, 8))
    assert body(network) == [("relu", (4, 8, 8))]
    network = load(tmp_path, [pooled, node("Expand", "p s", "y")], ints("s", 1, 1, 8, 8))
    assert body(network) == [("global_avg_pool", (4, 1, 1)), ("upsample", (4, 8, 8))]
    with pytest.raises(InputError, match=r"Expand_y.*malformed"):
        load(tmp_path, [pooled, node("Expand", "p s", "y")], ints("s", 1, 5, 8, 8))


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_at_the_end_is_part_of_the_loss(tmp_path, op):
    network = load(tmp_path, [node("Gemm", "x w", "h"), node(op, "h", "y")], weight("w", 4, 5), shape=VECTOR)
    assert [layer.op for layer in network.layers] == ["fc", "softmax_cross_entropy"]


def test_softmax_inside_is_a_layer(tmp_path):
    network = load(tmp_path, [node("Softmax", "x", "h", axis=1), node("Conv", "h w", "y")], W)
    assert [op for op, _ in body(network)] == ["softmax", "conv"]


def test_several_outputs_share_a_loss(tmp_path):
    nodes = [node("Relu", "x", "h"), node("Conv", "h w", "y"), node("GlobalAveragePool", "h", "z")]
    network = load(tmp_path, nodes, W, outputs=("y", "z"))
    assert [layer.op for layer in network.layers][-3:] == ["flatten", "concat", "sum_square_error"]
    assert any("2 outputs" in note for note in network.notes)


def test_layers_that_no_output_reads_are_left_out(tmp_path):
    nodes = [node("Unknown", "x", "u"), node("Conv", "x w", "d"), node("Relu", "x", "y")]
    assert body(load(tmp_path, nodes, W)) == [("relu", (4, 8, 8))]


BAD = {
    "unknown operator": (
        [node("Einsum", "x w", "y", equation="a,a")], {}, ["Einsum_y", "opset 17", "not supported", "Conv,"],
    ),
    "factors that do not fit": (
        [node("MatMul", "x x", "y")], {"shape": ("N", 4, 8, 5)}, ["MatMul_y", "do not fit", "(..., K, N)"],
    ),
    "product over the batch": (
        [node("Transpose", "x", "t", perm=[2, 1, 0]), node("MatMul", "x t", "y")],
        {"shape": (4, 4, 4)},
        ["MatMul_y", "over the batch"],
    ),
    "rows of a stack": ([node("Gather", "w x", "y")], {"shape": ("N", 4)}, ["Gather_y", "rows of a table"]),
    "transposed to a size": (
        [node("ConvTranspose", "x v", "y", output_shape=[3, 3])], {}, ["ConvTranspose_y", "output_shape"],
    ),
    "custom domain": (
        [onnx.helper.make_node("Relu", ["x"], ["y"], domain="my.own")],
        {"domains": {"my.own": 1}},
        ["'my.own'", "domain"],
    ),
    "old opset": ([node("Relu", "x", "y")], {"opset": 8}, ["opset", "got 8", "9 to 28"]),
    "new opset": ([node("Relu", "x", "y")], {"opset": 29}, ["opset", "got 29", "9 to 28"]),
    "symbolic height": ([node("Relu", "x", "y")], {"shape": ("N", 3, "height", 8)}, ["axis 2", "'height'", "batch"]),
    "volume": ([node("Relu", "x", "y")], {"shape": ("N", 3, 4, 4, 4)}, ["rank", "got 5"]),
    "weight of other channels": ([node("Conv", "x w", "y")], {"shape": ("N", 5, 8, 8)}, ["Conv_y", "5 input channels"]),
    "unknown tensor": ([node("Relu", "z", "y")], {}, ["input", "one"]),
    "negative pads": ([node("Conv", "x w", "y", pads=[-1, 0, 0, 0])], {}, ["Conv_y", "pads", "-1"]),
    "no nodes": ([], {"outputs": ("x",)}, ["one input tensor"]),
    "batch moved": (
        [node("Transpose", "x", "h", perm=[1, 0, 2, 3]), node("Conv", "h w", "y")], {}, ["Conv_y", "batch in front"],
    ),
    "softmax over the batch": ([node("Softmax", "x", "y", axis=0)], {}, ["Softmax_y", "or the batch"]),
    "no outputs": ([node("Relu", "x", "h")], {"outputs": ("x",)}, ["input"]),
    "joined rows": ([node("Concat", "x", "y", axis=0)], {}, ["Concat_y", "axis"]),
    "divided": ([node("Div", "x x", "y")], {}, ["Div_y", "constant divisor"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused_is_one_line(tmp_path, case):
    nodes, options, parts = BAD[case]
    with pytest.raises(InputError) as caught:
        load(tmp_path, nodes, W, weight("v", 4, 6, 3, 3), **options)
    message = str(caught.value)
    assert "\n" not in message
    for part in ("m.onnx", *parts):
        assert part in message


def test_every_operator_is_tried():
    text = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_onnx_*.py"))
    assert [op for op in SUPPORTED if f'"{op}"' not in text] == []


def test_a_model_that_names_no_tool_has_a_source_that_says_so(tmp_path):
    network = load(tmp_path, [node("Relu", "x", "y")])
    assert network.source == "m.onnx, ONNX opset 17, by an unnamed tool"
