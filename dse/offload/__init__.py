"""Operations of a training step between GPUs and FPGAs: advice, ranking of kernels, simulation.

``advise`` judges profiled operations one by one, ``rank`` orders configurations of a kernel, ``simulate`` schedules a
whole training step. Every assumption is a field of ``Platform``.
"""

from dse.offload.advice import Advice, advise, score
from dse.offload.first_order import FirstOrder, first_order
from dse.offload.indicator import Configuration, Ranked, load_configurations, rank
from dse.offload.platform import Platform
from dse.offload.profile import Cost, OpProfile, Profile, load_profile
from dse.offload.rule import OffloadRule, calibrate

__all__ = [
    "Advice",
    "Configuration",
    "Cost",
    "FirstOrder",
    "OffloadRule",
    "OpProfile",
    "Platform",
    "Profile",
    "Ranked",
    "advise",
    "calibrate",
    "first_order",
    "load_configurations",
    "load_profile",
    "rank",
    "score",
]
