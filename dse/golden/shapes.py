"""A data set without a download: shapes of ten kinds, drawn from a seed at any size, place, colour and noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dse.errors import InputError
from dse.golden.dataset import DataSet, split
from dse.golden.product import Array
from dse.network import Shape

__all__ = ["KINDS", "draw_shapes", "drawable"]

NOISE = 0.25
"""Standard deviation of the noise on each pixel, where black is -1 and white 1."""
CONTRAST = (0.5, 1.2)
"""Difference of level between a shape and its background, per channel, either way."""

Kind = Callable[[Array, Array], Array]
"""From coordinates (right, down), in units of the shape's half size, to what lies inside."""

KINDS: Mapping[str, Kind] = {
    "disc": lambda u, v: u * u + v * v < 1,
    "square": lambda u, v: np.maximum(abs(u), abs(v)) < 0.85,
    "triangle": lambda u, v: (v < 0.8) & (v > 2.2 * abs(u) - 1),
    "plus": lambda u, v: (np.minimum(abs(u), abs(v)) < 0.28) & (np.maximum(abs(u), abs(v)) < 1),
    "ring": lambda u, v: abs(u * u + v * v - 0.7) < 0.3,
    "frame": lambda u, v: abs(np.maximum(abs(u), abs(v)) - 0.75) < 0.22,
    "saltire": lambda u, v: (abs(abs(u) - abs(v)) < 0.35) & (np.maximum(abs(u), abs(v)) < 0.95),
    "bars": lambda u, v: (np.maximum(abs(u), abs(v)) < 1) & (abs(abs(v) - 0.6) < 0.3),
    "posts": lambda u, v: (np.maximum(abs(u), abs(v)) < 1) & (abs(abs(u) - 0.6) < 0.3),
    "corner": lambda u, v: (np.maximum(abs(u), abs(v)) < 0.95) & ((u < -0.35) | (v > 0.35)),
}
"""Class by class; a data set of fewer takes the first."""


LEAST_PIXELS = 8
"""Height and width of the smallest map on which the kinds differ."""


def drawable(shape: Shape, classes: int) -> bool:
    """Whether shapes can be drawn on maps of ``shape`` (C, H, W) in so many classes."""
    return min(shape[1:]) >= LEAST_PIXELS and 2 <= classes <= len(KINDS)


def draw_shapes(shape: Shape, classes: int, samples: int, seed: int) -> DataSet:
    """``samples`` shapes on maps of ``shape`` (C, H, W), in equal parts of ``classes`` kinds; a fifth is for testing.

    The same arguments give the same bytes. Raises InputError for maps below 8 x 8, more classes than there are kinds,
    and fewer samples than five a class.
    """
    c, h, w = shape
    if min(h, w) < LEAST_PIXELS:
        raise InputError(
            "data shapes", "maps are too small to draw on", f"{h} x {w}", f"{LEAST_PIXELS} x {LEAST_PIXELS} or larger"
        )
    if not 2 <= classes <= len(KINDS):
        raise InputError(
            "data shapes",
            "has no such number of classes",
            classes,
            f"2 to {len(KINDS)}, or samples of your own: --data F.npz",
        )
    if samples < 5 * classes:
        raise InputError("data shapes", "needs five samples a class", samples, f"{5 * classes} or more")
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(samples) % classes)
    drawn = np.empty((samples, c, h, w), np.float32)
    for number, label in enumerate(labels):
        drawn[number] = _draw(rng, list(KINDS.values())[label], shape)
    return split("shapes", drawn, labels, seed)


def _draw(rng: np.random.Generator, kind: Kind, shape: Shape) -> Array:
    c, h, w = shape
    half = rng.uniform(0.28, 0.45) * min(h, w)
    centre = [rng.uniform(half - 0.5, size - half - 0.5) for size in (h, w)]
    down, right = np.mgrid[:h, :w]
    inside = kind((right - centre[1]) / half, (down - centre[0]) / half)
    background = rng.uniform(-0.4, 0.4, (c, 1, 1))
    contrast = rng.uniform(*CONTRAST, (c, 1, 1)) * rng.choice([-1, 1])
    image = background + contrast * inside + rng.normal(0, NOISE, shape)
    pixels: Array = np.clip(image, -1, 1).astype(np.float32)
    return pixels
