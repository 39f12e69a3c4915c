"""A convolution's three phases as the engine's loop nest: what is produced, what is summed over, and the taps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.errors import InputError
from dse.golden.convolution import Window

__all__ = ["Axis", "Convolution", "PhaseNest", "Tiling", "phase_nest"]


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of ``n`` channels of ``size`` (H, W) to ``m`` channels, over ``batch`` samples.

    Raises InputError for dilation, which the engine does not have, for strides beyond 255 and for empty outputs.
    """

    batch: int
    n: int
    m: int
    size: tuple[int, int]
    window: Window

    def __post_init__(self) -> None:
        if self.window.dilation != (1, 1):
            raise InputError("convolution", "the engine has no dilation", self.window.dilation, "(1, 1)")
        if max(self.window.stride) > 255:
            raise InputError("convolution", "the stride is too large", self.window.stride, "1 to 255")
        if self.n % self.window.groups or self.m % self.window.groups:
            raise InputError("convolution", "groups must divide the channels", (self.window.groups, self.n, self.m))
        if min(self.out_size) < 1:
            raise InputError("convolution", "the output is empty", self.out_size)

    @property
    def out_size(self) -> tuple[int, int]:
        """Rows and columns of the output."""
        return self.window.out_size(self.size)

    @property
    def group_m(self) -> int:
        """Output channels of a group."""
        return self.m // self.window.groups

    @property
    def group_n(self) -> int:
        """Input channels of a group."""
        return self.n // self.window.groups

    @property
    def macs(self) -> int:
        """Multiplications of one phase."""
        rows, columns = self.out_size
        return self.batch * self.m * self.group_n * rows * columns * math.prod(self.window.kernel)

    def group_sets(self, block: int) -> tuple[int, int]:
        """(groups of a set, sets): the fewest groups that fill whole blocks of channels, or all of them in one set."""
        groups = self.window.groups
        one = math.lcm(block // math.gcd(block, self.group_m), block // math.gcd(block, self.group_n))
        sets = -(-groups // one)
        fills = all(-(-groups * c // block) == sets * one * c // block for c in (self.group_m, self.group_n))
        return (one, sets) if sets > 1 and fills else (groups, 1)


@dataclass(frozen=True, slots=True)
class Axis:
    """Rows or columns of the nest: ``extent`` steps of outputs, in ``classes`` classes, over ``taps`` taps at most.

    ``start`` is the pixel of the feature operand under the first tap of the first output. ``first_class`` is the class
    of the first output pixel, ``class_last`` the last class with ``taps`` taps, ``operand`` and ``result`` are the
    sizes of the maps read and written.
    """

    extent: int
    taps: int
    stride: int
    start: int
    operand: int
    result: int
    classes: int = 1
    class_last: int = 0
    first_class: int = 0

    def class_taps(self) -> list[int]:
        """Steps over the taps, per class; a class without taps takes one."""
        return [max(self.taps - (p > self.class_last), 1) for p in range(self.classes)]


@dataclass(frozen=True, slots=True)
class PhaseNest:
    """One phase of one convolution: channels produced (``m``) and summed or paired (``n``) of one set of groups."""

    phase: str
    conv: Convolution
    batch: int
    m: int
    n: int
    sets: int
    row: Axis
    column: Axis


def phase_nest(conv: Convolution, phase: str, channel_block: int) -> PhaseNest:
    """The nest of ``phase``: "forward", "input_grad" or "weight_grad"."""
    group_set, sets = conv.group_sets(channel_block)
    m, n = group_set * conv.group_m, group_set * conv.group_n
    make = _dense_axis if phase != "input_grad" else _class_axis
    row, column = (make(conv, i) for i in (0, 1))
    if phase == "input_grad":
        m, n = n, m
    return PhaseNest(phase, conv, conv.batch, m, n, sets, row, column)


def _dense_axis(conv: Convolution, i: int) -> Axis:
    window, outputs = conv.window, conv.out_size[i]
    return Axis(outputs, window.kernel[i], window.stride[i], -window.padding[i], conv.size[i], outputs)


def _class_axis(conv: Convolution, i: int) -> Axis:
    """Input pixel y is place (y + padding) div stride of class (y + padding) mod stride."""
    kernel, stride, padding = conv.window.kernel[i], conv.window.stride[i], conv.window.padding[i]
    first, last = padding // stride, (conv.size[i] - 1 + padding) // stride
    taps = -(-kernel // stride)
    return Axis(
        last - first + 1, taps, 1, first - (taps - 1), conv.out_size[i], conv.size[i],
        classes=stride, class_last=(kernel - 1) % stride, first_class=padding % stride,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tiling:
    """A tile: ``m_groups`` x UM channels, ``n_groups`` x UN channels, ``b_blocks`` x UB samples, ``rows`` of the nest.

    A row of the nest is an output row, in input_grad one of each class.
    """

    m_groups: int = 1
    n_groups: int = 1
    b_blocks: int = 1
    rows: int = 1
