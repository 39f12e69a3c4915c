"""Search: sampling with Optuna, exact search with proof, Pareto fronts, and diagnosis where nothing fits.

Names are loaded on first use, so that ``SAMPLERS`` costs no import of pandas or Optuna.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dse.search.samplers import METHODS, SAMPLERS

if TYPE_CHECKING:
    from dse.search.cell import Settings, front_gap, proven_optimum, run_cell, search_cell
    from dse.search.collector import Limits
    from dse.search.diagnosis import diagnose, smallest_board
    from dse.search.exhaustive import ExactResult, exact_search
    from dse.search.pareto import Front, hypervolume, non_dominated
    from dse.search.problem import Problem, check_objectives
    from dse.search.sampling import SampledResult, optuna_search

__all__ = [
    "METHODS",
    "SAMPLERS",
    "ExactResult",
    "Front",
    "Limits",
    "Problem",
    "SampledResult",
    "Settings",
    "check_objectives",
    "diagnose",
    "exact_search",
    "front_gap",
    "hypervolume",
    "non_dominated",
    "optuna_search",
    "proven_optimum",
    "run_cell",
    "search_cell",
    "smallest_board",
]

_HOME = {
    "cell": ("Settings", "front_gap", "proven_optimum", "run_cell", "search_cell"),
    "collector": ("Limits",),
    "diagnosis": ("diagnose", "smallest_board"),
    "exhaustive": ("ExactResult", "exact_search"),
    "sampling": ("SampledResult", "optuna_search"),
    "pareto": ("Front", "hypervolume", "non_dominated"),
    "problem": ("Problem", "check_objectives"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"dse.search.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
