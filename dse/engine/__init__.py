"""The host's side of the convolution engine in RTL: its parameters, commands, tilings, cycle counts and DRAM images."""

from dse.engine.command import COMMAND_FIELDS, Bases, command, command_words
from dse.engine.cycles import compute_cycles
from dse.engine.hardware import MOST_WORDS, EngineParameters
from dse.engine.images import EngineLayout
from dse.engine.nest import Convolution, PhaseNest, Tiling, phase_nest
from dse.engine.tiling import buffer_words, fit_tiling
from dse.engine.timing import command_cycles

__all__ = [
    "COMMAND_FIELDS",
    "MOST_WORDS",
    "Bases",
    "Convolution",
    "EngineLayout",
    "EngineParameters",
    "PhaseNest",
    "Tiling",
    "buffer_words",
    "command",
    "command_cycles",
    "command_words",
    "compute_cycles",
    "fit_tiling",
    "phase_nest",
]
