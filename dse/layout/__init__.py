"""How tensors lie in DRAM: blocks whose tiles are single bursts."""

from dse.layout.blocked import BlockedLayout, Burst
from dse.layout.rows import RowImage

__all__ = ["BlockedLayout", "Burst", "RowImage"]
