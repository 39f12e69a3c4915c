"""Costs of every phase of every layer from a profile: its own rows, or those of its kind of operation."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from dse.errors import InputError, did_you_mean
from dse.offload.profile import Cost, OpProfile, Profile
from dse.offload.training_graph import LayerCost
from dse.workload import Workload

__all__ = ["KERNELS", "StepCosts", "step_costs"]

KERNELS = {
    ("conv", "forward"): "Conv2D",
    ("conv", "input_grad"): "Conv2DBackpropInput",
    ("conv", "weight_grad"): "Conv2DBackpropFilter",
    ("fc", "forward"): "MatMul",
    ("fc", "input_grad"): "MatMul",
    ("fc", "weight_grad"): "MatMul",
    ("matmul", "forward"): "MatMul",
    ("matmul", "input_grad"): "MatMul",
    ("matmul", "weight_grad"): "MatMul",
    ("conv_transpose", "forward"): "Conv2DBackpropInput",
    ("conv_transpose", "input_grad"): "Conv2D",
    ("conv_transpose", "weight_grad"): "Conv2DBackpropFilter",
    ("bias", "weight_grad"): "BiasAddGrad",
    ("mul", "forward"): "Mul",
    ("transpose", "forward"): "Transpose",
    ("transpose", "input_grad"): "Transpose",
}
"""(operation, phase) -> the name of its kernel in TensorFlow, by which profiles list it."""


@dataclass(frozen=True)
class StepCosts:
    """Costs by layer and phase, and how many came from where."""

    costs: LayerCost
    origins: Mapping[str, int]


def step_costs(
    workload: Workload,
    profile: Profile | None,
    roofline: Mapping[tuple[str, str], Cost],
    fpga: Mapping[tuple[str, str], Cost] | None = None,
    *,
    traced: Collection[tuple[str, str]] = (),
    scaled: bool = True,
) -> StepCosts:
    """Costs of a training step on GPU and FPGA.

    A phase takes the profile's row of its layer and phase; else the row of its kernel (KERNELS) or operation whose
    GPU time is nearest to the roofline's, by ratio; else the roofline, and no FPGA. With ``scaled`` a kernel's row is
    stretched to the roofline's time, so that it gives the ratio of FPGA to GPU and both powers; otherwise its times
    count as they stand. ``traced`` names the entries of ``roofline`` that were measured. ``fpga``, where given,
    replaces the profile's FPGA side. Updates stay on GPUs. Raises InputError for a row of a layer that the network
    does not have.
    """
    rows = profile.operations if profile is not None else ()
    exact = {(row.layer, row.phase): row for row in rows if row.layer}
    names = [layer.name for layer in workload.network.layers]
    for layer, _ in exact:
        if layer not in names:
            raise InputError(f"profile: layer {layer}", "is not in the network", layer, did_you_mean(layer, names))
    by_op: dict[str, list[OpProfile]] = {}
    for row in rows:
        if not row.layer:
            by_op.setdefault(row.op, []).append(row)
    ops = {layer.name: layer.op for layer in workload.network.layers}
    costs: dict[tuple[str, str], dict[str, Cost]] = {}
    origins = {"profile, by layer": 0, "profile, by kernel": 0, "trace": 0, "roofline": 0}
    for key in dict.fromkeys([*roofline, *exact]):
        layer, phase = key
        kernel = by_op.get(KERNELS.get((ops[layer], phase), ops[layer]), [])
        if key in exact:
            origin, pair = "profile, by layer", _pair(exact[key], 1.0)
        elif kernel:
            origin, pair = "profile, by kernel", _nearest(kernel, roofline[key].seconds, scaled)
        else:
            origin, pair = "trace" if key in traced else "roofline", {"gpu": roofline[key]}
        if fpga is not None:
            pair = {"gpu": pair["gpu"]} | ({"fpga": fpga[key]} if key in fpga else {})
        costs[key] = {"gpu": pair["gpu"]} if phase == "update" else pair
        origins[origin] += 1
    return StepCosts(costs, {name: count for name, count in origins.items() if count})


def _nearest(rows: list[OpProfile], seconds: float, scaled: bool) -> dict[str, Cost]:
    row = min(rows, key=lambda r: abs(math.log(r.gpu.seconds / seconds)))
    return _pair(row, seconds / row.gpu.seconds if scaled else 1.0)


def _pair(row: OpProfile, stretch: float) -> dict[str, Cost]:
    pair = {"gpu": row.gpu} | ({"fpga": row.fpga} if row.fpga is not None else {})
    return {kind: Cost(c.seconds * stretch, c.watts, c.peak_watts) for kind, c in pair.items()}
