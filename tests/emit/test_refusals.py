"""A point that the RTL cannot realise is refused with the parameter and the rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

import dse
from dse.emit.render import _vivado_part
from dse.engine.layers import engine_layers
from dse.errors import InputError
from tests.emit.conftest import DesignMaker

WORDS = {"ifm_words": 2048, "ofm_words": 1024, "wei_words": 1024}


@pytest.mark.parametrize(
    ("family", "point", "precision", "text"),
    [
        ("channel", {"tm": 4, "tn": 4, **WORDS}, "fp32", "precision: the RTL has integer lanes only; got 'fp32'"),
        ("channel", {"tm": 4, "tn": 300, **WORDS}, "int8", "tn=300 (un)"),
        ("batch", {"t_b": 300, "t_i": 4}, "int8", "ub * ur * uc"),
    ],
)
def test_points(make_design: DesignMaker, family: str, point: dict[str, int], precision: str, text: str) -> None:
    with pytest.raises(InputError) as error:
        make_design(family, point, precision, batch_size=512)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_layers_without_rtl_are_named() -> None:
    network = dse.load_network("lenet10")
    layer = network.layers[0]
    odd = replace(network, layers=(replace(layer, op="conv_transpose"), *network.layers[1:]))
    with pytest.raises(InputError, match="layer conv1: the RTL has no such operation; got 'conv_transpose'"):
        engine_layers(odd, 1)
    dilated = replace(network, layers=(replace(layer, dilation=(2, 2)), *network.layers[1:]))
    with pytest.raises(InputError, match="no dilation"):
        engine_layers(dilated, 1)


def test_a_fully_connected_layer_is_a_kernel_over_the_map_before_the_flatten() -> None:
    layers = {item.layer.name: item for item in engine_layers(dse.load_network("lenet10"), 2)}
    assert layers["fc1"].conv.window.kernel == layers["fc1"].conv.size == (4, 4)
    assert layers["fc1"].conv.macs == 2 * layers["fc1"].layer.macs
    assert layers["conv1"].phases == ("forward", "weight_grad")
    assert layers["conv2"].phases == ("forward", "input_grad", "weight_grad")


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("XC7Z045-2FFG900C", "xc7z045ffg900-2"),
        ("XCZU9EG-2FFVB1156E", "xczu9eg-ffvb1156-2-e"),
        ("XCVU9P-L2FSGD2104E", "xcvu9p-fsgd2104-2L-e"),
        ("XCU250-FIGD2104-2L-E", "xcu250-figd2104-2L-e"),
        ("XCVU9P", "xcvu9p"),
    ],
)
def test_ordering_codes_become_vivados_names(part: str, name: str) -> None:
    assert _vivado_part(part) == name
