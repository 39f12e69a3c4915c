"""Buffers are as deep as the layers need and the board allows; what the RTL takes is counted, said, and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from dse.emit import Design, load_design
from dse.emit import emit as write
from dse.emit.buffers import resized, with_buffers
from dse.emit.chip import accelerator_resources, check_fits, chip_resources, fits
from dse.engine import Convolution, EngineParameters, Tiling, buffer_words
from dse.engine.layers import engine_layers
from dse.engine.resources import engine_resources
from dse.errors import InputError
from dse.golden import Window
from dse.rtl_shape import RtlShape
from dse.store import load
from tests.cli.cli_process import Outcome
from tests.cli.conftest import dse as dse_command
from tests.emit.conftest import DesignMaker

command = dse_command

BOARD = dse.load_device("zcu102")
LAYERS = engine_layers(dse.load_network("lenet10"), 4)
NEEDS = {"tm": 4, "tn": 8, "ifm_words": 512, "ofm_words": 64, "wei_words": 512}
"""A point whose sums of weight_grad, 25 taps of 8 channels, do not fit."""


def shape_of(depths: tuple[int, int, int]) -> RtlShape:
    names = {"feature": "ifm_words", "operand": "wei_words", "sum": "ofm_words"}
    return RtlShape({}, {b: (name, d) for (b, name), d in zip(names.items(), depths, strict=True)})


def least(hw: EngineParameters) -> list[int]:
    nests = [layer.nest(phase, hw.channel_block) for layer in LAYERS for phase in layer.phases]
    return [max(words) for words in zip(*(buffer_words(hw, nest, Tiling()) for nest in nests), strict=True)]


def test_a_buffer_is_deepened_to_what_the_layers_need(make_design: DesignMaker, tmp_path: Path) -> None:
    design: Design = make_design("channel", NEEDS)
    (sums,) = design.resized
    assert (sums.buffer, sums.parameter, sums.point_words) == ("sum", "ofm_words", 64)
    need = least(design.engine)[2]
    assert 64 < need <= sums.words == design.engine.sum_depth
    assert design.engine.feature_depth == NEEDS["ifm_words"]
    as_it_was = engine_resources(replace(design.engine, sum_depth=64)).bram36
    assert sums.bram36 == engine_resources(design.engine).bram36 - as_it_was > 0
    assert f"ofm_words (sum buffer) deepened from 64 to {sums.words}" in str(sums)
    write(design, tmp_path)
    assert load_design(tmp_path)[0].resized == design.resized


def test_a_buffer_beyond_the_rtls_deepest_is_shortened(make_design: DesignMaker) -> None:
    point = {"tm": 1, "tn": 2, "ifm_words": 40000, "ofm_words": 512, "wei_words": 512}
    design = make_design("channel", point, device="u250")
    (features,) = design.resized
    assert (features.point_words, features.words) == (40000, 32768)
    assert features.bram36 == (64 - 79) / 2  # RAMB18 of 1,024 words of both bytes


def test_long_buffers_are_shortened_where_the_board_is_small(make_design: DesignMaker) -> None:
    long = {"tm": 8, "tn": 8, "ifm_words": 32768, "ofm_words": 16384, "wei_words": 16384}
    design = make_design("channel", long, device="pynq_z1")
    assert {buffer.buffer for buffer in design.resized} == {"feature", "operand", "sum"}
    assert all(buffer.bram36 < 0 and buffer.words < buffer.point_words for buffer in design.resized)
    assert design.resources["bram36"] <= design.device.bram36
    assert make_design("channel", long, device="u250").resized == ()


@pytest.mark.parametrize(
    ("family", "point", "device", "text"),
    [
        (
            "channel",
            {**NEEDS, "tm": 16, "tn": 16},
            "pynq_z1",
            "pynq_z1: the RTL takes more dsp than a design may; got 272",
        ),
        ("batch", {"t_b": 8, "t_i": 16}, "pynq_z1", "pynq_z1: the RTL takes more bram36 than a design may"),
    ],
)
def test_what_the_board_lacks_is_said(
    make_design: DesignMaker, family: str, point: dict[str, int], device: str, text: str
) -> None:
    with pytest.raises(InputError) as error:
        make_design(family, point, device=device, network="alexnet")
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_a_layer_beyond_the_deepest_buffer_is_named() -> None:
    wide = replace(LAYERS[0], conv=Convolution(1, 1, 1, (40, 40), Window((12, 12))))
    hw = EngineParameters(um=1, un=256, channel_block=1)
    rule = "sum_depth for weight_grad of layer conv1: is more than the RTL can have; got 36864; allowed: up to 32768"
    with pytest.raises(InputError, match=rule):
        with_buffers(hw, shape_of((512, 512, 512)), [wide], BOARD)


@given(
    lanes=st.tuples(*(st.sampled_from([1, 2, 3, 5]) for _ in range(5))),
    depths=st.tuples(*(st.integers(2, 32768) for _ in range(3))),
    bram36=st.integers(5, 2000),
)
@settings(max_examples=60, deadline=None)
def test_buffers_fit_layers_and_board_or_neither_can_be(
    lanes: tuple[int, ...], depths: tuple[int, int, int], bram36: int
) -> None:
    ub, um, un, ur, uc = lanes
    board = replace(BOARD, bram36=float(bram36))
    hw = EngineParameters(ub, um, un, ur, uc, 1, 8, *depths)
    shape, need = shape_of(depths), least(hw)
    try:
        sized = with_buffers(hw, shape, LAYERS, board)
    except InputError:
        feature, operand, sums = (max(words, 65) for words in need)  # fewer would be LUT RAM
        bare = replace(hw, feature_depth=feature, operand_depth=operand, sum_depth=sums)
        assert not fits(engine_resources(bare), board, 8)
        return
    check_fits(engine_resources(sized), board, 8)
    ours = (sized.feature_depth, sized.operand_depth, sized.sum_depth)
    assert all(depth >= words for depth, words in zip(ours, need, strict=True))
    roomy = replace(BOARD, bram36=1e6)
    wanted = with_buffers(hw, shape, LAYERS, roomy)
    assert all(buffer.words > buffer.point_words for buffer in resized(shape, wanted))
    if fits(engine_resources(wanted), board, 8):
        assert sized == wanted


def test_intel_boards_count_in_their_own_blocks() -> None:
    used = engine_resources(EngineParameters())
    assert chip_resources(used, dse.load_device("arria10_gx1150"), 8) == {
        "dsp": 32, "bram36": 28.0, "uram288": 0, "m20k": 56,
    }  # fmt: skip
    assert chip_resources(used, BOARD, 8) == {"dsp": 64, "bram36": 28.0, "uram288": 0, "ramb36": 28, "ramb18": 0}


def test_units_beside_the_engine_count_too(make_design: DesignMaker) -> None:
    point = {"tm": 4, "tn": 8, "ifm_words": 512, "ofm_words": 512, "wei_words": 512}
    pools = make_design("channel", point)
    engine = engine_resources(pools.engine)
    assert pools.hardware.pool is not None
    assert pools.resources["dsp"] == engine.dsp + pools.hardware.pool.cell
    assert pools.resources["bram36"] > engine.bram36 + 1
    lanes = pools.engine.data_bits // 8
    with_channel = accelerator_resources(replace(pools.hardware, has_channel=True), 1024, "xcup")
    assert with_channel.dsp == pools.resources["dsp"] + 2 * lanes + lanes // 4


def test_a_design_that_lacks_only_the_units_dsp_blocks_is_refused(make_design: DesignMaker) -> None:
    point = {"tm": 10, "tn": 22, "ifm_words": 512, "ofm_words": 512, "wei_words": 512}
    with pytest.raises(InputError, match="pynq_z1: the RTL takes more dsp than a design may; got 222; allowed: 220"):
        make_design("channel", point, device="pynq_z1")


def test_emit_prints_what_the_rtl_takes(command: Callable[..., Outcome], saved: Path, tmp_path: Path) -> None:
    out = command("emit", saved, "-o", tmp_path / "rtl").out
    design, _ = load_design(tmp_path / "rtl")
    used: dict[str, Any] = design.resources
    assert f"dsp {used['dsp']:,} of 2,520, bram36 {used['bram36']:g} of 912 (RAMB36 {used['ramb36']}" in out
    assert f"estimated  dsp {design.prediction['resources']['dsp']:,.10g}" in out
    assert all(f"buffers    {buffer}" in out for buffer in design.resized)
    assert load(saved).cells
