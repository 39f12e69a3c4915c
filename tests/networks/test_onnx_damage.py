"""Random and damaged models: a network or one line, never a traceback, and in little time and memory."""

import random
import resource
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto

from dse.errors import InputError
from dse.network import Network
from dse.networks import load_network
from dse.networks.onnx_wire import read_model
from tests.networks.onnx_made import FIXTURES, ints, node, save, weight

CFG = """[net]
height=16
width=16
channels=3
[convolutional]
batch_normalize=1
filters=8
size=3
stride=1
pad=1
activation=leaky
[maxpool]
size=2
stride=2
[route]
layers=-1
groups=2
group_id=1
[convolutional]
filters=4
size=1
activation=linear
[shortcut]
from=-2
activation=relu
[upsample]
stride=2
[route]
layers=-1,0
[avgpool]
[dropout]
[connected]
output=10
activation=linear
[softmax]
[cost]
"""
ROUNDS = 2000


def outcome(path: Path) -> Network | str:
    """The network, or the one line that says what is wrong."""
    try:
        return load_network(path)
    except InputError as error:
        message = str(error)
        assert "\n" not in message
        assert path.name in message
        assert len(message) < 2000
        return message


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled or put in."""
    out = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(out):
            out[at] = rng.randrange(256)
        elif kind == 1 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            del out[at : at + rng.randrange(1, 9)]
        elif kind == 3:
            out[at:at] = out[at : at + rng.randrange(1, 40)]
        else:
            out[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5)))
        if not out:
            return bytes(out)
    return bytes(out)


@pytest.mark.parametrize("name", ["squeeze.onnx", "mixer.onnx", "unet.onnx", "vgg.onnx", "net.cfg"])
def test_damaged_files_are_a_network_or_one_line(tmp_path, name):
    rng = random.Random(name)
    content = CFG.encode() if name == "net.cfg" else (FIXTURES / "onnx" / name).read_bytes()
    path = tmp_path / name
    seen = set()
    for _ in range(ROUNDS if name == "net.cfg" else ROUNDS // 4):
        path.write_bytes(damaged(content, rng))
        begin = time.monotonic()
        seen.add(type(outcome(path)))
        assert time.monotonic() - begin < 2
    assert seen == {Network, str}


def test_files_cut_short(tmp_path):
    content = (FIXTURES / "onnx" / "resnet.onnx").read_bytes()
    path = tmp_path / "cut.onnx"
    for size in range(0, len(content), 23):
        path.write_bytes(content[:size])
        outcome(path)


def test_numbers_without_end(tmp_path):
    path = tmp_path / "m.onnx"
    for value in (2**62, 2**31, -(2**62)):
        for made in (
            [node("Conv", "x w", "y", pads=[0, 0, value, value])],
            [node("Conv", "x w", "y", dilations=[value, 1])],
            [node("ConstantOfShape", "s", "c"), node("Mul", "x c", "y")],
            [node("Range", "a s b", "c"), node("Reshape", "x c", "y")],
            [node("Reshape", "x s", "y")],
            [node("Resize", "x - - s", "y")],
        ):
            save(path, made, weights=[weight("w", 6, 4, 3, 3), ints("s", value), ints("a", 0), ints("b", 1)])
            outcome(path)


def test_dimensions_beyond_any_memory(tmp_path):
    path = save(tmp_path / "m.onnx", [node("Conv", "x w", "y")], weights=[weight("w", 2**40, 4, 3, 3)])
    assert "limit" in str(outcome(path)) or "range" in str(outcome(path))


STEPS = ["conv", "depthwise", "pool", "relu", "norm", "add", "concat", "gate", "mul", "pad", "scale"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=12), st.sampled_from(range(9, 29)), st.data())
def test_random_graphs_are_read(tmp_path_factory, steps, opset, data):
    nodes, weights, channels, last = [], [], {"x": 4}, "x"
    for number, step in enumerate(steps):
        out, n = f"t{number}", channels[last]
        same = [name for name in channels if channels[name] == n]
        other = data.draw(st.sampled_from(sorted(same)))
        m = data.draw(st.integers(1, 8)) if step == "conv" else n
        if step in ("conv", "depthwise"):
            weights.append(weight(f"w{number}", m, n if step == "conv" else 1, 3, 3))
            group = 1 if step == "conv" else n
            nodes.append(node("Conv", f"{last} w{number}", out, pads=[1] * 4, group=group))
        elif step == "norm":
            names = [f"{part}{number}" for part in "sbmv"]
            weights += [weight(name, n) for name in names]
            nodes.append(node("BatchNormalization", " ".join([last, *names]), out))
        elif step == "gate":
            nodes += [node("GlobalAveragePool", last, f"p{number}"), node("Mul", f"{last} p{number}", out)]
        elif step == "concat":
            nodes.append(node("Concat", f"{last} {other}", out, axis=1))
            m = 2 * n
        elif step in ("add", "mul"):
            nodes.append(node(step.capitalize(), f"{last} {other}", out))
        elif step == "pool":
            nodes.append(node("MaxPool", last, out, kernel_shape=[3, 3], pads=[1] * 4))
        else:
            op = {"relu": "Relu", "pad": "Sigmoid", "scale": "Tanh"}[step]
            nodes.append(node(op, last, out))
        channels[out], last = m, out
    path = save(tmp_path_factory.mktemp("random") / "m.onnx", nodes, weights=weights, opset=opset, outputs=(last,))
    network = load_network(path)
    assert network.layers[-1].in_shape == (channels[last] * 64, 1, 1)
    assert all(layer.op in ("flatten", "sum_square_error") or layer.out_shape[1:] in ((8, 8), (1, 1))
               for layer in network.layers)  # fmt: skip


def test_weights_are_not_read(tmp_path):
    path, count = tmp_path / "large.onnx", 60
    nodes = [node("Conv", f"t{i} w{i}", f"t{i + 1}", pads=[1] * 4) for i in range(count)]
    nodes[0].input[0], nodes[-1].output[0] = "x", "y"
    save(path, nodes, ("N", 512, 8, 8), [])
    with path.open("r+b") as file:  # appended to a protobuf, a second part of the graph is merged with the first
        file.seek(0, 2)
        for i in range(count):
            tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=(512, 512, 3, 3))
            head = tensor.SerializeToString() + b"\x4a" + _varint(512 * 512 * 9 * 4)
            length = len(head) + 512 * 512 * 9 * 4
            initializer = b"\x2a" + _varint(length) + head
            file.write(b"\x3a" + _varint(len(initializer) + 512 * 512 * 9 * 4) + initializer)
            file.seek(512 * 512 * 9 * 4 - 1, 1)
            file.write(b"\0")
    assert path.stat().st_size > 550_000_000
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    model = read_model(path)
    assert time.monotonic() - begin < 3
    assert model.ByteSize() < 100_000
    network = load_network(path)
    assert network.parameters == count * 512 * 512 * 9
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * 1024 < 1.2e9  # the mapped file counts where it is in the page cache
    path.unlink()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
