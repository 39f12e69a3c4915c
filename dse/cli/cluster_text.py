"""A cluster's plan as text: summary, nodes, layers by node, scaling table, breaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dse.cli.output import Table, number, print_tables, share
from dse.cluster.lanes import lanes_text

if TYPE_CHECKING:
    from dse.cluster.check import Breach

__all__ = ["breach_table", "check_text", "print_arrangements", "print_plan", "print_scale"]

_TITLES = {
    "dsp": "DSP",
    "ram_bits": "RAM",
    "dram_read_bits_per_s": "DRAM read",
    "dram_write_bits_per_s": "DRAM write",
    "dram_bits_per_s": "DRAM both",
    "egress_bits_per_s": "egress",
    "ingress_bits_per_s": "ingress",
    "connections": "connections",
}


def print_plan(content: Mapping[str, Any]) -> None:
    """The plan's answer, then every node's use, then what is on each."""
    names = content["cluster"]["nodes"]
    title = (
        f"{content['network']['name']} on {len(names)} nodes of {content['cluster']['name']}, {content['precision']}, "
        f"micro-batch {content['micro_batch']}, reading {content['reading']}"
    )
    print(title)
    for note in content["notes"]:
        print(f"note: {note}")
    if not content["feasible"]:
        print(_nothing(content))
        for line in _explained(content.get("explanation")):
            print(line)
        return
    print(f"  throughput {content['fps']:,.1f} fps, gap to the proven bound {share(content['gap'], '.2f')}")
    print(f"  bound      {content['bound_fps']:,.1f} fps; {_bound(content['aggregate'], 'without the solver')}")
    print(f"  binding    {_resource(content['binding'])}: {content['binding']['where']}")
    print(f"  batch      {_batch(content['batch'])}")
    print(f"  search     {_search(content)}")
    if "simulation" in content:
        print(f"  simulated  {_simulation(content['simulation'])}")
    print()
    print_tables(_node_table(content), _stage_table(content))


def _nothing(content: Mapping[str, Any]) -> str:
    if content["bound_fps"] == 0 or any(p["status"] == "infeasible" for p in content["probes"]):
        return f"does not fit: {_bound(content['aggregate'], 'bound without the solver')}"
    return f"no placement found in the time; {_search(content)}; undecided is not infeasible"


def _explained(why: Mapping[str, Any] | None) -> list[str]:
    if why is None:
        return []
    changes = [f"  fits with {text}" for text in why["changes"]] or ["  none of the changes tried fits"]
    return [f"  missing  {why['missing']}", *changes]


def _resource(bound: Mapping[str, Any]) -> str:
    name = str(bound["resource"])
    return _TITLES.get(name, name)


def _bound(bound: Mapping[str, Any], what: str) -> str:
    return f"{what} {bound['fps']:,.1f} fps by {_resource(bound)}, {bound['where']}"


def _batch(batch: Mapping[str, Any]) -> str:
    parts = ("frames", "latency", "update")
    times = ", ".join(f"{name} {1e3 * batch[f'{name}_s']:,.2f} ms" for name in parts)
    return f"{batch['batch_size']} frames in {1e3 * batch['total_s']:,.2f} ms ({times}): {batch['fps']:,.1f} fps"


def _simulation(done: Mapping[str, Any]) -> str:
    joins = [stage for stage in done["stages"] if stage["before_join"]]
    worst = max(joins, key=lambda stage: float(stage["blocked_s"]), default=None)
    steady = f"{done['steady_fps']:,.1f} fps steady" if done["steady_fps"] else "one frame"
    text = (
        f"{steady} of {done['planned_fps']:,.1f} planned, first frame after {1e3 * done['fill_s']:,.2f} ms, "
        f"{done['frames']} frames and update in {1e3 * (done['frames_s'] + done['update_s']):,.2f} ms"
    )
    if worst is None:
        return text
    stall = f"{1e3 * worst['blocked_s']:,.2f} ms of its two engines' time, {worst['name']}"
    return f"{text}; longest stall before a join {stall}"


_ENDED = {
    "proven": "ended by proof",
    "work": "ended by its share of work",
    "clock": "ended by the clock, so that another run may differ",
    "interrupted": "interrupted",
}


def _search(content: Mapping[str, Any]) -> str:
    done, probes = content["search"], content["probes"]
    counts = [f"{sum(p['status'] == s for p in probes)} {s}" for s in ("feasible", "infeasible", "unknown")]
    return f"{len(probes)} probes in {done['seconds']:,.1f} s: {', '.join(counts)}; {_ENDED[done['ended']]}"


def _node_table(content: Mapping[str, Any]) -> Table:
    columns = [name for name in _TITLES if name != "dram_bits_per_s"]
    rows = []
    for node in content["nodes"]:
        used, limit = node["used"], node["limit"]
        cells = [share(used[c] / limit[c] if limit[c] else 0.0, ".1f") for c in columns[:-1]]
        links = f"{number(used['connections'])} of {number(limit['connections'])}"
        stages = sum(stage["node"] == node["name"] for stage in content["stages"])
        rows.append((node["name"], node["device"], str(stages), *cells, links))
    titles = ("node", "device", "stages", *(_TITLES[c] for c in columns))
    return Table("use of every node", titles, rows, "llr" + "r" * len(columns))


def _stage_table(content: Mapping[str, Any]) -> Table:
    rows = []
    for stage in content["stages"]:
        unroll = "; ".join(lanes_text(u) for u in stage["unroll"].values())
        rest = len(stage["layers"]) - 1
        rows.append((
            stage["name"] + (f" +{rest}" if rest > 0 else ""),
            stage["node"],
            stage["weights"] if stage["unroll"] else "",
            unroll,
            number(stage["cycles"]),
            number(stage["dsp"], 1),
            f"{stage['ram_bits'] / 1e6:,.3f}",
            f"{(stage['dram_read_bits'] + stage['dram_write_bits']) / 1e6:,.2f}",
        ))  # fmt: skip
    columns = ("stage", "node", "weights", "poc x pic x ph", "cycles", "DSP", "RAM Mb", "DRAM Mb a frame")
    return Table("stages", columns, rows, "llllrrrr")


def print_scale(rows: Sequence[Mapping[str, Any]]) -> None:
    """One line for each number of nodes."""
    cells = []
    for row in rows:
        if row["feasible"]:
            batch = row["batch"]
            figures = (
                f"{row['fps']:,.1f}",
                f"{row['bound_fps']:,.1f}",
                share(row["gap"], ".2f"),
                f"{batch['fps']:,.1f}",
            )
            binding = f"{_resource(row['binding'])}: {row['binding']['where']}"
        else:
            figures = ("none", f"{row['bound_fps']:,.1f}", "", "")
            binding = _nothing(row)
        cells.append((str(row["count"]), *figures, f"{row['search']['seconds']:,.1f}", binding))
    columns = ("nodes", "fps", "bound", "gap", "fps with update", "seconds", "binding")
    first = rows[0]
    title = f"{first['network']['name']} on {first['cluster']['name']}, reading {first['reading']}"
    print_tables(Table(title, columns, cells, "rrrrrrl"))


def print_arrangements(rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """One line for each arrangement, fastest first."""
    cells = [
        (
            row["kind"],
            f"{row['groups']} x {row['boards']}",
            row["how"],
            ", ".join(f"{group}:{count}" for group, count in row["slices"].items()),
            f"{row['fps']:,.1f}" if row["fps"] else "none found",
            f"{row['pipeline_fps']:,.1f}" if row["fps"] else "",
            f"{1e3 * row['all_reduce_s']:,.2f} ms" if row["groups"] > 1 and row["fps"] else "",
        )
        for row in rows
    ]
    columns = ("parallelism", "groups x boards", "how", "slices", "fps with update", "fps", "sum of gradients")
    print_tables(Table(title, columns, cells, "llllrrr"))


def breach_table(breaches: Sequence[Breach]) -> Table:
    """The rules that a plan breaks."""
    rows = [(b.rule, b.where, b.got, b.allowed) for b in breaches]
    return Table("broken rules", ("rule", "where", "got", "allowed"), rows, "llrr")


def check_text(content: Mapping[str, Any], breaches: Sequence[Breach]) -> str:
    """The verdict in a line."""
    stages, nodes = len(content["stages"]), len(content["cluster"]["nodes"])
    what = f"{stages} stages on {nodes} nodes at {content['fps']:,.1f} fps"
    return f"{what}: {len(breaches)} rules broken" if breaches else f"{what}: every constraint holds"
