"""Layer shapes and unroll settings on which the engine is compared with the golden model."""

from __future__ import annotations

from dse.engine import Convolution, EngineParameters
from dse.golden.convolution import Window

Pair = tuple[int, int]


def _conv(
    batch: int, n: int, m: int, size: Pair, kernel: Pair, stride: Pair = (1, 1), padding: int | tuple[int, ...] = 0,
    groups: int = 1,
) -> Convolution:  # fmt: skip
    top, left, bottom, right = (padding,) * 4 if isinstance(padding, int) else padding
    return Convolution(batch, n, m, size, Window(kernel, stride, (top, left, bottom, right), (1, 1), groups))


LAYERS: dict[str, Convolution] = {
    "1x1": _conv(1, 3, 5, (6, 7), (1, 1)),
    "1x1 padded": _conv(2, 3, 4, (5, 7), (1, 1), padding=1),
    "1x1 wide": _conv(2, 19, 23, (3, 3), (1, 1)),
    "1x1 one pixel": _conv(1, 16, 4, (1, 1), (1, 1)),
    "1x1 stride 2": _conv(1, 5, 4, (8, 8), (1, 1), (2, 2)),
    "1x1 stride 2 odd": _conv(2, 3, 3, (7, 5), (1, 1), (2, 2)),
    "1x1 stride 3 padded": _conv(1, 2, 2, (6, 6), (1, 1), (3, 3), 1),
    "3x3": _conv(2, 4, 6, (5, 5), (3, 3), padding=1),
    "3x3 unpadded": _conv(1, 5, 3, (6, 9), (3, 3)),
    "3x3 deep": _conv(1, 24, 17, (4, 4), (3, 3), padding=1),
    "3x3 batch 5": _conv(5, 3, 4, (4, 3), (3, 3), padding=1),
    "3x3 fully padded": _conv(2, 3, 3, (3, 3), (3, 3), padding=2),
    "3x3 one pixel": _conv(1, 1, 1, (1, 1), (3, 3), padding=1),
    "3x3 one row": _conv(1, 2, 3, (1, 9), (3, 3), padding=1),
    "3x3 one column": _conv(1, 3, 2, (9, 1), (3, 3), padding=1),
    "3x3 stride 2": _conv(1, 3, 4, (9, 8), (3, 3), (2, 2), 1),
    "3x3 stride 2 even": _conv(2, 6, 5, (8, 8), (3, 3), (2, 2), 1),
    "3x3 stride 3": _conv(1, 4, 2, (10, 11), (3, 3), (3, 3)),
    "3x3 stride 4": _conv(1, 2, 3, (13, 9), (3, 3), (4, 4), 1),
    "2x2 stride 2": _conv(1, 4, 4, (6, 6), (2, 2), (2, 2)),
    "2x2 stride 3": _conv(1, 4, 4, (7, 7), (2, 2), (3, 3)),
    "2x3 ragged": _conv(3, 7, 11, (3, 2), (2, 3), padding=(1, 1, 0, 1)),
    "3x1": _conv(1, 2, 2, (5, 5), (3, 1), (2, 1), (1, 0, 1, 0)),
    "1x5": _conv(1, 3, 4, (4, 9), (1, 5), padding=(0, 2, 0, 2)),
    "4x4 stride 2": _conv(1, 2, 5, (10, 8), (4, 4), (2, 2), 1),
    "5x5": _conv(3, 2, 3, (7, 9), (5, 5), padding=2),
    "5x5 unpadded": _conv(1, 6, 2, (9, 6), (5, 5)),
    "5x5 stride 2,3": _conv(1, 2, 3, (11, 12), (5, 5), (2, 3), (2, 1, 2, 1)),
    "5x5 larger than the map": _conv(1, 2, 3, (3, 3), (5, 5), padding=2),
    "7x7": _conv(1, 2, 3, (8, 9), (7, 7), padding=3),
    "7x7 stride 2": _conv(1, 3, 2, (15, 14), (7, 7), (2, 2), 3),
    "9x9 stride 3": _conv(1, 1, 2, (17, 12), (9, 9), (3, 3), 4),
    "11x11 stride 4": _conv(1, 2, 3, (19, 23), (11, 11), (4, 4)),
    "11x11 stride 4 padded": _conv(1, 3, 2, (23, 19), (11, 11), (4, 4), 2),
    "depthwise": _conv(2, 6, 6, (6, 6), (3, 3), padding=1, groups=6),
    "depthwise stride 2": _conv(1, 8, 8, (7, 7), (3, 3), (2, 2), 1, 8),
    "depthwise 20": _conv(2, 20, 20, (4, 4), (3, 3), padding=1, groups=20),
    "depthwise x2": _conv(1, 6, 12, (4, 5), (3, 3), padding=1, groups=6),
    "2 groups": _conv(1, 6, 4, (5, 6), (3, 3), padding=1, groups=2),
    "2 wide groups": _conv(1, 32, 16, (3, 4), (3, 3), padding=1, groups=2),
    "3 groups": _conv(2, 9, 6, (4, 5), (3, 3), padding=1, groups=3),
    "3 groups 1x1": _conv(1, 12, 15, (5, 5), (1, 1), groups=3),
    "5 groups stride 2": _conv(1, 15, 10, (4, 4), (3, 3), (2, 2), 1, 5),
    "fc": _conv(5, 10, 7, (1, 1), (1, 1)),
    "fc wide": _conv(9, 37, 21, (1, 1), (1, 1)),
    "fc of a map": _conv(4, 3, 9, (4, 4), (4, 4)),
    "fc to one": _conv(7, 1, 1, (1, 1), (1, 1)),
}


def _engine(**values: int) -> EngineParameters:
    depths = {"feature_depth": 2048, "operand_depth": 1024, "sum_depth": 2048}
    return EngineParameters(**{**depths, **values})


SETTINGS: dict[str, EngineParameters] = {
    "one lane": _engine(um=1, un=1, channel_block=1),
    "channel 2x2": _engine(um=2, un=2, channel_block=2),
    "channel 7x7 int16": _engine(um=7, un=7, channel_block=7, operand_bits=16),
    "channel 16x16": _engine(um=16, un=16, channel_block=16),
    "channel 3x5": _engine(um=3, un=5, channel_block=1),
    "channel 6x9 in threes": _engine(um=6, un=9, channel_block=3),
    "channel 4x8 int16, 32-bit beats": _engine(um=4, un=8, channel_block=4, operand_bits=16, data_bits=32),
    "channel 24x8": _engine(um=24, un=8, channel_block=8, data_bits=128),
    "batch 3x5": _engine(ub=3, um=1, un=5, channel_block=1),
    "batch 8x8": _engine(ub=8, um=1, un=8, channel_block=1),
    "feature map 3x4": _engine(um=1, un=1, ur=3, uc=4, channel_block=1),
    "feature map 7x7": _engine(um=1, un=2, ur=7, uc=7, channel_block=1),
    "feature map 8x8": _engine(um=1, un=1, ur=8, uc=8, channel_block=1),
    "all of them": _engine(ub=2, um=4, un=2, ur=2, uc=3, channel_block=2),
    "batch and columns, 128-bit beats": _engine(ub=5, um=2, un=3, uc=2, channel_block=1, data_bits=128),
    "rows and channels": _engine(um=5, un=10, ur=5, channel_block=5, operand_bits=16),
}
