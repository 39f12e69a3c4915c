"""Data, layer and model parallelism together: groups of boards that each train on a share of the batch.

Every group holds the whole network as a pipeline over its boards (layer and model parallelism), or, where it is one
board, as one of the single-board accelerators with the network in DRAM. After the batch the groups add their gradients
up: a ring over the groups moves 2 (G - 1) / G of the parameters that a board holds through its link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dse.cluster.auto_slices import best_slices
from dse.cluster.cluster_file import load_cluster
from dse.cluster.hardware import Cluster, Node
from dse.cluster.planner import Plan, plan
from dse.errors import InputError
from dse.network import Network
from dse.networks import load_network
from dse.registry import families
from dse.workload import Workload, precision_named

__all__ = ["Arrangement", "arrangements", "board_groups", "single_board"]


@dataclass(frozen=True)
class Arrangement:
    """``groups`` groups of boards; ``fps`` is of all of them with fill, drain, update and the sum of gradients."""

    groups: int
    boards: int
    """Boards of each group."""
    kind: str
    """What was combined: DP, LP, DP x LP, and x MP where groups are sliced."""
    fps: float
    """0 where it does not fit."""
    pipeline_fps: float
    """Without fill, drain, update and the sum of gradients."""
    all_reduce_s: float
    slices: Mapping[str, int]
    how: str
    """``pipeline``, or the family of single-board accelerators."""
    plans: tuple[Plan, ...] = ()
    interrupted: bool = False
    """Ctrl-C ended the search in this arrangement or right behind it; the ones after it were not tried."""


def arrangements(
    network: Network | str,
    cluster: Cluster | str,
    boards: int,
    *,
    batch_size: int = 128,
    model_parallel: bool = True,
    precision: str = "fp32",
    report: Callable[[str], None] | None = None,
    **settings: object,
) -> list[Arrangement]:
    """Every way to cut ``boards`` boards into equal groups, fastest first; ``settings`` are those of ``plan``.

    Ctrl-C ends it with what was found so far. Raises InputError for bad input, KeyboardInterrupt where that is nothing.
    """
    given = network if isinstance(network, Network) else load_network(network)
    whole = (cluster if isinstance(cluster, Cluster) else load_cluster(cluster)).first(boards)
    found: list[Arrangement] = []
    try:
        for one in _each(given, whole, batch_size, model_parallel, precision, report, settings):
            found.append(one)
            if one.interrupted:
                break
    except KeyboardInterrupt:
        if not found:
            raise
        found[-1] = replace(found[-1], interrupted=True)
    return sorted(found, key=lambda one: -one.fps)


def _each(
    network: Network,
    cluster: Cluster,
    batch_size: int,
    model_parallel: bool,
    precision: str,
    report: Callable[[str], None] | None,
    settings: Mapping[str, object],
) -> Iterator[Arrangement]:
    boards = len(cluster.nodes)
    for groups in (g for g in range(1, boards + 1) if boards % g == 0):
        parts = board_groups(cluster, groups)
        share = -(-batch_size // groups)
        for sliced in (False, True) if model_parallel and groups < boards else (False,):
            kinds: dict[object, Plan] = {}
            tell = _telling(report, groups, boards, sliced)
            for part in parts:
                if _kinds(part) not in kinds:
                    if any(one.found.interrupted for one in kinds.values()):
                        raise KeyboardInterrupt
                    kinds[_kinds(part)] = _group_plan(network, part, share, sliced, precision, tell, settings)
            if any(one.found.interrupted and one.found.placement is None for one in kinds.values()):
                raise KeyboardInterrupt
            yield _pipelines([kinds[_kinds(part)] for part in parts], boards // groups, batch_size, sliced)
        if groups == boards:
            yield from _engines(network, cluster, batch_size, precision)


def _kinds(part: Cluster) -> tuple[object, ...]:
    return tuple(node.kind for node in part.nodes)


def board_groups(cluster: Cluster, groups: int) -> list[Cluster]:
    """The nodes dealt out to ``groups`` groups, equal kinds evenly; raises InputError where that leaves a remainder."""
    if len(cluster.nodes) % groups:
        raise InputError("groups", "must divide the number of boards", groups, len(cluster.nodes))
    order = sorted(range(len(cluster.nodes)), key=lambda n: (str(cluster.nodes[n].kind), n))
    return [cluster.select(sorted(order[g::groups])) for g in range(groups)]


def _telling(
    report: Callable[[str], None] | None, groups: int, boards: int, sliced: bool
) -> Callable[[str], None] | None:
    if report is None:
        return None
    return lambda text: report(f"{groups} x {boards // groups} boards{', sliced' if sliced else ''}: {text}")


def _group_plan(
    network: Network,
    part: Cluster,
    share: int,
    sliced: bool,
    precision: str,
    report: Callable[[str], None] | None,
    settings: Mapping[str, object],
) -> Plan:
    def make(slices: Mapping[str, int]) -> Plan:
        return plan(
            network,
            part,
            slices=slices,
            batch_size=share,
            precision=precision,
            report=report,
            **settings,  # type: ignore[arg-type]
        )

    return best_slices(make) if sliced else make({})


def _pipelines(plans: list[Plan], boards: int, batch_size: int, sliced: bool) -> Arrangement:
    """Groups share the batch in proportion to their pace, and wait for the slowest."""
    groups = len(plans)
    names = ["DP"] * (groups > 1) + ["LP"] * (boards > 1) + ["MP"] * sliced
    kind, slices = " x ".join(names) or "one board", plans[0].slices
    if any(one.found.placement is None for one in plans):
        return Arrangement(groups, boards, kind, 0.0, 0.0, 0.0, slices, "pipeline")
    pace = sum(one.fps for one in plans)
    reduce_s = max(_all_reduce_s(one, groups) for one in plans)
    slowest = 0.0
    for one in plans:
        batch = one.batch
        assert batch is not None
        slowest = max(slowest, batch_size / pace + batch.latency_s + batch.update_s)
    fps = batch_size / (slowest + reduce_s)
    stopped = any(one.found.interrupted for one in plans)
    return Arrangement(groups, boards, kind, fps, pace, reduce_s, slices, "pipeline", tuple(plans), stopped)


def _all_reduce_s(one: Plan, groups: int) -> float:
    """The slowest board's ring over ``groups`` groups, of the gradients of the layers on it."""
    assert one.found.placement is not None
    table, bits = one.table, [0.0] * len(one.table.cluster.nodes)
    for stage, node in zip(table.graph.stages, one.found.placement.node, strict=True):
        bits[node] += sum(layer.parameters for layer in stage.layers) * table.precision.bits
    return max(_ring_s(b, n, groups) for b, n in zip(bits, table.cluster.nodes, strict=True))


