"""Real exports of PyTorch, by both of its exporters: counts equal to PyTorch's own, and every layer has a cost."""

import json

import numpy as np
import pytest

from dse.devices import load_device
from dse.networks import load_network
from dse.networks.loader import describe_network
from dse.networks.toml_writer import toml_text
from dse.registry import families
from tests.contract.helpers import random_points, workload
from tests.networks.onnx_made import FIXTURES

COUNTS = json.loads((FIXTURES / "onnx" / "counts.json").read_text("utf-8"))
FILES = sorted((FIXTURES / "onnx").glob("*.onnx"))


def test_every_fixture_is_counted():
    assert {path.stem for path in FILES} == set(COUNTS)
    assert all(path.stat().st_size < 100_000 for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_counts_are_those_of_pytorch(path):
    network = load_network(path)
    assert {"macs": network.macs, "parameters": network.parameters} == COUNTS[path.stem]
    assert network.layers[-1].op in ("softmax_cross_entropy", "sum_square_error")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_written_network_is_the_same_network(path, tmp_path):
    network = load_network(path)
    written = tmp_path / "net.toml"
    written.write_text(toml_text(describe_network(path)), "utf-8")
    again = load_network(written)
    assert (again.name, again.source, again.input_shape) == (network.name, network.source, network.input_shape)
    assert again.layers == network.layers


@pytest.mark.parametrize("family", sorted(families()))
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_family_estimates_it(path, family):
    work = workload(load_network(path), 4, "int8" if family == "batch" else "fp32")
    model, board = families()[family], load_device("zcu102")
    found = model.evaluate(work, board, random_points(model.space(work, board), 20), detail=True)
    assert np.isfinite(found.iteration_s).all()
    cycles = dict(
        zip((layer.name for layer in work.network.layers), found.layers.cycles.sum(axis=2).max(axis=0), strict=True)
    )
    fused = {"relu", "relu6", "dropout"}
    free = [layer.name for layer in work.network.layers if not cycles[layer.name] and layer.op not in fused]
    assert not free


@pytest.mark.parametrize(
    ("name", "folded"),
    [("resnet", False), ("resnet_folded", True), ("resnet_dynamo", True), ("mobilenet_dynamo", True), ("vgg", False),
     ("alexnet", False), ("mixer", False)],
)  # fmt: skip
def test_a_folded_batch_normalisation_is_noticed(name, folded):
    notes = load_network(FIXTURES / "onnx" / f"{name}.onnx").notes
    assert any("folded batch normalisation" in note for note in notes) == folded
