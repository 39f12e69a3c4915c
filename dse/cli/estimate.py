"""``dse estimate``: one accelerator, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dse.cli.estimate_text import batch_text, layer_table, resource_table, total_table, violation_text
from dse.cli.guard import NOTHING_FEASIBLE, OK
from dse.cli.options import (
    MAX_BATCH,
    BatchSize,
    DeviceName,
    FamilyName,
    Json,
    NetworkName,
    OptimiserName,
    PrecisionName,
    Reading,
    Settings,
    TilingFile,
    checked,
    parameters,
    whole,
)
from dse.cli.output import point_text, print_json, print_tables

if TYPE_CHECKING:
    from dse.device import Device

__all__ = ["estimate"]


def estimate(
    network: NetworkName,
    device: DeviceName,
    family: FamilyName,
    settings: Settings = None,
    batch: BatchSize = "128",
    precision: PrecisionName = "fp32",
    optimiser: OptimiserName = "sgd",
    reading: Reading = "",
    tiling: TilingFile = None,
    as_json: Json = False,
) -> int:
    """Estimate one accelerator: cycles of every layer and phase, resources, power; exit 1 if it does not fit."""
    from dse.cli.open_parameters import complete_point
    from dse.cli.tiling import read_tiling
    from dse.devices import load_device
    from dse.networks import load_network
    from dse.registry import families
    from dse.schema import estimate_json
    from dse.workload import OPTIMISERS, PRECISIONS, Workload

    given = parameters(settings or [])
    model = families()[checked("--family", family, families())]
    size = whole("--batch", batch, 1, MAX_BATCH)
    checked("--precision", precision, PRECISIONS)
    checked("--optimiser", optimiser, OPTIMISERS)
    reading = checked("--reading", reading or next(iter(model.readings)), model.readings)
    board = load_device(device)
    workload = Workload(load_network(network), size, PRECISIONS[precision], OPTIMISERS[optimiser])
    tiles = read_tiling(tiling, workload.network, model) if tiling else {}
    point, chosen = complete_point(model, workload, board, given, reading, tiles)
    result = model.evaluate(workload, board, point, reading=reading, detail=True, tiling=tiles)
    content = {
        "network": workload.network.name,
        "device": board.name,
        "family": model.name,
        "batch_size": size,
        "precision": precision,
        "optimiser": optimiser,
        "reading": reading,
        "point": point,
        "chosen": chosen,
        "largest_batch": model.largest_batch(workload, board, point, reading),
        **estimate_json(workload, result),
    }
    if as_json:
        print_json(content)
    else:
        _print(content, board)
    return OK if content["feasible"] else NOTHING_FEASIBLE


def _print(content: dict[str, Any], device: Device) -> None:
    updated = "" if content["optimiser"] == "sgd" else "{optimiser}, "
    title = "{network} on {device}, {family}, batch {batch_size}, {precision}, " + updated + "reading {reading}"
    title = title.format(**content)
    print(f"{title}: {point_text(content['point'])}")
    for name, why in content["chosen"].items():
        print(f"{name} was not set: {why}")
    print()
    tables = (layer_table(content, "layers"), total_table(content), resource_table(content, device))
    print_tables(*tables)
    short = violation_text(content["violations"])
    if "dram_bytes" in content["violations"]:
        short += f"; the DRAM {batch_text(content['largest_batch'])}"
    print(f"\ndoes not fit: {short}" if short else f"\nfits on {device.name}")
