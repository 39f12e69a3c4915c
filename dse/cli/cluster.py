"""``dse cluster``: layer-parallel training over several boards: plan it, scale it, check a plan."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli.cluster_text import breach_table, check_text, print_arrangements, print_plan, print_scale
from dse.cli.guard import INTERRUPTED, NOTHING_FEASIBLE, OK, VerbGroup
from dse.cli.options import MAX_BATCH, MAX_JOBS, Json, NetworkName, PrecisionName, Quiet, fraction, whole
from dse.cli.output import print_json, print_tables
from dse.cli.progress import status_line
from dse.errors import InputError

if TYPE_CHECKING:
    from dse.cluster.planner import Plan

__all__ = ["cluster"]

cluster = typer.Typer(
    cls=VerbGroup, help="Train one network on several boards, layer by layer (NADA).", rich_markup_mode=None
)

_CLUSTER = "A shipped cluster (nada, mixed8) or the path of a TOML file."
ClusterName = Annotated[str, typer.Option("--cluster", "-c", metavar="CLUSTER", help=_CLUSTER)]
Nodes = Annotated[str, typer.Option("--nodes", metavar="N", help="Use the first N nodes; default: all.")]
NodeRange = Annotated[str, typer.Option("--nodes", metavar="A..B", help="From how many nodes to how many.")]
Slices = Annotated[
    list[str] | None,
    typer.Option(
        "--model-parallel",
        metavar="GROUP[:filters]:M...",
        help="Cut the channel-wise layers of a group (a prefix of layer names), or its convolutions by their filters, "
        "into M slices; or auto.",
    ),
]
TimeLimit = Annotated[str, typer.Option("--time-limit", metavar="S", help="Seconds to search for a placement.")]
Gap = Annotated[str, typer.Option("--gap", metavar="G", help="Stop at this proven gap, e.g. 0.01.")]
MicroBatch = Annotated[
    str, typer.Option("--micro-batch", metavar="M", help="Frames that share one load of the weights in DRAM.")
]
BatchSize = Annotated[str, typer.Option("--batch", "-b", metavar="BATCH", help="Frames between two updates.")]
ReadingName = Annotated[
    str, typer.Option("--reading", metavar="R", help="free: weights on chip or in DRAM; nada: as the paper has them.")
]
Jobs = Annotated[str, typer.Option("--jobs", "-j", metavar="N", help="Threads of the solver.")]
Simulate = Annotated[
    bool, typer.Option("--simulate", help="Simulate a batch of the plan: pipeline, queues, links, DRAM, update.")
]
Page = Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write an offline HTML page.")]
PlanFile = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the plan as JSON.")]


@cluster.command("plan")
def plan_verb(
    network: NetworkName,
    cluster_name: ClusterName,
    nodes: Nodes = "",
    slices: Slices = None,
    time_limit: TimeLimit = "120",
    gap: Gap = "0.01",
    micro_batch: MicroBatch = "4",
    batch: BatchSize = "128",
    precision: PrecisionName = "fp32",
    reading: ReadingName = "free",
    jobs: Jobs = "2",
    simulate: Simulate = False,
    output: PlanFile = None,
    page: Page = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Place a network's layers on a cluster for the highest throughput; exit 1 if it does not fit."""
    from dse.cluster.plan_file import plan_json, simulation_json, write_plan

    arguments = _arguments(network, time_limit, gap, micro_batch, batch, precision, reading, jobs)
    _check_output("--output", output)
    _check_output("--report", page)
    count = whole("--nodes", nodes, 1, 10**6) if nodes else None
    with status_line(quiet or as_json) as report:
        result = _plan(arguments, cluster_name, count, slices, report)
        content = plan_json(result)
        if simulate and content["feasible"]:
            if report is not None:
                report("simulating a batch")
            content["simulation"] = simulation_json(result)
        if not content["feasible"] and not result.found.interrupted:
            content["explanation"] = _explanation(result, arguments["workers"], report)
    if output is not None:
        write_plan(content, output)
    _write_page([content], page)
    if as_json:
        print_json(content)
    elif not quiet:
        print_plan(content)
        if output is not None:
            print(f"plan: {output}")
        if page is not None:
            print(f"report: {page}")
    if result.found.interrupted:
        return INTERRUPTED
    return OK if content["feasible"] else NOTHING_FEASIBLE


