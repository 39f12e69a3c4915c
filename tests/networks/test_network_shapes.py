"""One rule after the other, on shapes worked out by hand; the samples are 4 x 8 x 8."""

from collections.abc import Callable

import pytest

from dse.models.operators import OPERATIONS as COSTS
from dse.network import MAC_OPERATIONS, Network
from dse.networks.shapes import OPERATIONS

Load = Callable[..., Network]

ELEMENTWISE = (
    "clip", "leaky_relu", "sigmoid", "tanh", "hard_swish", "hard_sigmoid", "swish", "gelu", "elu", "erf", "softmax",
    "scale", "lrn",
)  # fmt: skip


@pytest.mark.parametrize(
    ("layer", "out_shape", "parameters"),
    [
        ('op = "conv", out_channels = 6, kernel = 3', (6, 6, 6), 216),
        ('op = "conv", out_channels = 6, kernel = 3, bias = true', (6, 6, 6), 222),
        ('op = "conv", out_channels = 6, kernel = [1, 5]', (6, 8, 4), 120),
        ('op = "conv", out_channels = 6, kernel = 3, stride = [2, 3]', (6, 3, 2), 216),
        ('op = "conv", out_channels = 6, kernel = 3, padding = [1, 2]', (6, 8, 10), 216),
        ('op = "conv", out_channels = 6, kernel = 3, padding = [1, 0, 0, 3]', (6, 7, 9), 216),
        ('op = "conv", out_channels = 6, kernel = 3, dilation = [2, 3]', (6, 4, 2), 216),
        ('op = "conv", out_channels = 6, kernel = 3, groups = 2', (6, 6, 6), 108),
        ('op = "conv", out_channels = 8, kernel = 3, groups = 4', (8, 6, 6), 72),
        ('op = "conv", out_channels = 1, kernel = 8', (1, 1, 1), 256),
        ('op = "fc", out_channels = 10', (10, 1, 1), 2560),
        ('op = "fc", out_channels = 10, bias = true', (10, 1, 1), 2570),
        ('op = "max_pool", kernel = 2', (4, 4, 4), 0),
        ('op = "max_pool", kernel = 3', (4, 2, 2), 0),  # stride 3, rounded down
        ('op = "avg_pool", kernel = 3, stride = 2, padding = 1', (4, 4, 4), 0),
        ('op = "avg_pool", kernel = [8, 2]', (4, 1, 4), 0),
        ('op = "global_avg_pool"', (4, 1, 1), 0),
        ('op = "im2col", kernel = 3, stride = 2, padding = 1', (36, 4, 4), 0),
        ('op = "im2col", kernel = [2, 1]', (8, 7, 8), 0),
        ('op = "batch_norm"', (4, 8, 8), 8),
        ('op = "bias"', (4, 8, 8), 4),
        ('op = "relu"', (4, 8, 8), 0),
        ('op = "relu6"', (4, 8, 8), 0),
        ('op = "dropout"', (4, 8, 8), 0),
        ('op = "flatten"', (256, 1, 1), 0),
        ('op = "add", from = ["input", "input"]', (4, 8, 8), 0),
        ('op = "concat", from = ["input", "input", "input"]', (12, 8, 8), 0),
        ('op = "concat", from = ["input", "input"], axis = "rows"', (4, 16, 8), 0),
        ('op = "concat", from = ["input", "input"], axis = "columns"', (4, 8, 16), 0),
        ('op = "concat", from = ["input", "input"], axis = "pixels"', (4, 1, 128), 0),
        ('op = "conv_transpose", out_channels = 6, kernel = 3', (6, 10, 10), 216),
        ('op = "conv_transpose", out_channels = 6, kernel = 2, stride = 2, bias = true', (6, 16, 16), 102),
        (
            'op = "conv_transpose", out_channels = 6, kernel = 3, stride = [2, 3], padding = 1, groups = 2, '
            "output_padding = [1, 0], dilation = 2",
            (6, 18, 24),
            108,
        ),
        ('op = "matmul", from = ["input", "input"], transpose = true', (64, 8, 8), 0),
        ('op = "matmul", from = ["input", "input"], transpose = true, groups = 2', (128, 8, 8), 0),
        ('op = "embedding", rows = 50, out_channels = 6', (6, 1, 256), 300),
        ('op = "parameter", shape = [6, 1, 9]', (6, 1, 9), 54),
        ('op = "parameter", shape = [6, 1, 9], table_rows = 20', (6, 1, 9), 120),
        ('op = "sub", from = ["input", "input"]', (4, 8, 8), 0),
        ('op = "mul", from = ["input", "input"]', (4, 8, 8), 0),
        ('op = "max_pool", kernel = 3, stride = 1, dilation = 2', (4, 4, 4), 0),
        ('op = "prelu"', (4, 8, 8), 1),
        ('op = "prelu", slopes = 4', (4, 8, 8), 4),
        ('op = "channel_scale"', (4, 8, 8), 4),
        ('op = "instance_norm"', (4, 8, 8), 8),
        ('op = "layer_norm"', (4, 8, 8), 8),
        ('op = "group_norm"', (4, 8, 8), 8),
        ('op = "slice", start = [1, 0, 2], shape = [2, 8, 6]', (2, 8, 6), 0),
        ('op = "slice", start = [0, 1, 1], shape = [4, 4, 4], stride = 2', (4, 4, 4), 0),
        ('op = "pad", padding = [1, 0, 2, 3]', (4, 11, 11), 0),
        ('op = "upsample", shape = [4, 16, 24]', (4, 16, 24), 0),
        ('op = "reshape", shape = [4, 1, 64]', (4, 1, 64), 0),
        ('op = "transpose", shape = [8, 8, 4]', (8, 8, 4), 0),
        *((f'op = "{op}"', (4, 8, 8), 0) for op in ELEMENTWISE),
    ],
)
def test_rule(load: Load, layer: str, out_shape: tuple[int, int, int], parameters: int) -> None:
    only = load(f'name = "x", {layer}').layers[0]
    assert (only.out_shape, only.parameters) == (out_shape, parameters)
    assert not only.needs_input_grad


