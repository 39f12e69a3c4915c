"""How tensors lie in DRAM: blocks whose tiles are single bursts, and where each tensor of a network begins."""

from dse.layout.address_map import AddressMap, Region, address_map
from dse.layout.blocked import BlockedLayout, Burst
from dse.layout.rows import RowImage

__all__ = ["AddressMap", "BlockedLayout", "Burst", "Region", "RowImage", "address_map"]
