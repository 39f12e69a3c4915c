"""Parameter values of the pool unit, with the rules that its RTL checks at elaboration."""

from __future__ import annotations

from dataclasses import dataclass

from dse.errors import InputError

__all__ = ["DEEPEST", "PoolParameters"]

DEEPEST = 32768
"""Cells of the largest ring."""


@dataclass(frozen=True, slots=True)
class PoolParameters:
    """Values of ``rtl_templates/vector/pool_unit.sv``; ``depth`` and ``row_depth`` are cells of channel_block * ub.

    Raises InputError for values that the RTL refuses.
    """

    ub: int = 1
    channel_block: int = 8
    operand_bits: int = 8
    depth: int = 1024
    row_depth: int = 256
    data_bits: int = 64

    def __post_init__(self) -> None:
        for name in ("ub", "channel_block"):
            if getattr(self, name) < 1:
                raise InputError(f"pool unit parameter {name}", "is too small", getattr(self, name), "1 or more")
        if self.operand_bits not in (8, 16):
            raise InputError(
                "pool unit parameter operand_bits", "is not a width of operands", self.operand_bits, "8, 16"
            )
        limits = {"depth": (4, DEEPEST), "row_depth": (4, DEEPEST), "data_bits": (32, 1024)}
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if not low <= value <= high or value & (value - 1):
                raise InputError(f"pool unit parameter {name}", "must be a power of two", value, f"{low} to {high}")

    @property
    def cell(self) -> int:
        """Elements of a cell."""
        return self.channel_block * self.ub

    @property
    def operand_bytes(self) -> int:
        """Bytes of a narrow element."""
        return self.operand_bits // 8

    @property
    def wide_bytes(self) -> int:
        """Bytes of a wide element."""
        return 4 * self.operand_bytes

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8

    def verilog(self) -> dict[str, int]:
        """Parameter name in the RTL -> value."""
        return {
            "OperandWidth": self.operand_bits, "UB": self.ub, "ChannelBlock": self.channel_block,
            "Depth": self.depth, "RowDepth": self.row_depth, "DataWidth": self.data_bits,
        }  # fmt: skip
