"""What ``dse emit`` says to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.cli.emit_text import summary
from dse.errors import InputError
from dse.golden.shapes import draw_shapes
from tests.emit.conftest import DesignMaker

NETWORK = """
name = "own"
source = "made up"
input = {{ channels = 1, height = {size}, width = {size} }}
layer = [
  {{ name = "conv", op = "conv", out_channels = 4, kernel = 3 }},
  {{ name = "fc", op = "fc", out_channels = {classes} }},
  {{ name = "loss", op = "sum_square_error" }},
]
"""
POINT = {"tm": 4, "tn": 4, "ifm_words": 2048, "ofm_words": 1024, "wei_words": 1024}


@pytest.mark.parametrize(("size", "classes", "drawn"), [(8, 10, True), (8, 11, False), (7, 10, False), (9, 1, False)])
def test_training_is_suggested_on_samples_that_exist(
    size: int, classes: int, drawn: bool, make_design: DesignMaker, tmp_path: Path
) -> None:
    """On drawn shapes where they can be drawn, else on samples of the user's."""
    file = tmp_path / "own.toml"
    file.write_text(NETWORK.format(size=size, classes=classes))
    text = summary(make_design("channel", POINT, network=str(file)), {}, tmp_path)
    try:
        draw_shapes((1, size, size), classes, 100, 0)
    except InputError:
        assert not drawn
    assert text.endswith(f"dse verify {tmp_path} --train 50" + ("" if drawn else " --data SAMPLES.npz"))