def _ring_s(bits: float, node: Node, groups: int) -> float:
    return 2 * (groups - 1) / groups * bits / node.link_bits_per_s


def _engines(network: Network, cluster: Cluster, batch_size: int, precision: str) -> list[Arrangement]:
    """Each board by itself with a single-board accelerator; the slowest board sets the pace."""
    share = -(-batch_size // len(cluster.nodes))
    kinds = {node.kind: node for node in cluster.nodes}
    best = [single_board(network, node, share, precision) for node in kinds.values()]
    if any(one is None for one in best):
        return []
    slowest = min((one for one in best if one is not None), key=lambda one: one[1])
    bits = network.parameters * precision_named(precision).bits
    reduce_s = max(_ring_s(float(bits), node, len(cluster.nodes)) for node in cluster.nodes)
    pace = slowest[1] * len(cluster.nodes)
    fps = batch_size / (batch_size / pace + reduce_s)
    return [Arrangement(len(cluster.nodes), 1, "DP", fps, pace, reduce_s, {}, slowest[0])]


def single_board(network: Network, node: Node, batch_size: int, precision: str) -> tuple[str, float] | None:
    """The fastest published choice of all families on this board: (family, frames per second); None if none fits.

    The points are those that the families' papers would choose (``heuristics``); ``dse sweep`` finds better ones.
    """
    device = replace(node.device, clock_hz=node.clock_hz)
    workload = Workload(network, batch_size, precision_named(precision))
    best: tuple[str, float] | None = None
    for name, model in families().items():
        if precision not in model.precisions:
            continue
        try:
            points = model.heuristics(workload, device)
        except InputError:
            continue
        for point in points:
            estimate = model.evaluate(workload, device, {k: np.int64(v) for k, v in point.items()})
            fps = float(estimate.samples_per_s)
            if bool(estimate.feasible) and (best is None or fps > best[1]):
                best = (name, fps)
    return best
