"""``dse show``: one network or device, with its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dse.cli.guard import OK, VerbGroup
from dse.cli.options import MAX_BATCH, BatchSize, Json, OptimiserName, PrecisionName, checked, whole
from dse.cli.output import Table, number, print_json, print_tables

if TYPE_CHECKING:
    from dse.device import Device
    from dse.network import Network
    from dse.networks import PublishedCount
    from dse.power import PowerModel
    from dse.training_graph import TrainingMemory
    from dse.workload import Workload

__all__ = ["show"]


show = typer.Typer(cls=VerbGroup, help="Show one network or device, with its sources.", rich_markup_mode=None)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that `dse list` shows, or the path of a TOML file.")]


@show.command("network")
def show_network(
    name: _Name,
    batch: BatchSize = "1",
    precision: PrecisionName = "fp32",
    optimiser: OptimiserName = "sgd",
    as_json: Json = False,
) -> int:
    """Show a network's layers, what they compute and keep for training, and how its counts compare with print."""
    from dse.networks import load_network, published_counts
    from dse.schema import plain
    from dse.training_graph import training_memory
    from dse.workload import OPTIMISERS, PRECISIONS, Workload

    size = whole("--batch", batch, 1, MAX_BATCH)
    checked("--precision", precision, PRECISIONS)
    checked("--optimiser", optimiser, OPTIMISERS)
    network, counts = load_network(name), published_counts(name)
    work = Workload(network, size, PRECISIONS[precision], OPTIMISERS[optimiser])
    memory = training_memory(work)
    if as_json:
        content = _network_json(network, counts)
        for layer, kept in zip(content["layers"], memory.kept_bytes.tolist(), strict=True):
            layer["kept_bytes"] = kept
        print_json({"network": plain({**content, "memory": _memory_json(work, memory)})})
        return OK
    rows = [
        (
            layer.name,
            layer.op,
            ", ".join(layer.inputs),
            _shape(layer.in_shape),
            _shape(layer.out_shape),
            _window(layer.kernel),
            _window(layer.stride),
            ",".join(map(str, layer.padding)) if any(layer.padding) else "",
            str(layer.groups) if layer.groups > 1 else "",
            number(layer.macs),
            number(layer.parameters),
            number(kept),
        )
        for layer, kept in zip(network.layers, memory.kept_bytes.tolist(), strict=True)
    ]
    columns = (
        "layer",
        "op",
        "from",
        "in",
        "out",
        "kernel",
        "stride",
        "padding",
        "groups",
        "MACs",
        "parameters",
        "kept bytes",
    )
    title = f"{network.name}: input {_shape(network.input_shape)} (channels x height x width), per sample"
    totals = [
        ("MACs, forward", number(network.macs)),
        ("operations of a training step (1 MAC = 2)", number(network.training_flop)),
        ("parameters", number(network.parameters)),
    ]
    tables = [Table(title, columns, rows, "lllllllllrrr"), Table("totals per sample", ("", "count"), totals, "lr")]
    print_tables(*tables, _memory_table(work, memory), *_published(network, counts))
    print(f"\nsource: {network.source}\nfile: {network.path}")
    return OK


def _memory_json(work: Workload, memory: TrainingMemory) -> dict[str, Any]:
    return {
        "batch_size": work.batch_size,
        "precision": work.precision.name,
        "optimiser": work.optimiser.name,
        "peak_bytes": memory.peak_bytes,
        "peak_layer": memory.peak_step[0],
        "peak_pass": memory.peak_step[1],
        "parameter_bytes": memory.parameter_bytes,
        "state_bytes": memory.state_bytes,
        "input_bytes": memory.input_bytes,
        "kept_bytes": memory.input_bytes + float(memory.kept_bytes.sum()),
    }


def _memory_table(work: Workload, memory: TrainingMemory) -> Table:
    """What a training step holds in DRAM."""
    rows = [
        ("weights and gradients", number(memory.parameter_bytes)),
        ("optimiser's states", number(memory.state_bytes)),
        ("kept from forward to backward, the input included", number(memory.input_bytes + memory.kept_bytes.sum())),
        (f"most at once: {memory.peak_step[1]} of {memory.peak_step[0]}", number(memory.peak_bytes)),
    ]
    title = f"DRAM of a training step, batch {work.batch_size}, {work.precision.name}, {work.optimiser.name}"
    return Table(title, ("", "bytes"), rows, "lr")


def _published(network: Network, counts: tuple[PublishedCount, ...]) -> list[Table]:
    rows = [
        (
            count.quantity,
            number(count.value),
            number(count.computed(network)),
            f"{100 * count.tolerance:g} %",
            "ok" if count.holds(network) else "MISSED",
            count.source,
        )
        for count in counts
    ]
    columns = ("published", "value", "this file", "tolerance", "", "source")
    return [Table("published counts", columns, rows, "lrrrll")] if rows else []


