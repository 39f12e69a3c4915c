"""On-chip memories from geometry: how many block RAMs a bank of so many words of so many bits takes.

Only block RAM is modelled: shallow banks that a tool would put into LUTs are counted as half a block.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import Float

__all__ = ["bank_bram36", "depth_granule", "legal_depths", "published_bank_bram36"]

# (words, bits) of half a block: RAMB18 in simple dual port (UG473 table 1-7, UG573 table 1-9).
_RAMB18 = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
# M20K (Intel Arria 10 core fabric handbook UG-M20K, "Embedded memory configurations").
_M20K = ((512, 40), (1024, 20), (2048, 10))


def _shapes(device: Device) -> tuple[tuple[int, int], ...]:
    return _M20K if device.vendor == "intel" else _RAMB18


def bank_bram36(device: Device, words: NDArray[np.int64], bits: NDArray[np.int64]) -> Float:
    """RAMB36 (halves are RAMB18 or M20K) of one bank, one write and one read port, float [S].

    The best of the block's aspect ratios. ``bits`` may be many lanes' words side by side where all share an address.
    """
    counts = [-(-bits // width) * -(-words // depth) for depth, width in _shapes(device)]
    return np.asarray(np.minimum.reduce(counts) / 2.0)


def published_bank_bram36(words: NDArray[np.int64]) -> Float:
    """EF-Train's count for 32-bit words: half a block up to 512 words, then whole blocks of 1024 (eqs. 29-31)."""
    return np.where(words <= 512, 0.5, np.ceil(words / 1024.0))


def depth_granule(device: Device, bits: int) -> int:
    """Words that fit half a block at this width: a bank's depth is worth raising in these steps only."""
    return max((depth for depth, width in _shapes(device) if width >= bits), default=_shapes(device)[0][0])


def legal_depths(granule: int, need_words: int, most_halves: int) -> NDArray[np.int64]:
    """Bank depths worth trying: granules up to the first that holds ``need_words``, at most ``most_halves`` of them."""
    steps = max(min(-(-need_words // granule), most_halves), 1)
    return granule * np.arange(1, steps + 1, dtype=np.int64)
