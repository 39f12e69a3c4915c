"""The schedule of a training iteration: commands of the accelerator's units, in order, and where tensors lie."""

from dse.schedule.hardware import Hardware, least_hardware
from dse.schedule.record import PHASES, Rule, Step
from dse.schedule.schedule import Schedule, build_schedule
from dse.schedule.tensors import ALIGNMENT, SPACES, Tensor, TensorMap

__all__ = [
    "ALIGNMENT",
    "PHASES",
    "SPACES",
    "Hardware",
    "Rule",
    "Schedule",
    "Step",
    "Tensor",
    "TensorMap",
    "build_schedule",
    "least_hardware",
]
