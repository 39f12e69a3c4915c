"""On-chip memories from geometry: how many block RAMs (or LUTs) a bank of so many words of so many bits takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import Float

__all__ = ["LUTRAM_WORDS", "bank_bram36", "bank_lut", "depth_granule", "legal_depths", "published_bank_bram36"]

LUTRAM_WORDS = 64
"""Deepest bank kept in LUTs: a LUT6 holds 64 bits (Xilinx UG474 / UG574, distributed RAM; Intel MLABs hold 32 x 20)."""

# (words, bits) of half a block: RAMB18 in simple dual port (UG473 table 1-7, UG573 table 1-9).
_RAMB18 = ((512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1))
# M20K (Intel Arria 10 core fabric handbook UG-M20K, "Embedded memory configurations").
_M20K = ((512, 40), (1024, 20), (2048, 10))


def _shapes(device: Device) -> tuple[tuple[int, int], ...]:
    return _M20K if device.vendor == "intel" else _RAMB18


def bank_bram36(device: Device, words: NDArray[np.int64], bits: int | NDArray[np.int64]) -> Float:
    """RAMB36 (halves are RAMB18 or M20K) of one bank, one write and one read port, float [S].

    The best of the block's aspect ratios; a bank of at most LUTRAM_WORDS takes none, see ``bank_lut``.
    """
    counts = [-(-np.asarray(bits) // width) * -(-words // depth) for depth, width in _shapes(device)]
    return np.where(words <= LUTRAM_WORDS, 0.0, np.minimum.reduce(counts) / 2.0)


def bank_lut(words: NDArray[np.int64], bits: int | NDArray[np.int64]) -> Float:
    """LUTs of one bank kept in distributed RAM: a simple dual-port RAM64M holds 64 x 3 bits in four LUTs, float [S]."""
    return np.where(words <= LUTRAM_WORDS, -(-np.asarray(bits) // 3) * 4.0, 0.0)


def published_bank_bram36(words: NDArray[np.int64]) -> Float:
    """EF-Train's count for 32-bit words: half a block up to 512 words, then whole blocks of 1024 (eqs. 29-31)."""
    return np.where(words <= 512, 0.5, np.ceil(words / 1024.0))


def depth_granule(device: Device, bits: int) -> int:
    """Words that fit half a block at this width: a bank's depth is worth raising in these steps only."""
    return max((depth for depth, width in _shapes(device) if width >= bits), default=_shapes(device)[0][0])


def legal_depths(device: Device, bits: int, need_words: int, most_bram36: float) -> NDArray[np.int64]:
    """Bank depths worth trying, in words: LUTRAM_WORDS, then whole granules.

    Up to the first that holds ``need_words`` or, before that, the last whose bank takes at most ``most_bram36``.
    """
    granule = depth_granule(device, bits)
    halves = float(bank_bram36(device, np.asarray(granule), bits)) * 1.0
    steps = min(-(-need_words // granule), max(int(most_bram36 // halves), 1))
    depths = [LUTRAM_WORDS] if need_words > 0 else []
    if need_words > LUTRAM_WORDS:
        depths += [granule * k for k in range(1, steps + 1)]
    return np.array(depths or [LUTRAM_WORDS], dtype=np.int64)
