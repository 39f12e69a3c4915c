"""Numpy reference of the floating-point units: exact arithmetic in float64, then one rounding.

A product of two numbers of at most 24 significant bits is exact in float64. A sum is not always, but rounding first to
the 53 bits of float64 and then to p bits gives the correctly rounded sum whenever 53 >= 2 p + 2, so for p up to 24
(bfloat16 8, binary16 11, binary32 24). Subnormal numbers are zero: see the headers of fp_mul.sv and fp_add.sv.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format of one sign bit, `exp_width` exponent bits and `man_width` fraction bits."""

    exp_width: int
    man_width: int

    @property
    def width(self) -> int:
        """Bits of a number."""
        return 1 + self.exp_width + self.man_width

    @property
    def exp_max(self) -> int:
        """Exponent field of infinity and NaN."""
        return (1 << self.exp_width) - 1

    @property
    def bias(self) -> int:
        """Exponent field of 1.0."""
        return self.exp_max >> 1

    @property
    def quiet_nan(self) -> int:
        """The one NaN the units produce."""
        return self.exp_max << self.man_width | 1 << (self.man_width - 1)

    def decode(self, bits: Bits) -> npt.NDArray[np.float64]:
        """Bit patterns to float64 of the same shape; subnormal numbers become zero of the same sign."""
        man_mask = np.uint64((1 << self.man_width) - 1)
        fraction = (bits & man_mask).astype(np.float64)
        exponent = (bits >> np.uint64(self.man_width) & np.uint64(self.exp_max)).astype(np.int64)
        negative = bits >> np.uint64(self.width - 1) != 0
        magnitude = np.ldexp(1 + fraction / 2.0**self.man_width, exponent - self.bias)
        magnitude = np.where(exponent == 0, 0.0, magnitude)
        magnitude = np.where(exponent == self.exp_max, np.where(fraction == 0, np.inf, np.nan), magnitude)
        return np.where(negative, -magnitude, magnitude)

    def encode(self, values: npt.NDArray[np.float64]) -> Bits:
        """Round float64 to nearest, ties to even, with an exponent without a lower end; then flush and overflow."""
        fraction, exponent = np.frexp(np.abs(np.where(np.isfinite(values), values, 0.0)))
        significand = np.rint(np.ldexp(fraction, self.man_width + 1))
        carried = significand >= 2.0 ** (self.man_width + 1)
        significand = np.where(carried, significand / 2, significand)
        field = exponent + carried - 1 + self.bias
        man_mask = np.uint64((1 << self.man_width) - 1)
        bits = np.maximum(field, 0).astype(np.uint64) << np.uint64(self.man_width)
        bits |= significand.astype(np.uint64) & man_mask
        infinity = np.uint64(self.exp_max << self.man_width)
        bits = np.where((values == 0) | (field <= 0), np.uint64(0), bits)
        bits = np.where(np.isinf(values) | (np.isfinite(values) & (field >= self.exp_max)), infinity, bits)
        bits |= np.signbit(values).astype(np.uint64) << np.uint64(self.width - 1)
        return np.where(np.isnan(values), np.uint64(self.quiet_nan), bits)

    def multiply(self, a: Bits, b: Bits) -> Bits:
        """Reference of fp_mul."""
        with np.errstate(invalid="ignore"):
            return self.encode(self.decode(a) * self.decode(b))

    def add(self, a: Bits, b: Bits) -> Bits:
        """Reference of fp_add."""
        with np.errstate(invalid="ignore"):
            return self.encode(self.decode(a) + self.decode(b))

    def corners(self) -> Bits:
        """Numbers at the edges of the format, of both signs."""
        man_all = (1 << self.man_width) - 1
        one = self.bias << self.man_width
        low = [0, 1, man_all, man_all + 1, man_all + 2, 2 * man_all + 1, 2 * man_all + 2]
        unit = [one - 1, one, one + 1, one | man_all, one | 1 << (self.man_width - 1)]
        # Exponents at which one more or one less place decides between result and sticky bit, under- and overflow.
        far = [
            (self.bias + d) << self.man_width | m
            for d in range(-self.man_width - 4, self.man_width + 5)
            for m in (0, 1, man_all)
            if 0 < self.bias + d < self.exp_max
        ]
        half = [(self.bias // 2 + d) << self.man_width | m for d in (0, 1) for m in (0, 1, man_all)]
        infinity = self.exp_max << self.man_width
        high = [infinity - 1, infinity - 2, infinity - man_all - 1, infinity, infinity + 1, infinity | man_all]
        positive = np.array([*low, *unit, *far, *half, *high], np.uint64)
        return np.concatenate([positive, positive | np.uint64(1 << (self.width - 1))])

    def random_pairs(self, rng: np.random.Generator, count: int) -> tuple[Bits, Bits]:
        """Pairs of numbers: any bits, near exponents, and near magnitudes, a third each."""
        a = rng.integers(0, 1 << self.width, count, np.uint64)
        b = rng.integers(0, 1 << self.width, count, np.uint64)
        exponent = (a >> np.uint64(self.man_width) & np.uint64(self.exp_max)).astype(np.int64)
        near = np.clip(exponent + rng.integers(-self.man_width - 3, self.man_width + 4, count), 0, self.exp_max)
        keep = np.uint64((1 << (self.width - 1)) | ((1 << self.man_width) - 1))
        close = (b & keep) | near.astype(np.uint64) << np.uint64(self.man_width)
        neighbour = a ^ (rng.integers(0, 8, count, np.uint64) | b & np.uint64(1 << (self.width - 1)))
        kind = rng.integers(0, 3, count)
        return a, np.select([kind == 0, kind == 1], [b, close], neighbour)
