"""Every tensor of an iteration has a place of its own."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.errors import InputError
from dse.layout import address_map
from dse.networks import list_networks, load_network

NETWORKS = {name: load_network(name) for name in list_networks()}


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(NETWORKS)),
    st.integers(1, 130),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.sampled_from([64, 4096, 65536]),
    st.integers(0, 3),
    st.sampled_from(["<i1", "<i2"]),
)
def test_regions_are_aligned_and_apart(
    name: str,
    batch: int,
    features: tuple[int, int],
    weights: tuple[int, int],
    alignment: int,
    base: int,
    dtype: str,
) -> None:
    network = NETWORKS[name]
    start = base * alignment
    found = address_map(
        network, batch, dtype=dtype, feature_block=features, weight_block=weights, base=start, alignment=alignment
    )
    ends = [start, *(region.end for region in found.regions)]
    for region, end in zip(found.regions, ends, strict=False):
        assert region.base % alignment == 0
        assert end <= region.base < end + alignment
    assert len({(region.kind, region.name) for region in found.regions}) == len(found.regions)
    trained = sum(int(np.prod(region.layout.shape)) for region in found.regions if region.kind in ("weight", "bias"))
    assert trained == network.parameters
    for layer in network.layers:
        shape = found["activation", layer.name].layout.shape
        assert (shape[0], np.prod(shape[1:])) == (batch, layer.out_elements)


def test_only_what_is_trained_has_an_error() -> None:
    found = address_map(NETWORKS["cnn_1x"], 4)
    with pytest.raises(KeyError):
        found["error", "input"]
    assert found["error", "conv1"].layout.shape == (4, 16, 32, 32)
    assert found["index", "pool1"].layout.shape == (4, 16, 16, 16)


def test_flattening_is_free_and_weights_follow_the_map() -> None:
    found = address_map(NETWORKS["cnn_1x"], 4, feature_block=(1, 8), weight_block=(8, 8))
    assert found["activation", "flatten"] is found["activation", "pool3"]
    assert found["weight", "fc"].layout.shape == (10, 64, 4, 4)
    assert found["gradient", "fc"].size_bytes == 4 * found["weight", "fc"].size_bytes


def test_images_are_inverses_and_checked() -> None:
    region = address_map(NETWORKS["lenet10"], 3, dtype="<i2", feature_block=(2, 2))["activation", "input"]
    tensor = np.random.default_rng(1).integers(-(2**15), 2**15, region.layout.shape)
    image = region.image(tensor)
    assert len(image) == region.size_bytes
    np.testing.assert_array_equal(region.tensor(image), tensor)
    with pytest.raises(ValueError, match="beyond <i2"):
        region.image(np.full(region.layout.shape, 2**15))


def test_plain_is_json_with_every_region() -> None:
    found = address_map(NETWORKS["resnet20_cifar10"], 2, base=8192)
    plain = json.loads(json.dumps(found.plain()))
    assert [row["base"] for row in plain["regions"]] == [region.base for region in found.regions]
    assert plain["bytes"] == found.end


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"alignment": 48}, "alignment: must be a power of two"), ({"base": 100}, "base address: is not aligned")],
)
def test_wrong_addresses_are_refused(arguments: dict[str, int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        address_map(NETWORKS["lenet10"], 1, **arguments)
