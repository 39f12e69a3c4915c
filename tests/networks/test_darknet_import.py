"""Darknet .cfg files: the sections that are read, and one line for what is wrong."""

from pathlib import Path

import pytest

from dse.errors import InputError
from dse.network import Network
from dse.networks import load_network
from dse.networks.loader import describe_network
from dse.networks.toml_writer import toml_text

NET = "[net]\nheight=16\nwidth=16\nchannels=3\n"


def load(tmp_path: Path, text: str) -> Network:
    path = tmp_path / "net.cfg"
    path.write_text(text, "utf-8")
    return load_network(path)


def test_a_classifier(tmp_path):
    network = load(
        tmp_path,
        "# a comment\n[net]\nbatch=128\nheight=28 ; rows\nwidth=28\nchannels = 3\nlearning_rate=0.1\npolicy=poly\n\n"
        "[convolutional]\nbatch_normalize=1\nfilters=32\nsize=3\nstride=1\npad=1\nactivation=leaky\n"
        "[maxpool]\nsize=2\nstride=2\n"
        "[convolutional]\nfilters=16\nsize=5\npadding=1\ngroups=4\nactivation=relu\n[avgpool]\n[dropout]\nprobability=.5\n"
        "[connected]\noutput=10\nactivation=linear\n[softmax]\ngroups=1\n[cost]\n",
    )
    ops = "conv batch_norm leaky_relu max_pool conv relu global_avg_pool dropout fc softmax_cross_entropy"
    assert [layer.op for layer in network.layers] == ops.split()
    assert [layer.out_shape for layer in network.layers if layer.op in ("conv", "max_pool")] == [
        (32, 28, 28),
        (32, 14, 14),
        (16, 12, 12),
    ]
    assert network.parameters == 27 * 32 + 64 + 16 * 8 * 25 + 16 + 170
    assert network.macs == 27 * 32 * 784 + 16 * 8 * 25 * 144 + 160


def test_residual_and_route(tmp_path):
    network = load(
        tmp_path,
        NET + "[convolutional]\nfilters=8\nsize=3\npad=1\nactivation=linear\n"
        "[convolutional]\nfilters=8\nsize=1\nactivation=relu\n"
        "[shortcut]\nfrom=-2\nactivation=linear\n"
        "[route]\nlayers=-1\ngroups=2\ngroup_id=1\n"
        "[convolutional]\nfilters=4\nsize=3\nstride=2\npad=1\nactivation=swish\n"
        "[upsample]\nstride=2\n"
        "[route]\nlayers=-1, 2\n"
        "[convolutional]\nfilters=6\nsize=1\nactivation=logistic\n",
    )
    joined = next(layer for layer in network.layers if layer.op == "concat")
    assert joined.out_shape == (12, 16, 16)
    cut = next(layer for layer in network.layers if layer.op == "slice")
    assert (cut.in_shape, cut.out_shape) == ((8, 16, 16), (4, 16, 16))
    assert network.layers[-1].op == "sum_square_error"
    assert network["add2"].inputs == ("relu1", "conv0")


@pytest.mark.parametrize(
    ("pixels", "size", "stride", "out"), [(28, 2, 2, 14), (13, 2, 1, 13), (27, 3, 2, 14), (7, 2, 2, 4)]
)
def test_maxpool_pads_as_darknet_does(tmp_path, pixels, size, stride, out):
    # Darknet: (size + padding - kernel) / stride + 1 with padding = kernel - 1
    text = f"[net]\nheight={pixels}\nwidth={pixels}\nchannels=1\n[maxpool]\nsize={size}\nstride={stride}\n"
    assert load(tmp_path, text).layers[0].out_shape == (1, out, out)


def test_a_written_network_is_the_same_network(tmp_path):
    text = NET + "[convolutional]\nfilters=8\nsize=3\nstride=2\npad=1\nactivation=leaky\n[connected]\noutput=4\n"
    network = load(tmp_path, text)
    written = tmp_path / "out.toml"
    written.write_text(toml_text(describe_network(tmp_path / "net.cfg")), "utf-8")
    assert load_network(written).layers == network.layers


BAD = {
    "unknown section": (NET + "[yolo]\nmask=1\n", ["line 5", "[yolo]", "not supported", "convolutional", "upsample"]),
    "no net": ("[maxpool]\nsize=2\n[softmax]\n", ["line 1", "first section", "net"]),
    "no width": ("[net]\nheight=1\nchannels=1\n[softmax]\n", ["line 1: [net]: width", "missing"]),
    "no layers": (NET, ["number of sections"]),
    "empty": ("", ["number of sections"]),
    "option first": ("a=1\n[net]\n", ["line 1", "neither"]),
    "no equals": (NET + "[maxpool]\nsize\n", ["line 6", "neither", "key=value"]),
    "no number": (NET + "[maxpool]\nsize=x\n", ["line 5: [maxpool]: size", "whole number", "'x'"]),
    "long number": (NET + f"[maxpool]\nsize={'9' * 5000}\n", ["size", "whole number"]),
    "no filters": (NET + "[convolutional]\nfilters=0\n", ["filters", "'0'", "1 to"]),
    "activation": (NET + "[convolutional]\nactivation=leeky\n", ["activation", "'leeky'", "did you mean 'leaky'"]),
    "route": (NET + "[softmax]\n[route]\nlayers=-3\n", ["line 6: [route]: layers", "'-3'", "-1 to 0"]),
    "route to nothing": (NET + "[softmax]\n[route]\n", ["line 6: [route]: layers", "names no layer"]),
    "shortcut": (NET + "[maxpool]\nsize=2\nstride=2\n[softmax]\n[avgpool]\n[shortcut]\nfrom=0\n", ["equal shapes"]),
    "groups": (NET + "[route]\nlayers=0\n", ["line 5", "layers"]),
    "kernel": (NET + "[convolutional]\nsize=99\nactivation=relu\n", ["line 5: [convolutional]: kernel", "99"]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_one_line(tmp_path, case):
    text, parts = BAD[case]
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    message = str(caught.value)
    assert "\n" not in message
    assert "net.cfg" in message
    for part in parts:
        assert part in message
