"""Layer-parallel training over several FPGAs: which layer on which board, how fast, and what binds.

``plan`` places a network on a cluster (NADA, Kreowsky et al. 2023) with OR-Tools CP-SAT; ``check_plan`` verifies a plan
without it. A cluster is one TOML file; ``clusters/nada.toml`` shows the form. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.cluster.check import Breach, check_plan
    from dse.cluster.cluster_file import list_clusters, load_cluster
    from dse.cluster.hardware import Cluster, Node
    from dse.cluster.plan_file import plan_json
    from dse.cluster.planner import Plan, plan

__all__ = ["Breach", "Cluster", "Node", "Plan", "check_plan", "list_clusters", "load_cluster", "plan", "plan_json"]

_HOMES = {
    "Breach": "check", "check_plan": "check", "list_clusters": "cluster_file", "load_cluster": "cluster_file",
    "Cluster": "hardware", "Node": "hardware", "plan_json": "plan_file", "Plan": "planner", "plan": "planner",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
