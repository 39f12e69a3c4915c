"""From a network and a cluster to a plan: the graph, its costs, the fastest placement and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dse.cluster.bounds import Bound
from dse.cluster.cluster_file import load_cluster
from dse.cluster.demand import DemandTable
from dse.cluster.hardware import Cluster
from dse.cluster.normalisation import online_normalisation
from dse.cluster.placement_model import solver_module
from dse.cluster.reading import reading_named
from dse.cluster.search import Found, SearchSettings, fastest_placement
from dse.cluster.slicing import slice_groups
from dse.cluster.stages import stage_graph
from dse.cluster.timing import BatchTime, batch_time
from dse.cluster.usage import Usage, binding, usage
from dse.errors import InputError
from dse.network import Network
from dse.networks import load_network
from dse.workload import precision_named

__all__ = ["MAX_MICRO_BATCH", "Plan", "demand_table", "plan"]

MAX_MICRO_BATCH = 2**20


@dataclass(frozen=True)
class Plan:
    """A network on a cluster. ``found.placement`` is None where nothing fits or nothing was found in the time."""

    network: Network
    """As it was given."""
    table: DemandTable
    """The network as it is built, the nodes, and every demand."""
    slices: Mapping[str, int]
    """Model parallelism: group of layers -> slices."""
    batch_size: int
    found: Found = field(compare=False)

    @property
    def fps(self) -> float:
        """Frames per second of the pipeline; 0 where there is no placement."""
        return self.found.fps

    @property
    def usage(self) -> Usage | None:
        """What every node gives at that throughput."""
        return usage(self.table, self.found.placement, self.fps) if self.found.placement else None

    @property
    def binding(self) -> Bound:
        """What stops it from being faster, in this placement."""
        if self.found.placement is None:
            return self.found.aggregate
        return binding(self.table, self.found.placement, self.fps)

    @property
    def batch(self) -> BatchTime | None:
        """Seconds of a batch, with fill, drain and update."""
        if self.found.placement is None:
            return None
        return batch_time(self.table, self.found.placement, self.fps, self.batch_size)


def demand_table(
    network: Network | str | Path,
    cluster: Cluster | str | Path,
    *,
    nodes: int | None = None,
    slices: Mapping[str, int] | None = None,
    micro_batch: int = 4,
    precision: str = "fp32",
    reading: str = "free",
) -> tuple[Network, DemandTable]:
    """The network as given, and the costs of the network as built on the first ``nodes`` nodes of the cluster.

    Raises InputError for an unknown name, a bad file, a number out of range or a precision that a board lacks.
    """
    given = network if isinstance(network, Network) else load_network(network)
    boards = cluster if isinstance(cluster, Cluster) else load_cluster(cluster)
    if nodes is not None:
        boards = boards.first(nodes)
    if not 1 <= micro_batch <= MAX_MICRO_BATCH:
        raise InputError("micro-batch", "is out of range", micro_batch, f"1 to {MAX_MICRO_BATCH}")
    built = slice_groups(online_normalisation(given), slices or {})
    number_format, setting = precision_named(precision), reading_named(reading)
    return given, DemandTable(stage_graph(built), boards, number_format, setting, micro_batch)


def plan(
    network: Network | str | Path,
    cluster: Cluster | str | Path,
    *,
    nodes: int | None = None,
    slices: Mapping[str, int] | None = None,
    micro_batch: int = 4,
    batch_size: int = 128,
    precision: str = "fp32",
    reading: str = "free",
    seconds: float = 120.0,
    workers: int = 2,
    gap: float = 0.01,
    report: Callable[[str], None] | None = None,
) -> Plan:
    """The fastest placement of ``network`` on the first ``nodes`` nodes of ``cluster`` that ``seconds`` allow to find.

    ``slices`` is model parallelism (group of layers -> number). ``micro_batch`` frames share one load of the weights
    that are in DRAM. The search ends at a proven ``gap`` or after ``seconds``; ``workers`` are the solver's threads.
    Raises InputError for bad input and where OR-Tools is missing.
    """
    solver_module()
    given, table = demand_table(
        network, cluster, nodes=nodes, slices=slices, micro_batch=micro_batch, precision=precision, reading=reading
    )
    _ = table.operators  # a precision that a board lacks is said before the search
    found = fastest_placement(table, SearchSettings(seconds, workers, gap, report=report))
    return Plan(given, table, dict(slices or {}), batch_size, found)