def _network_json(network: Network, counts: tuple[PublishedCount, ...]) -> dict[str, Any]:
    keys = (
        "name", "op", "inputs", "in_shape", "out_shape", "kernel", "stride", "padding", "dilation", "groups", "bias",
        "macs", "parameters", "needs_input_grad",
    )  # fmt: skip
    return {
        "name": network.name,
        "source": network.source,
        "path": network.path,
        "sha256": network.digest,
        "input_shape": network.input_shape,
        "macs": network.macs,
        "training_flop": network.training_flop,
        "parameters": network.parameters,
        "published": [
            {
                "quantity": count.quantity,
                "value": count.value,
                "computed": count.computed(network),
                "tolerance": count.tolerance,
                "ok": count.holds(network),
                "source": count.source,
            }
            for count in counts
        ],
        "layers": [{key: getattr(layer, key) for key in keys} for layer in network.layers],
    }


@show.command("device")
def show_device(name: _Name, as_json: Json = False) -> int:
    """Show a device's resources, memory, clock, operator costs and the fit of its power."""
    from dse.devices import load_device
    from dse.power import PowerModel
    from dse.schema import plain

    device = load_device(name)
    power = PowerModel.of(device)
    if as_json:
        print_json({"device": plain(_device_json(device, power))})
        return OK
    resources = [
        (name, number(count, 1), f"{100 * device.usable[name]:g} %") for name, count in device.capacity.items()
    ]
    costs = [(name, f"{cost.multiplier_dsp:g}", f"{cost.adder_dsp:g}") for name, cost in device.dsp_cost.items()]
    memory = [
        ("DRAM", f"{device.dram_bytes / 1e9:,.3f} GB"),
        ("DRAM bandwidth", f"{device.dram_bytes_per_s / 1e9:,.3f} GB/s"),
        ("DMA port", f"{device.dma_port_bits} bits"),
        ("DMA restart", f"{device.dma_restart_cycles} cycles"),
        ("clock", f"{device.clock_hz / 1e6:g} MHz"),
    ]
    print_tables(
        Table(f"{device.name}: {device.part} ({device.vendor})", ("resource", "chip", "usable"), resources, "lrr"),
        Table("memory and clock", ("", ""), memory, "lr"),
        Table("DSP blocks per operator", ("precision", "multiplier", "adder"), costs, "lrr"),
        *_power_tables(device),
        Table("sources", ("document", "for"), _source_rows(device), "ll"),
    )
    print(f"\npower: {_power_text(power)}\nfile: {device.path}")
    return OK


def _source_rows(device: Device) -> list[tuple[str, str]]:
    keys: dict[str, list[str]] = {}
    for key, document in device.sources.items():
        keys.setdefault(document, []).append(key)
    return [(document, ", ".join(named)) for document, named in keys.items()]


def _power_tables(device: Device) -> list[Table]:
    rows = [
        (m.design, number(m.dsp), number(m.bram36, 1), f"{m.clock_hz / 1e6:g} MHz", f"{m.watts:g} W", m.source)
        for m in device.power
    ]
    columns = ("published power", "dsp", "bram36", "clock", "power", "source")
    return [Table("power measurements", columns, rows, "lrrrrl")] if rows else []


def _power_text(power: PowerModel) -> str:
    if not power.measurements:
        return "unknown, nothing is published for this device"
    return (
        f"{power.static_w:.3f} W + {power.dsp_w_per_hz:.3e} W/Hz per DSP + {power.bram_w_per_hz:.3e} W/Hz per RAMB36, "
        f"fitted on {power.measurements} published measurement{'s' if power.measurements > 1 else ''}, "
        f"largest residual {100 * power.worst_residual:.1f} %"
    )


def _device_json(device: Device, power: PowerModel) -> dict[str, Any]:
    keys = ("name", "part", "vendor")
    memory = ("clock_hz", "dram_bytes", "dram_bytes_per_s", "dma_port_bits", "dma_restart_cycles")
    fit = ("static_w", "dsp_w_per_hz", "bram_w_per_hz", "measurements", "worst_residual")
    measured = ("design", "dsp", "bram36", "clock_hz", "watts", "source")
    return {
        **{key: getattr(device, key) for key in keys},
        "path": device.path,
        "sha256": device.digest,
        "resources": device.capacity,
        "usable": device.usable,
        **{key: getattr(device, key) for key in memory},
        "dsp_cost": {k: {"multiplier": c.multiplier_dsp, "adder": c.adder_dsp} for k, c in device.dsp_cost.items()},
        "power": {key: getattr(power, key) for key in fit},
        "power_measurements": [{key: getattr(m, key) for key in measured} for m in device.power],
        "sources": device.sources,
    }


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _window(window: tuple[int, int]) -> str:
    return "" if window == (1, 1) else _shape(window)
