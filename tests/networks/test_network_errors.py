"""Everything that can be wrong with a file: one line that names file, layer, key, rule, value and choices."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.errors import InputError
from dse.network import Network
from dse.networks import load_network, published_counts
from dse.networks.layer_spec import LayerSpec
from dse.networks.shapes import infer_layer

Load = Callable[..., Network]

CONV = 'name = "c", op = "conv", out_channels = 4, kernel = 3'
RELU = 'name = "r", op = "relu"'

BAD_LAYERS = {
    "empty network": ([], ["at least one layer"]),
    "unknown op": (['name = "x", op = "covn", kernel = 1'], ["layer x: op", "'covn'", "did you mean 'conv'"]),
    "missing op": (['name = "x"'], ["layer x: op", "required key is missing"]),
    "missing name": (['op = "relu"'], ["layer 1: name", "required key is missing"]),
    "bad name": (['name = "../x", op = "relu"'], ["layer ../x: name", "is no name", "letters"]),
    "reserved name": (['name = "input", op = "relu"'], ["layer input: name", "the network's input"]),
    "duplicate name": ([RELU, RELU], ["layer r: name", "is the name of 2 layers"]),
    "unexpected key": (['name = "x", op = "relu", kernel = 3'], ["layer x", "unexpected key 'kernel'", "from"]),
    "misspelt key": ([f"{CONV}, strides = 2"], ["layer c", "'strides'", "did you mean 'stride'"]),
    "missing kernel": (['name = "x", op = "conv", out_channels = 1'], ["layer x: kernel", "required"]),
    "missing channels": (['name = "x", op = "fc"'], ["layer x: out_channels", "required"]),
    "string for number": ([f'{CONV}, stride = "2"'], ["layer c: stride", "whole number", "'2'"]),
    "float for number": ([f"{CONV}, groups = 2.0"], ["layer c: groups", "whole number", "2.0"]),
    "bool for number": ([f"{CONV}, groups = true"], ["layer c: groups", "whole number", "True"]),
    "nan": ([f"{CONV}, stride = nan"], ["layer c: stride", "whole number", "nan"]),
    "negative padding": ([f"{CONV}, padding = -1"], ["layer c: padding", "out of range", "-1", "0 to"]),
    "padding of three": ([f"{CONV}, padding = [1, 1, 1]"], ["layer c: padding", "[1, 1, 1]", "[rows, columns]"]),
    "padding word": ([f'{CONV}, padding = "valid"'], ["layer c: padding", "'valid'", '"same"']),
    "padding table": ([f"{CONV}, padding = {{ top = 1 }}"], ["layer c: padding", "whole number"]),
    "padding float": ([f"{CONV}, padding = [1, 1.5]"], ["layer c: padding", "whole number", "1.5"]),
    "stride 0": ([f"{CONV}, stride = 0"], ["layer c: stride", "out of range", "got 0", "1 to"]),
    "dilation 0": ([f"{CONV}, dilation = [1, 0]"], ["layer c: dilation", "out of range", "got 0"]),
    "three strides": ([f"{CONV}, stride = [1, 1, 1]"], ["layer c: stride", "list of 2"]),
    "no channels": (['name = "x", op = "fc", out_channels = 0'], ["layer x: out_channels", "out of range", "got 0"]),
    "kernel 0": (['name = "x", op = "max_pool", kernel = 0'], ["layer x: kernel", "out of range", "got 0"]),
    "number for bias": ([f"{CONV}, bias = 1"], ["layer c: bias", "true or false", "got 1"]),
    "kernel too large": (
        ['name = "x", op = "conv", out_channels = 1, kernel = [3, 11], padding = 1'],
        ["layer x: kernel", "larger than the padded map", "3 x 11", "up to 10 x 10"],
    ),
    "dilated kernel too large": ([f"{CONV}, dilation = 4"], ["layer c: kernel", "9 x 9", "up to 8 x 8"]),
    "pool of padding only": (
        ['name = "x", op = "max_pool", kernel = 2, padding = 2'],
        ["layer x: padding", "no pixel", "(2, 2, 2, 2)"],
    ),
    "groups against input": ([f"{CONV}, groups = 3"], ["layer c: groups", "input channels", "got 3", "divisors of 4"]),
    "groups against output": (
        ['name = "x", op = "conv", out_channels = 6, kernel = 1, groups = 4'],
        ["layer x: groups", "output channels", "got 4", "divisors of 6"],
    ),
    "products of unlike inputs": (
        ['name = "x", op = "matmul", from = ["input", "input"]'],
        ["layer x: from", "as many pixels per group as the first has channels", "input (4, 8, 8)", "4 pixels"],
    ),
    "products in too many groups": (
        ['name = "x", op = "matmul", from = ["input", "input"], transpose = true, groups = 3'],
        ["layer x: groups", "channels of both inputs", "got 3", "divisors of 4 and 4"],
    ),
    "product of one": (['name = "x", op = "matmul"'], ["layer x: from", "wrong number of inputs", "got 1"]),
    "parameter that reads": (
        ['name = "x", op = "parameter", shape = 1, from = "input"'],
        ["layer x: from", "wrong number of inputs"],
    ),
    "parameter without shape": (['name = "x", op = "parameter"'], ["layer x: shape", "required"]),
    "embedding without a table": (['name = "x", op = "embedding", out_channels = 3'], ["layer x: rows", "required"]),
    "joined across": (
        ['name = "p", op = "max_pool", kernel = 2', 'name = "x", op = "concat", from = ["input", "p"], axis = "rows"'],
        ["layer x: from", "equal sizes beside the rows", "p (4, 4, 4)"],
    ),
    "joined along nothing": (
        ['name = "x", op = "concat", from = ["input", "input"], axis = "row"'],
        ["layer x: axis", "did you mean 'rows'"],
    ),
    "transposed padding": (
        ['name = "x", op = "conv_transpose", out_channels = 2, kernel = 2, padding = "same"'],
        ["layer x: padding", "in pixels"],
    ),
    "transposed to nothing": (
        ['name = "x", op = "conv_transpose", out_channels = 2, kernel = 1, padding = 4'],
        ["layer x: padding", "leaves no output", "(4, 4, 4, 4)"],
    ),
    "transposed groups": (
        ['name = "x", op = "conv_transpose", out_channels = 2, kernel = 2, groups = 4'],
        ["layer x: groups", "input and output", "got 4"],
    ),
    "unknown from": ([RELU, 'name = "x", op = "relu", from = "rr"'], ["layer x: from", "'rr'", "did you mean 'r'"]),
    "no from": (['name = "x", op = "relu", from = []'], ["layer x: from", "number of inputs", "got 0"]),
    "number in from": (['name = "x", op = "relu", from = [1]'], ["layer x: from", "list of strings"]),
    "two inputs of relu": (
        ['name = "x", op = "relu", from = ["input", "input"]'],
        ["layer x: from", "number of inputs for relu", "got 2", "allowed: 1"],
    ),
    "one input of add": ([f'{RELU}, from = "input"', 'name = "x", op = "add"'], ["layer x: from", "add", "2 or more"]),
    "shapes of add": (
        [CONV, 'name = "x", op = "add", from = ["c", "input"]'],
        ["layer x: from", "equal shapes", "c (4, 6, 6)", "input (4, 8, 8)"],
    ),
    "shapes of concat": (
        [CONV, 'name = "x", op = "concat", from = ["c", "input"]'],
        ["layer x: from", "equal height and width", "c (4, 6, 6)"],
    ),
    "reshape": (
        ['name = "x", op = "reshape", shape = [4, 4, 4]'],
        ["layer x: shape", "number of elements", "(4, 4, 4)", "256 elements"],
    ),
    "reshape to nothing": (['name = "x", op = "reshape"'], ["layer x: shape", "required key"]),
    "slice beyond": (
        ['name = "x", op = "slice", start = [0, 4, 0], shape = [4, 5, 8]'],
        ["layer x: shape", "beyond the map", "(4, 8, 8)"],
    ),
    "upsample of channels": (
        ['name = "x", op = "upsample", shape = [8, 16, 16]'],
        ["layer x: shape", "keeps the channels", "4 channels"],
    ),
    "pad by same": (['name = "x", op = "pad", padding = "same"'], ["layer x: padding", "in pixels", "'same'"]),
    "slopes": (['name = "x", op = "prelu", slopes = 3'], ["layer x: slopes", "got 3", "1 or 4"]),
    "channel_mul of maps": (
        ['name = "x", op = "channel_mul", from = ["input", "input"]'],
        ["layer x: from", "one number per channel", "input (4, 8, 8)"],
    ),
    "loss of a map": (['name = "x", op = "softmax_cross_entropy"'], ["layer x: from", "(4, 8, 8)", "(classes, 1, 1)"]),
    "self cycle": (['name = "x", op = "relu", from = "x"'], ["form a cycle", "x -> x"]),
    "cycle": (
        ['name = "a", op = "relu", from = "b"', 'name = "b", op = "relu"', 'name = "z", op = "relu", from = "input"'],
        ["form a cycle", "a -> b -> a"],
    ),
    "dangling layer": ([RELU, 'name = "x", op = "relu", from = "input"'], ["layer r", "no layer reads", "only 'x'"]),
    "dangling beside a loss": (
        ['name = "f", op = "flatten"', 'name = "l", op = "sum_square_error"', 'name = "x", op = "relu", from = "f"'],
        ["layer x", "no layer reads", "only 'l'"],
    ),
    "loss that is read": (
        ['name = "f", op = "flatten"', 'name = "l", op = "sum_square_error"', 'name = "x", op = "relu"'],
        ["layer x: from", "reads the loss", "'l'"],
    ),
    "two losses": (
        [
            'name = "f", op = "flatten"',
            'name = "l", op = "sum_square_error"',
            'name = "m", op = "sum_square_error", from = "f"',
        ],
        ["one loss", "'l, m'"],
    ),
    "huge kernel": (['name = "x", op = "conv", out_channels = 1, kernel = 9223372036854775807'], ["layer x: kernel"]),
    "huge stride": ([f"{CONV}, stride = 16777217"], ["layer c: stride", "1 to 16777216"]),
    "huge fc": (
        ['name = "x", op = "fc", out_channels = 16777216', 'name = "y", op = "fc", out_channels = 16777216'],
        ["layer y: parameters beyond the limit", "up to 1099511627776"],
    ),
    "huge map": (
        ['name = "x", op = "conv", out_channels = 16777216, kernel = 1, padding = 200'],
        ["layer x: output elements beyond the limit"],
    ),
    "long axis": (
        ['name = "x", op = "avg_pool", kernel = 16777216, stride = 1, padding = 16777215'],
        ["layer x: output dimension beyond the limit", "up to 16777216"],
    ),
    "macs": (
        ['name = "x", op = "conv", out_channels = 16384, kernel = [1, 4096], padding = [2000, 4000]'],
        ["layer x: multiply-accumulates beyond the limit"],
    ),
}


@pytest.mark.parametrize("case", BAD_LAYERS)
def test_bad_layers(load: Load, tmp_path: Path, case: str) -> None:
    layers, parts = BAD_LAYERS[case]
    with pytest.raises(InputError) as caught:
        load(*layers)
    _check_line(str(caught.value), tmp_path / "net.toml", parts)


@pytest.mark.parametrize(
    ("layer", "part"),
    [
        ('op = "fc", out_channels = 1', "input dimension beyond the limit"),
        ('op = "flatten"', "output dimension beyond the limit"),
        ('op = "add", from = ["input", "input"]', "input elements beyond the limit; got 2199023255552"),
    ],
)
def test_limits_on_the_largest_input(load: Load, layer: str, part: str) -> None:
    with pytest.raises(InputError, match=f"layer x: {part}"):
        load(f'name = "x", {layer}', channels=2**24, height=2**8, width=2**8)


def _check_line(message: str, path: Path, parts: list[str]) -> None:
    assert "\n" not in message
    assert message.startswith(str(path))
    for part in parts:
        assert part in message


GOOD = """
name = "net"
source = "a test"
layer = [{ name = "r", op = "relu" }]
input = { channels = 4, height = 8, width = 8 }
[[published]]
quantity = "macs"
value = 1
tolerance = 0.1
source = "a test"
"""
BAD_FILES = {
    "syntax": ('name = "net"', 'name = "net', ["not valid TOML", "line"]),
    "duplicate key": ('name = "net"', 'name = "net"\nname = "net"', ["not valid TOML"]),
    "deep nesting": ('name = "net"', f"name = {'[' * 20000}", ["not valid TOML"]),
    "long decimal": ('name = "net"', f"name = {'9' * 5000}", ["not valid TOML", "digits"]),
    "long hexadecimal": ("channels = 4", f"channels = 0x{'f' * 5000}", ["channels", "out of range", "too large"]),
    "huge value": ("value = 1\n", f"value = 0x{'f' * 5000}\n", ["published 1: value", "too large to print"]),
    "name": ('name = "net"', 'name = "a/b"', ["name", "is no name", "'a/b'"]),
    "number as name": ('name = "net"', "name = 3", ["name", "must be a string", "3"]),
    "no name": ('name = "net"', "", ["name", "required key is missing"]),
    "no source": ('source = "a test"\nlayer', "layer", ["source", "required key is missing"]),
    "blank source": ('source = "a test"\nlayer', 'source = " "\nlayer', ["source", "not empty"]),
    "no input": ("input = ", "inputs = ", ["input", "required key is missing", "inputs"]),
    "input as number": ("input = { channels = 4, height = 8, width = 8 }", "input = 4", ["input", "must be a table"]),
    "no height": ("height = 8, ", "", ["input: height", "required key is missing"]),
    "no channels": ("channels = 4", "channels = 0", ["input: channels", "out of range", "got 0"]),
    "wide input": ("width = 8", "width = 16777217", ["input: width", "out of range", "1 to 16777216"]),
    "large input": (
        "channels = 4, height = 8, width = 8",
        "channels = 16384, height = 16384, width = 16384",
        ["input: elements beyond the limit", "4398046511104", "up to 1099511627776"],
    ),
    "input key": ("width = 8", "width = 8, depth = 1", ["input", "unexpected key 'depth'", "width"]),
    "top key": ('name = "net"', 'name = "net"\nlayers = 1', ["unexpected key 'layers'", "did you mean 'layer'"]),
    "no layers": ('layer = [{ name = "r", op = "relu" }]', "", ["layer", "required key is missing"]),
    "layer as table": ('[{ name = "r", op = "relu" }]', '{ name = "r" }', ["layer", "array of tables"]),
    "quantity": ('"macs"', '"mac"', ["published 1: quantity", "'mac'", "did you mean 'macs'"]),
    "value": ("value = 1\n", "value = nan\n", ["published 1: value", "out of range", "nan"]),
    "zero value": ("value = 1\n", "value = 0\n", ["published 1: value", "out of range"]),
    "tolerance": ("tolerance = 0.1", "tolerance = -0.1", ["published 1: tolerance", "out of range", "-0.1"]),
    "published key": ("tolerance = 0.1", "tolerance = 0.1\npage = 3", ["published 1", "unexpected key 'page'"]),
    "published source": ('0.1\nsource = "a test"', "0.1", ["published 1: source", "required key is missing"]),
}


def test_the_file_that_the_cases_spoil_is_good(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text(GOOD)
    assert load_network(path).name == "net"
    assert [count.value for count in published_counts(path)] == [1]


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(tmp_path: Path, case: str) -> None:
    old, new, parts = BAD_FILES[case]
    assert GOOD.count(old) == 1
    path = tmp_path / "net.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError) as caught:
        load_network(path)
    _check_line(str(caught.value), path, parts)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("content", "part"), [(b"\xff\xfe", "not valid TOML"), (b"", "name: required key"), (None, "cannot be read")]
)
def test_files_that_are_no_text(tmp_path: Path, content: bytes | None, part: str) -> None:
    path = tmp_path / "net.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=part):
        load_network(path)


def test_layer_from_elsewhere_with_an_unknown_operation() -> None:
    with pytest.raises(InputError, match=r"model\.onnx: layer x: op: unknown value; got 'Gemm'"):
        infer_layer(LayerSpec("x", "Gemm", ("input",)), [(1, 1, 1)], "model.onnx: layer x")
