"""Random networks against brute force, and thousands of spoilt files."""

import random
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dse.errors import InputError
from dse.network import MAC_OPERATIONS, Shape
from dse.networks import list_networks, load_network


@dataclass
class Expected:
    """What brute force says of one layer."""

    text: str
    inputs: tuple[str, ...]
    shape: Shape
    macs: int = 0
    parameters: int = 0


def _starts(size: int, kernel: int, stride: int, dilation: int, before: int, after: int) -> list[int]:
    """First pixel of every window that lies wholly on the padded axis."""
    last = size + after - 1
    return [p for p in range(-before, last + 1, stride) if p + dilation * (kernel - 1) <= last]


def _draw_conv(draw: st.DrawFn, shape: Shape) -> Expected | None:
    n, h, w = shape
    groups = draw(st.sampled_from([g for g in range(1, n + 1) if n % g == 0]))
    m = groups * draw(st.integers(1, 3))
    (kh, kw), (sh, sw), (dh, dw) = (draw(st.tuples(*[st.integers(1, top)] * 2)) for top in (3, 3, 2))
    top, left, bottom, right = draw(st.tuples(*[st.integers(0, 2)] * 4))
    rows, columns = _starts(h, kh, sh, dh, top, bottom), _starts(w, kw, sw, dw, left, right)
    if not rows or not columns:
        return None
    macs = sum(1 for _ in product(range(m), range(n // groups), rows, columns, range(kh), range(kw)))
    bias = draw(st.booleans())
    weights = sum(1 for _ in product(range(m), range(n // groups), range(kh), range(kw)))
    text = (
        f'op = "conv", out_channels = {m}, kernel = [{kh}, {kw}], stride = [{sh}, {sw}], dilation = [{dh}, {dw}], '
        f"padding = [{top}, {left}, {bottom}, {right}], groups = {groups}, bias = {str(bias).lower()}"
    )
    return Expected(text, (), (m, len(rows), len(columns)), macs, weights + (m if bias else 0))


def _draw_layer(draw: st.DrawFn, shapes: dict[str, Shape]) -> Expected | None:
    source = draw(st.sampled_from(sorted(shapes)))
    c, h, w = shape = shapes[source]
    op = draw(st.sampled_from(["conv", "conv", "relu", "bias", "batch_norm", "max_pool", "fc", "add", "concat"]))
    made: Expected | None = None
    inputs: tuple[str, ...] = (source,)
    if op == "conv":
        made = _draw_conv(draw, shape)
    elif op == "fc":
        m = draw(st.integers(1, 4))
        made = Expected(f'op = "fc", out_channels = {m}', (), (m, 1, 1), m * c * h * w, m * c * h * w)
    elif op == "max_pool":
        if h > 1 and w > 1:
            made = Expected('op = "max_pool", kernel = 2', (), (c, h // 2, w // 2))
    elif op in ("add", "concat"):
        fits = [name for name, other in shapes.items() if (other == shape if op == "add" else other[1:] == shape[1:])]
        inputs = (source, draw(st.sampled_from(sorted(fits))))
        channels = c if op == "add" else sum(shapes[name][0] for name in inputs)
        made = Expected(f'op = "{op}"', (), (channels, h, w))
    else:
        made = Expected(f'op = "{op}"', (), shape, 0, {"relu": 0, "bias": c, "batch_norm": 2 * c}[op])
    if made is None or made.shape[0] > 12:
        return None
    made.inputs = inputs
    return made


@st.composite
def _networks(draw: st.DrawFn) -> tuple[Shape, dict[str, Expected]]:
    shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 6), st.integers(1, 6)))
    shapes, layers = {"input": shape}, dict[str, Expected]()
    for number in range(draw(st.integers(1, 9))):
        made = _draw_layer(draw, shapes)
        if made is not None:
            name = f"l{number}"
            layers[name], shapes[name] = made, made.shape
    read = {source for layer in layers.values() for source in layer.inputs}
    ends = [name for name in layers if name not in read] or ["input"]
    for name in ends:
        c, h, w = shapes[name]
        layers[f"{name}_flat"] = Expected('op = "flatten"', (name,), (c * h * w, 1, 1))
    joined = sum(layers[f"{name}_flat"].shape[0] for name in ends)
    flat = tuple(f"{name}_flat" for name in ends)
    layers["joined"] = Expected(f'op = "{"concat" if len(flat) > 1 else "relu"}"', flat, (joined, 1, 1))
    layers["loss"] = Expected('op = "sum_square_error"', ("joined",), (joined, 1, 1))
    return shape, layers


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(network=_networks(), order=st.randoms(use_true_random=False))
def test_random_networks_equal_brute_force(
    tmp_path: Path, network: tuple[Shape, dict[str, Expected]], order: random.Random
) -> None:
    (c, h, w), expected = network
    names = list(expected)
    order.shuffle(names)  # the file lists them in any order
    rows = "".join(
        f'{{ name = "{name}", {expected[name].text}, from = {list(expected[name].inputs)} }},\n'.replace("'", '"')
        for name in names
    )
    path = tmp_path / "net.toml"
    path.write_text(
        f'name = "net"\nsource = "s"\ninput = {{ channels = {c}, height = {h}, width = {w} }}\nlayer = [\n{rows}]\n'
    )
    got = load_network(path)
    assert {layer.name for layer in got.layers} == set(expected)
    trained: dict[str, bool] = {"input": False}  # whether a layer or one before it has parameters
    for layer in got.layers:
        want = expected[layer.name]
        before = any(trained[source] for source in want.inputs)
        assert (layer.out_shape, layer.macs, layer.parameters) == (want.shape, want.macs, want.parameters)
        assert (layer.inputs, layer.needs_input_grad) == (want.inputs, before)
        trained[layer.name] = before or want.parameters > 0
    assert got.macs == sum(layer.macs for layer in expected.values())
    assert got.parameters == sum(layer.parameters for layer in expected.values())


VALUES = (
    *(
        "0",
        "1",
        "-1",
        "2",
        "3",
        "16777216",
        "16777217",
        "9223372036854775807",
        "9223372036854775808",
        "0x" + "f" * 4000,
    ),
    *("1e400", "nan", "-inf", "1.5", "true", '""', '"same"', '"input"', '"loss"', '"conv1"', '"relu"', '"conv"'),
    *("[]", "[1, 2]", "[1, 2, 3, 4]", '["input", "input"]', "[[]]", "{}", "{ a = 1 }", "1979-05-27", "07:32:00", "@"),
)
TOKEN = re.compile(r'"[^"]*"|\[[^\[\]\n]*\]|-?[\d_.]+')
KEYS = ("kernel", "stride", "padding", "groups", "from", "out_channels", "bias", "dilation", "name", "op", "layer", "x")


def _spoil_value(text: str, rng: random.Random) -> str:
    token = rng.choice(list(TOKEN.finditer(text)))
    return text[: token.start()] + rng.choice(VALUES) + text[token.end() :]


def _spoil_key(text: str, rng: random.Random) -> str:
    key = rng.choice(list(re.finditer(r"\b[a-z_]+(?= = )", text)))
    return text[: key.start()] + rng.choice(KEYS) + text[key.end() :]


def _spoil_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.5:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[first] = rng.choice(["", lines[second]])
    return "\n".join(lines)


def _spoil_characters(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text))
    return text[:start] + rng.choice(["", "\0", "\n", '"', "'", "}", "]", "é", "=", "9"]) + text[start + 1 :]


def _add_attribute(text: str, rng: random.Random) -> str:
    end = rng.choice(list(re.finditer(r" \},", text))).start()
    return f"{text[:end]}, {rng.choice(KEYS)} = {rng.choice(VALUES)}{text[end:]}"


SPOILERS = (_spoil_value, _spoil_value, _spoil_key, _spoil_lines, _spoil_characters, _add_attribute, _add_attribute)


@pytest.mark.parametrize(
    ("name", "count"),
    [("lenet10", 900), ("nada_demo", 700), ("cnn_1x", 500), ("alexnet", 500), ("resnet20_cifar10", 200)],
)
def test_spoilt_files_load_or_are_refused_in_one_line(tmp_path: Path, name: str, count: int) -> None:
    shipped = list_networks()[name].read_text()
    path = tmp_path / "net.toml"
    rng = random.Random(name)
    refused: list[str] = []
    for _ in range(count):
        text = shipped
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            text = rng.choice(SPOILERS)(text, rng)
        path.write_text(text)
        try:
            network = load_network(path)
        except InputError as error:
            refused.append(str(error))
        else:
            assert network.table["macs"].sum() == network.macs  # every size fits int64
            assert all(layer.macs >= 0 and layer.out_elements > 0 for layer in network.layers)
            assert all(layer.macs == 0 for layer in network.layers if layer.op not in MAC_OPERATIONS)
    assert all("\n" not in message and message.startswith(str(path)) for message in refused)
    assert 0.3 * count < len(refused) < count  # the spoilers do spoil, and do not only spoil
