"""Operations of a training step between GPUs and FPGAs: advice, ranking of kernels, simulation.

``advise`` judges profiled operations one by one, ``rank`` orders configurations of a kernel, ``simulate`` schedules a
whole training step. Every assumption is a field of ``Platform``.
"""

from dse.offload.advice import Advice, advise, score
from dse.offload.assignment import Plan, choose
from dse.offload.check import check_schedule
from dse.offload.first_order import FirstOrder, first_order
from dse.offload.indicator import Configuration, Ranked, load_configurations, rank
from dse.offload.list_schedule import list_schedule
from dse.offload.platform import Platform
from dse.offload.profile import Cost, OpProfile, Profile, load_profile
from dse.offload.rule import OffloadRule, calibrate
from dse.offload.schedule import Schedule
from dse.offload.simulation import Simulation, simulate
from dse.offload.task_graph import Task, TaskGraph

__all__ = [
    "Advice",
    "Configuration",
    "Cost",
    "FirstOrder",
    "OffloadRule",
    "OpProfile",
    "Plan",
    "Platform",
    "Profile",
    "Ranked",
    "Schedule",
    "Simulation",
    "Task",
    "TaskGraph",
    "advise",
    "calibrate",
    "check_schedule",
    "choose",
    "first_order",
    "list_schedule",
    "load_configurations",
    "load_profile",
    "rank",
    "score",
    "simulate",
]