def test_every_operation_has_a_case_above() -> None:
    mark = test_rule.pytestmark[0]  # type: ignore[attr-defined]
    covered = {case[0].split('"')[1] for case in mark.args[1]}
    assert set(OPERATIONS) - covered == {"softmax_cross_entropy", "sum_square_error", "channel_mul"}


def test_channel_mul_keeps_the_map(load: Load) -> None:
    pooled = 'name = "p", op = "global_avg_pool"'
    gate = load(pooled, 'name = "x", op = "channel_mul", from = ["input", "p"]')["x"]
    assert (gate.in_shape, gate.out_shape) == ((4, 8, 8), (4, 8, 8))


@pytest.mark.parametrize("op", ["softmax_cross_entropy", "sum_square_error"])
def test_loss_has_the_shape_of_its_input(load: Load, op: str) -> None:
    network = load('name = "fc", op = "fc", out_channels = 10', f'name = "loss", op = "{op}"')
    assert network["loss"].in_shape == network["loss"].out_shape == (10, 1, 1)
    assert network["loss"].needs_input_grad


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "padding", "out"),
    [
        (8, 3, 1, 1, (1, 1), 8),
        (8, 3, 2, 1, (0, 1), 4),  # the odd pixel goes behind
        (7, 3, 2, 1, (1, 1), 4),
        (8, 4, 1, 1, (1, 2), 8),
        (8, 1, 2, 1, (0, 0), 4),  # never negative
        (8, 3, 1, 3, (3, 3), 8),
        (2, 9, 1, 1, (4, 4), 2),
    ],
)
def test_same_padding_keeps_ceil_of_size_over_stride(
    load: Load, size: int, kernel: int, stride: int, dilation: int, padding: tuple[int, int], out: int
) -> None:
    row = f'name = "x", op = "conv", out_channels = 1, kernel = [{kernel}, 1], stride = [{stride}, 1]'
    layer = load(f'{row}, dilation = [{dilation}, 1], padding = "same"', height=size).layers[0]
    assert (layer.padding[0], layer.padding[2]) == padding
    assert (layer.padding[1], layer.padding[3]) == (0, 0)
    assert layer.out_shape == (1, out, 8)


def test_sizes_a_layer_carries(load: Load) -> None:
    layer = load(
        'name = "x", op = "conv", out_channels = 8, kernel = 3, padding = [1, 2], stride = [2, 1], groups = 2'
    )["x"]
    assert layer.padding == (1, 2, 1, 2)
    assert (layer.kernel, layer.stride, layer.dilation, layer.groups, layer.bias) == ((3, 3), (2, 1), (1, 1), 2, False)
    assert layer.macs == 8 * 4 * 10 * 2 * 9


def test_add_reads_all_its_inputs_and_concat_each_once(load: Load) -> None:
    assert load('name = "x", op = "add", from = ["input", "input", "input"]')["x"].in_elements == 3 * 256
    assert load('name = "x", op = "concat", from = ["input", "input"]')["x"].in_elements == 2 * 256


def test_from_defaults_to_the_layer_above(load: Load) -> None:
    network = load('name = "a", op = "relu"', 'name = "b", op = "relu"')
    assert [layer.inputs for layer in network.layers] == [("input",), ("a",)]


def test_forward_references_are_sorted_and_order_is_kept_where_it_holds(load: Load) -> None:
    network = load(
        'name = "sum", op = "add", from = ["right", "left"]',
        'name = "left", op = "relu", from = "stem"',
        'name = "right", op = "relu6", from = "stem"',
        'name = "stem", op = "conv", out_channels = 2, kernel = 1, from = "input"',
        'name = "loss", op = "sum_square_error", from = "flat"',
        'name = "flat", op = "flatten", from = "sum"',
    )
    assert [layer.name for layer in network.layers] == ["stem", "left", "right", "sum", "flat", "loss"]


def test_needs_input_grad_follows_ancestors_not_position(load: Load) -> None:
    network = load(
        'name = "cols", op = "im2col", kernel = 1',
        'name = "conv", op = "conv", out_channels = 4, kernel = 1',
        'name = "relu", op = "relu"',
        'name = "pool", op = "max_pool", kernel = 1, from = "input"',
        'name = "first_too", op = "conv", out_channels = 4, kernel = 1',
        'name = "sum", op = "add", from = ["relu", "first_too"]',
        'name = "scale", op = "batch_norm", from = "input"',
        'name = "behind_scale", op = "concat", from = ["scale", "sum"]',
    )
    needs = {layer.name for layer in network.layers if layer.needs_input_grad}
    assert needs == {"relu", "sum", "behind_scale"}
    assert network["conv"].training_macs == 2 * network["conv"].macs


def test_every_operation_has_a_cost() -> None:
    assert set(OPERATIONS) - set(MAC_OPERATIONS) == set(COSTS)
