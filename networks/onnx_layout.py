"""What an ONNX tensor is in memory: its axes, cut into atoms, and which of them are a layer's channels and pixels.

A reshape or a transposition only names elements anew: the axes change, the layer's storage does not. Storage is changed
by a layer of its own, and only where an operation needs other channels or another order of pixels than there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dse.network import Shape

__all__ = ["Atom", "Axis", "Map", "fresh", "view"]


class Atom:
    """A factor of an axis that no reshape has cut so far; equal only to itself."""

    __slots__ = ("batch", "size")

    def __init__(self, size: int, batch: bool = False) -> None:
        self.size = size
        self.batch = batch


Axis = tuple[Atom, ...]
"""The atoms of an axis, the slowest first; none where its size is 1 and it is not the batch."""


def _size(atoms: Iterable[Atom]) -> int:
    return math.prod(atom.size for atom in atoms)


def view(shape: Sequence[int], channel: int) -> Shape:
    """(channels, height, width) of one sample of a tensor of ``shape`` whose axis ``channel`` holds the channels."""
    rest = [size for axis, size in enumerate(shape) if axis not in (0, channel)]
    channels = shape[channel] if channel else 1
    return channels, math.prod(rest[:-1]), rest[-1] if rest else 1


@dataclass(frozen=True, slots=True)
class Map:
    """A tensor that a layer computes: its axes, and the storage order of the layer's channels and of its pixels."""

    layer: str
    axes: tuple[Axis, ...]
    channels: Axis
    pixels: Axis

    @property
    def shape(self) -> tuple[int, ...]:
        """The ONNX shape, its batch being 1 where that is symbolic."""
        return tuple(_size(axis) for axis in self.axes)

    @property
    def batch_axis(self) -> int:
        """The axis that the batch is, or is a factor of."""
        return next((number for number, axis in enumerate(self.axes) if any(atom.batch for atom in axis)), 0)

    @property
    def batch_front(self) -> bool:
        """Whether axis 0 is the batch and nothing else."""
        return len(self.axes) > 0 and len(self.axes[0]) == 1 and self.axes[0][0].batch

    @property
    def channel(self) -> int:
        """The axis that holds the channels, all of them and no more; 0 where there is none."""
        found = (axis for axis in range(len(self.axes)) if self.sample(axis) == self.channels)
        return next(found, 0) if self.channels else 0

    def sample(self, *axes: int) -> Axis:
        """The atoms of ``axes`` without the batch."""
        return tuple(atom for axis in axes for atom in self.axes[axis] if not atom.batch)

    def others(self, *axes: int) -> tuple[int, ...]:
        """The axes beside ``axes`` and the batch."""
        return tuple(a for a in range(len(self.axes)) if a not in axes and (a != self.batch_axis or self.sample(a)))

    def stored(self, channels: Sequence[int], ordered: bool = False) -> bool:
        """Whether the storage's channels are those axes; with ``ordered`` the pixels in the order of the other ones."""
        rest = self.sample(*self.others(*channels))
        return self.channels == self.sample(*channels) and (not ordered or self.pixels == rest)

    def as_stored(self, layer: str, channels: Sequence[int]) -> Map:
        """The same tensor, computed by ``layer`` with those axes as channels and the others as pixels in order."""
        return Map(layer, self.axes, self.sample(*channels), self.sample(*self.others(*channels)))

    def stored_shape(self, channels: Sequence[int]) -> Shape:
        """(channels, height, width) of that storage."""
        rest = [_size(self.sample(axis)) for axis in self.others(*channels)]
        return _size(self.sample(*channels)), math.prod(rest[:-1]), rest[-1] if rest else 1

    def signature(self) -> tuple[tuple[tuple[int, int, int], ...], ...]:
        """The storage in terms of axes: (axis, stride in it, size) of its channels and of its pixels, runs merged.

        Tensors of one shape are stored alike where their signatures are equal.
        """
        place = {}
        for number, axis in enumerate(self.axes):
            stride = 1
            for atom in reversed(axis):
                place[id(atom)] = (number, stride, atom.size)
                stride *= atom.size
        return tuple(tuple(_merged(place[id(atom)] for atom in atoms)) for atoms in (self.channels, self.pixels))

    def permuted(self, order: Sequence[int]) -> Map:
        """The tensor with its axes in that order."""
        return replace(self, axes=tuple(self.axes[axis] for axis in order))

    def reshaped(self, shape: Sequence[int]) -> Map | None:
        """The tensor seen as ``shape``; None where an axis would be cut across the elements' order."""
        queue = [atom for axis in self.axes for atom in axis]
        axes: list[Axis] = []
        parts: dict[int, Axis] = {}
        for size in shape:
            left, axis = size, list[Atom]()
            while queue and (left > 1 or (queue[0].size == 1 and not axis)):
                atom = queue.pop(0)
                if left % atom.size:
                    if atom.size % left or atom.batch:
                        return None
                    major, minor = Atom(left), Atom(atom.size // left)
                    parts[id(atom)] = (major, minor)
                    queue.insert(0, minor)
                    atom = major
                axis.append(atom)
                left //= atom.size
            if left > 1:
                return None
            axes.append(tuple(axis))
        if axes:
            axes[-1] += tuple(queue)  # a batch of 1 behind everything else
        if any(atom.size > 1 for atom in queue):
            return None
        return Map(self.layer, tuple(axes), _split(self.channels, parts), _split(self.pixels, parts))


def _merged(places: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    last: tuple[int, int, int] | None = None
    for axis, stride, size in places:
        if last is not None and last[0] == axis and last[1] == stride * size:
            last = (axis, stride, last[2] * size)
            continue
        if last is not None:
            yield last
        last = (axis, stride, size)
    if last is not None:
        yield last


def _split(atoms: Axis, parts: dict[int, Axis]) -> Axis:
    """``atoms`` with those that were cut replaced by their parts, which may have been cut again."""
    out: list[Atom] = []
    for atom in atoms:
        out += _split(parts[id(atom)], parts) if id(atom) in parts else (atom,)
    return tuple(out)


def fresh(layer: str, shape: Sequence[int], channel: int) -> Map:
    """The tensor of ``shape`` that ``layer`` computes: batch in front, channels at ``channel`` (0: there are none)."""
    axes = [(Atom(size),) if size > 1 else () for size in shape]
    axes[0] = (Atom(shape[0], batch=True),)
    pixels = tuple(atom for axis, atoms in enumerate(axes) if axis not in (0, channel) for atom in atoms)
    return Map(layer, tuple(axes), axes[channel] if channel else (), pixels)
