"""Parameter values of the convolution engine, with the rules that its RTL checks at elaboration."""

from __future__ import annotations

from dataclasses import dataclass

from dse.errors import InputError

__all__ = ["MOST_WORDS", "EngineParameters"]

_WIDEST_TREE = 256
MOST_WORDS = 32768
"""Words of half a buffer at the most, as conv_engine.sv checks them."""


@dataclass(frozen=True, slots=True)
class EngineParameters:
    """Values of ``rtl_templates/engine/conv_engine.sv``; depths are words of half a double buffer.

    Raises InputError for values that the RTL refuses.
    """

    ub: int = 1
    um: int = 8
    un: int = 8
    ur: int = 1
    uc: int = 1
    channel_block: int = 8
    operand_bits: int = 8
    feature_depth: int = 1024
    operand_depth: int = 512
    sum_depth: int = 512
    data_bits: int = 64

    def __post_init__(self) -> None:
        for name in ("ub", "um", "un", "ur", "uc", "channel_block"):
            if getattr(self, name) < 1:
                raise InputError(f"engine parameter {name}", "is too small", getattr(self, name), "1 or more")
        if self.operand_bits not in (8, 16):
            raise InputError("engine parameter operand_bits", "is not a width of operands", self.operand_bits, "8, 16")
        if self.um % self.channel_block or self.un % self.channel_block:
            got = f"{self.channel_block} for um={self.um}, un={self.un}"
            raise InputError("engine parameter channel_block", "must divide um and un", got)
        for name, lanes in (("un", self.un), ("ub * ur * uc", self.ub * self.ur * self.uc)):
            if lanes > _WIDEST_TREE:
                raise InputError(f"engine parameter {name}", "is too wide a sum", lanes, f"up to {_WIDEST_TREE}")
        for name in ("feature_depth", "operand_depth", "sum_depth"):
            if not 2 <= getattr(self, name) <= MOST_WORDS:
                raise InputError(f"engine parameter {name}", "is no depth", getattr(self, name), f"2 to {MOST_WORDS}")
        if not 32 <= self.data_bits <= 1024 or self.data_bits & (self.data_bits - 1):
            raise InputError("engine parameter data_bits", "must be a power of two", self.data_bits, "32 to 1024")

    @property
    def lanes(self) -> int:
        """Multipliers."""
        return self.ub * self.um * self.un * self.ur * self.uc

    @property
    def operand_bytes(self) -> int:
        """Bytes of an element."""
        return self.operand_bits // 8

    @property
    def wide_bytes(self) -> int:
        """Bytes of a sum in DRAM: 4 for int8, 8 for int16, whose sums have 48 bits."""
        return 4 * self.operand_bytes

    @property
    def accumulator_bits(self) -> int:
        """Bits of a running sum: 32 for int8; 48 for int16, whose products have 32 bits."""
        return 32 if self.operand_bits == 8 else 48

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat."""
        return self.data_bits // 8

    @property
    def run_cells(self) -> int:
        """Cells of neighbouring columns that the engine moves in a cycle: UC if a beat holds two cells, else 1."""
        return self.uc if 2 * self.channel_block * self.ub * self.operand_bits <= self.data_bits else 1

    def verilog(self) -> dict[str, int]:
        """Parameter name in the RTL -> value."""
        return {
            "OperandWidth": self.operand_bits, "AccWidth": self.accumulator_bits,
            "UB": self.ub, "UM": self.um, "UN": self.un, "UR": self.ur, "UC": self.uc,
            "ChannelBlock": self.channel_block, "FeatureDepth": self.feature_depth,
            "OperandDepth": self.operand_depth, "SumDepth": self.sum_depth, "DataWidth": self.data_bits,
        }  # fmt: skip
