"""Times of a training step on a GPU from its data sheet: a roofline at declared shares of both peaks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dse.errors import InputError, did_you_mean
from dse.fields import read_toml
from dse.model import phase_macs
from dse.models.auxiliary import moved_bytes
from dse.models.operators import stream_table
from dse.network import MAC_OPERATIONS, Layer
from dse.offload.profile import Cost
from dse.workload import PHASES, Workload

__all__ = ["Gpu", "load_gpu", "roofline"]


@dataclass(frozen=True)
class Gpu:
    """A card. Peak operations per second by precision (1 MAC = 2), bytes per second, watts."""

    name: str
    part: str
    peak_flops: Mapping[str, float]
    dram_bytes_per_s: float
    idle_w: float
    mac: tuple[float, float]
    """Mean and peak power of operations that multiply and accumulate."""
    stream: tuple[float, float]
    """Mean and peak power of operations that stream through memory."""


def load_gpu(name: str) -> Gpu:
    """A card of ``gpus.toml``. Raises InputError naming the choices."""
    table = read_toml(Path(__file__).with_name("gpus.toml"))
    if name not in table:
        raise InputError("gpu", "unknown GPU", name, did_you_mean(name, table.keys()))
    fields = table.table(name)
    peaks = fields.table("peak_flops")
    gpu = Gpu(
        name=name,
        part=fields.string("part"),
        peak_flops={key: peaks.number(key, positive=True) for key in peaks.keys()},  # noqa: SIM118
        dram_bytes_per_s=fields.number("dram_bytes_per_s", positive=True),
        idle_w=fields.number("idle_w"),
        mac=(fields.number("mac_w"), fields.number("mac_peak_w")),
        stream=(fields.number("stream_w"), fields.number("stream_peak_w")),
    )
    fields.table("sources")
    fields.close()
    return gpu


def roofline(
    workload: Workload, gpu: Gpu, mac_share: float = 0.6, stream_share: float = 0.8
) -> dict[tuple[str, str], Cost]:
    """(layer, phase) -> cost of the phases that take time, for one batch.

    An operation takes as long as its MACs at ``mac_share`` of the peak or its compulsory traffic (each map and weight
    once a pass) at ``stream_share`` of the memory's bandwidth, whichever is longer. A precision that the card lacks
    runs as fp32. Raises InputError for an operation without a cost.
    """
    flops = gpu.peak_flops.get(workload.precision.name, gpu.peak_flops["fp32"]) * mac_share
    bytes_per_s = gpu.dram_bytes_per_s * stream_share
    macs = phase_macs(workload)
    elements = {layer.name: layer.out_elements for layer in workload.network.layers}
    elements["input"] = math.prod(workload.network.input_shape)
    costs = {}
    for number, layer in enumerate(workload.network.layers):
        if layer.op in MAC_OPERATIONS:
            for phase, moved in _mac_traffic(workload, layer, elements).items():
                seconds = max(2 * macs[number, PHASES.index(phase)] / flops, moved / bytes_per_s)
                costs[layer.name, phase] = Cost(float(seconds), *(gpu.stream if phase == "update" else gpu.mac))
    table = stream_table(workload)
    for layer_number, phase_number, moved in zip(table.layer, table.phase, moved_bytes(workload, table), strict=True):
        name = workload.network.layers[int(layer_number)].name
        key, seconds = (name, PHASES[int(phase_number)]), float(np.float64(moved) / bytes_per_s)
        if key in costs:  # a sum of gradients beside the layer's own work
            costs[key] = replace(costs[key], seconds=costs[key].seconds + seconds)
        else:
            costs[key] = Cost(seconds, *gpu.stream)
    return costs


def _mac_traffic(workload: Workload, layer: Layer, elements: Mapping[str, int]) -> dict[str, float]:
    """Bytes of each phase: input, output (or their gradients) and weights once.

    The update reads weight and gradient and writes the weight, and reads and writes the optimiser's states.
    In a product of two activations the second, of ``elements[name]`` a sample, is in the place of the weights.
    """
    product = layer.op == "matmul"
    maps = layer.in_elements + layer.out_elements + (elements[layer.inputs[1]] if product else 0)
    once = (maps * workload.batch_size + layer.parameters) * workload.precision.bytes
    phases = {"forward": once}
    if layer.needs_weight_grad:
        phases["weight_grad"] = once
    if layer.needs_input_grad:
        phases["input_grad"] = once
    if layer.parameters:
        states = workload.optimiser.states * workload.precision.accumulator_bits / 8
        phases["update"] = layer.parameters * (3 * workload.precision.bytes + 2 * states)
    return phases
