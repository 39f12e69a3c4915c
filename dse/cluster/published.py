"""Figures that a validation case asks of a cluster: layers at a throughput, and placements that a case gives as data.

A placement in a case is what the planner found once, a digit (node number) a stage: what it reaches is computed again,
and it counts as nothing where a constraint is broken, so that validating needs no solver and no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dse.cluster.bounds import aggregate_bound, static_shortage
from dse.cluster.check import hops_into
from dse.cluster.cluster_file import load_cluster
from dse.cluster.demand import DemandTable
from dse.cluster.lanes import LANES
from dse.cluster.placement import Placement
from dse.cluster.planner import demand_table
from dse.cluster.ram import layer_ram_bits
from dse.cluster.unrolling import frontier
from dse.cluster.usage import reached_fps
from dse.fields import Fields

__all__ = ["ClusterMeasured"]


@dataclass(frozen=True)
class ClusterMeasured:
    """The demands of a case, and its placement where it has one; ``against`` is what it is compared with."""

    table: DemandTable
    node: tuple[int, ...] = ()
    against: ClusterMeasured | None = None

    @staticmethod
    def of(case: Fields) -> ClusterMeasured:
        """The cluster, network and placement that ``case`` describes. Raises InputError where it is malformed."""
        measured = _placed(case, case)
        if "against" not in case:
            return measured
        other = case.table("against")
        against = _placed(case, other)
        other.close()
        return replace(measured, against=against)

    def figure(self, entry: Fields) -> float:
        """The figure that ``entry`` names with its ``measure`` key."""
        return float(_MEASURES[entry.string("measure", choices=tuple(_MEASURES))](self, entry))

    @property
    def fps(self) -> float:
        """Frames per second of the placement; 0 where it breaks a rule."""
        graph = self.table.graph
        legal = all(self.node[stage] == 0 for stage in graph.on_host)
        legal = legal and all(len(ways) == 1 for ways in hops_into(graph, self.node).values())
        return reached_fps(self.table, Placement(self.node, (0,) * len(self.node))) if legal else 0.0


def _placed(case: Fields, design: Fields) -> ClusterMeasured:
    """``case`` has the network and the cluster, ``design`` what its placement is."""
    cluster = load_cluster(case.string("cluster"))
    clock_hz = case.number("clock_hz", 0.0)
    if clock_hz:
        cluster = replace(cluster, nodes=tuple(replace(node, clock_hz=clock_hz) for node in cluster.nodes))
    slices = design.table("model_parallel", required=False)
    _, table = demand_table(
        case.string("network"),
        cluster,
        nodes=case.integer("nodes", 1, minimum=1),
        slices={group: slices.integer(group, minimum=1) for group in slices.keys()},  # noqa: SIM118
        micro_batch=case.integer("micro_batch", 4, minimum=1),
        reading=case.string("reading"),
    )
    text = design.string("placement", "")
    if not text:
        return ClusterMeasured(table)
    count = len(table.graph.stages)
    if len(text) != count or not all(c.isdigit() and int(c) < len(table.cluster.nodes) for c in text):
        raise design.error("placement", f"must be {count} digits, a node's number for each stage", text)
    return ClusterMeasured(table, tuple(map(int, text)))


def _unroll(measured: ClusterMeasured, entry: Fields) -> tuple[float, float, dict[str, float]]:
    """Cycles and DSP blocks of the cheapest lanes of ``layer`` that reach ``fps``, and the lanes."""
    table, layer = measured.table, entry.string("layer")
    choices = frontier(table.bounds[layer], table.operators[0])
    chosen = choices.at(table.cluster.nodes[0].clock_hz / entry.number("fps"))
    lanes = dict(zip(LANES, map(float, choices.unroll[chosen]), strict=True))
    return float(choices.cycles[chosen]), float(choices.dsp[chosen]), lanes


def _layer_fps(measured: ClusterMeasured, entry: Fields) -> float:
    return measured.table.cluster.nodes[0].clock_hz / _unroll(measured, entry)[0]


def _ram_kb(measured: ClusterMeasured, entry: Fields) -> float:
    table = measured.table
    layer = table.graph.network[entry.string("layer")]
    return layer_ram_bits(layer, table.precision, table.reading) / 1e3


def _least_nodes(measured: ClusterMeasured, entry: Fields) -> float:
    """The fewest nodes whose RAM together holds the network."""
    whole = load_cluster(measured.table.cluster.name)
    counts = range(1, len(whole.nodes) + 1)
    return next(n for n in counts if not static_shortage(replace(measured.table, cluster=whole.first(n))))


def _weights_mb(measured: ClusterMeasured, entry: Fields) -> float:
    """Weights and gradients of every layer whose weights are on chip, in Mb."""
    table = measured.table
    heads = [
        layer.parameters
        for stage, options in zip(table.graph.stages, table.storages, strict=True)
        for layer in (stage.layers if options[0].weights == "chip" else stage.layers[1:])
    ]
    return 2 * table.precision.bits * sum(heads) / 1e6


def _gain(measured: ClusterMeasured, entry: Fields) -> float:
    if measured.against is None:
        raise entry.error("measure", "needs a case with [case.against]")
    return measured.fps / measured.against.fps


_MEASURES: Mapping[str, Callable[[ClusterMeasured, Fields], float]] = {
    "layer_fps": _layer_fps,
    "layer_dsp": lambda measured, entry: _unroll(measured, entry)[1],
    "layer_lanes": lambda measured, entry: _unroll(measured, entry)[2][entry.string("lanes")],
    "layer_ram_kb": _ram_kb,
    "least_nodes": _least_nodes,
    "weights_mb": _weights_mb,
    "plan_fps": lambda measured, entry: measured.fps,
    "share_of_aggregate": lambda measured, entry: measured.fps / aggregate_bound(measured.table).fps,
    "gain": _gain,
    "faster": lambda measured, entry: float(_gain(measured, entry) > 1),
}
"""Measure name -> reader of (case, row)."""
