"""The driver of an emitted accelerator: registers and memory behind an interface that hardware has too."""

from dse.host.accelerator import Accelerator, Memory
from dse.host.registers import AcceleratorError, Bus, Registers

__all__ = ["Accelerator", "AcceleratorError", "Bus", "Memory", "Registers"]