@cluster.command("scale")
def scale_verb(
    network: NetworkName,
    cluster_name: ClusterName,
    nodes: NodeRange,
    slices: Slices = None,
    time_limit: TimeLimit = "60",
    gap: Gap = "0.01",
    micro_batch: MicroBatch = "4",
    batch: BatchSize = "128",
    precision: PrecisionName = "fp32",
    reading: ReadingName = "free",
    jobs: Jobs = "2",
    page: Page = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Plan for every number of nodes of a range; the time limit is for each; exit 1 if none fits."""
    from dse.cluster.cluster_file import load_cluster
    from dse.cluster.plan_file import plan_json

    arguments = _arguments(network, time_limit, gap, micro_batch, batch, precision, reading, jobs)
    first, last = _range(nodes)
    load_cluster(cluster_name).first(last)  # before the search: that there are so many
    _check_output("--report", page)
    rows: list[dict[str, Any]] = []
    interrupted = False
    with status_line(quiet or as_json) as report:
        for count in range(first, last + 1):
            told = None if report is None else (lambda text, n=count: report(f"{n} nodes: {text}"))
            result = _plan(arguments, cluster_name, count, slices, told)
            rows.append({"count": count, **plan_json(result)})
            if interrupted := result.found.interrupted:
                break
    _write_page(rows, page)
    if as_json:
        print_json({"plans": rows})
    elif not quiet:
        print_scale(rows)
    if interrupted:
        return INTERRUPTED
    return OK if any(row["feasible"] for row in rows) else NOTHING_FEASIBLE


@cluster.command("best")
def best_verb(
    network: NetworkName,
    cluster_name: ClusterName,
    nodes: Nodes = "",
    time_limit: TimeLimit = "20",
    gap: Gap = "0.02",
    micro_batch: MicroBatch = "4",
    batch: BatchSize = "128",
    precision: PrecisionName = "fp32",
    reading: ReadingName = "free",
    jobs: Jobs = "2",
    quiet: Quiet = False,
    as_json: Json = False,
) -> int:
    """Compare data, layer and model parallelism and their mixes on the boards; the time limit is for each plan."""
    from dse.cluster.arrangement import arrangements
    from dse.cluster.cluster_file import load_cluster

    arguments = _arguments(network, time_limit, gap, micro_batch, batch, precision, reading, jobs)
    boards = load_cluster(cluster_name)
    count = whole("--nodes", nodes, 1, len(boards.nodes)) if nodes else len(boards.nodes)
    with status_line(quiet or as_json) as report:
        found = arrangements(arguments.pop("network"), boards, count, report=report, **arguments)
    rows = [
        {
            "groups": one.groups, "boards": one.boards, "kind": one.kind, "how": one.how, "fps": one.fps or None,
            "pipeline_fps": one.pipeline_fps or None, "all_reduce_s": one.all_reduce_s, "slices": dict(one.slices),
        }
        for one in found
    ]  # fmt: skip
    interrupted = any(one.interrupted for one in found)
    head = {"network": network, "cluster": boards.name, "nodes": count}
    if as_json:
        print_json({**head, "arrangements": rows, "interrupted": interrupted})
    elif not quiet:
        print_arrangements(rows, f"{network} on {count} nodes of {boards.name}, batch {batch}, {precision}")
    if interrupted:
        print("interrupted: the arrangements after these were not tried", file=sys.stderr)
        return INTERRUPTED
    return OK if found and found[0].fps else NOTHING_FEASIBLE


@cluster.command("check")
def check_verb(
    file: Annotated[Path, typer.Argument(metavar="PLAN.json", help="A plan that `dse cluster plan -o` wrote.")],
    as_json: Json = False,
) -> int:
    """Check a plan again without the solver: every constraint, from its JSON; exit 1 if one is broken."""
    from dataclasses import asdict

    from dse.cluster.check import check_plan

    content, breaches = check_plan(file)
    if as_json:
        print_json({"file": str(file), "ok": not breaches, "breaches": [asdict(breach) for breach in breaches]})
    else:
        if breaches:
            print_tables(breach_table(breaches))
        print(check_text(content, breaches))
    return NOTHING_FEASIBLE if breaches else OK


def _arguments(
    network: str, time_limit: str, gap: str, micro_batch: str, batch: str, precision: str, reading: str, jobs: str
) -> dict[str, Any]:
    """What ``dse.cluster.plan`` takes by keyword, checked."""
    from dse.cli.options import checked
    from dse.cluster.reading import READINGS
    from dse.workload import PRECISIONS

    return {
        "network": network,
        "seconds": fraction("--time-limit", time_limit, 0.0, 10.0**7),
        "gap": fraction("--gap", gap, 0.0, 1.0),
        "micro_batch": whole("--micro-batch", micro_batch, 1, MAX_BATCH),
        "batch_size": whole("--batch", batch, 1, MAX_BATCH),
        "precision": checked("--precision", precision, PRECISIONS),
        "reading": checked("--reading", reading, READINGS),
        "workers": whole("--jobs", jobs, 1, MAX_JOBS),
    }


def _plan(
    arguments: dict[str, Any], cluster_name: str, count: int | None, slices: list[str] | None, report: Any
) -> Plan:
    from dse.cluster import plan
    from dse.cluster.auto_slices import best_slices

    def make(sizes: Mapping[str, int]) -> Plan:
        return plan(cluster=cluster_name, nodes=count, slices=sizes, report=report, **arguments)

    return best_slices(make) if slices == ["auto"] else make(_slices(slices or []))


def _explanation(result: Plan, workers: int, report: Any) -> dict[str, Any] | None:
    """Why nothing fits, unless that is not known."""
    from dse.cluster.explain import explain

    if result.found.bound_fps > 0 and not any(p.status == "infeasible" for p in result.found.probes):
        return None
    if report is not None:
        report("looking for the smallest change that fits")
    why = explain(result.table, workers)
    return {"missing": why.missing, "changes": list(why.changes)}


def _slices(texts: list[str]) -> dict[str, int]:
    """``["block0:2"]`` as ``{"block0": 2}``. Raises InputError for another form."""
    from dse.cluster.slicing import MAX_SLICES

    found: dict[str, int] = {}
    for text in texts:
        group, colon, number = text.rpartition(":")
        if not colon or not group:
            raise InputError("--model-parallel", "must be GROUP:M or GROUP:filters:M", text, "for example block0:2")
        if group in found:
            raise InputError(f"--model-parallel {group}", "is given twice")
        found[group] = whole(f"--model-parallel {group}", number, 1, MAX_SLICES)
    return found


def _range(text: str) -> tuple[int, int]:
    """``2..9`` as (2, 9), ``4`` as (4, 4). Raises InputError for another form."""
    low, dots, high = text.partition("..")
    first = whole("--nodes", low, 1, 10**6)
    last = whole("--nodes", high, 1, 10**6) if dots else first
    if last < first:
        raise InputError("--nodes", "the range ends before it begins", text, "A..B with A <= B")
    return first, last


def _write_page(plans: list[dict[str, Any]], path: Path | None) -> None:
    if path is not None:
        from dse.reports.cluster import write_cluster_report

        write_cluster_report(plans, path)


def _check_output(flag: str, path: Path | None) -> None:
    """Before the search: that the file can be written."""
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{flag} {path}", "is a folder", allowed="the name of a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{flag} {path}", "its folder does not exist", str(path.absolute().parent))
