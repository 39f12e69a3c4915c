"""A network's training step with the costs of each operation on both kinds of device, and what these rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dse.offload.fpga_model import FpgaSide
from dse.offload.gpu_model import Gpu, roofline
from dse.offload.profile import OpProfile, Profile
from dse.offload.step_costs import step_costs
from dse.offload.task_graph import TaskGraph
from dse.offload.trace import TraceTimes
from dse.offload.training_graph import link_bytes, task_name, training_graph
from dse.workload import Workload

__all__ = ["Scenario", "operations_of", "training_scenario"]


@dataclass(frozen=True)
class Scenario:
    """A task graph, the assumptions behind its costs (name -> words), and the idle power of its FPGA in watts."""

    graph: TaskGraph
    assumptions: Mapping[str, str]
    fpga_idle_w: float


def training_scenario(
    workload: Workload,
    gpu: Gpu,
    profile: Profile | None = None,
    fpga: FpgaSide | None = None,
    *,
    trace: TraceTimes | None = None,
    gpus: int = 1,
    mac_share: float = 0.6,
    stream_share: float = 0.8,
    scaled: bool = True,
) -> Scenario:
    """One training step of ``workload`` on each of ``gpus`` GPUs.

    GPU times are those of ``profile`` where it has them, else those of ``trace``, else the roofline of ``gpu`` at the
    two shares of its peaks; FPGA times are those of ``fpga`` where given, else the profile's (see ``step_costs``).
    Raises InputError for an operation without a cost and for a profile's layer that the network does not have.
    """
    times = roofline(workload, gpu, mac_share, stream_share)
    traced = {key: replace(times[key], seconds=s) for key, s in trace.seconds.items() if key in times} if trace else {}
    times |= traced
    costs = step_costs(workload, profile, times, fpga.costs if fpga is not None else None, traced=traced, scaled=scaled)
    graph = training_graph(workload, costs.costs, gpus)
    origins = ", ".join(f"{count} from {name}" for name, count in costs.origins.items())
    counts = f"{len(graph.tasks)} tasks, {len(graph.candidates)} offloadable"
    shares = f"{mac_share:g} of its peak operations, {stream_share:g} of its bandwidth"
    if workload.precision.name not in gpu.peak_flops:
        shares += f", in fp32 because it has no {workload.precision.name}"
    assumptions = {
        "step": f"{graph.name}, {workload.precision.name}: {counts}",
        "GPU times": f"{origins} ({gpu.part} at {shares})",
        "FPGA times": fpga.description if fpga is not None else "the profile's" if profile is not None else "none",
    }
    if profile is not None:
        kernels = "stretched to the roofline's time on the GPU" if scaled else "as they stand"
        assumptions["profile"] = f"{profile.source}; rows of kernels {kernels}"
    if trace is not None:
        assumptions["trace"] = _trace_text(trace)
    least_w = profile.least_fpga_w if profile is not None else math.nan
    idle_w = fpga.idle_w if fpga is not None else 0.0 if math.isnan(least_w) else least_w
    return Scenario(graph, assumptions, idle_w)


def _trace_text(trace: TraceTimes) -> str:
    missing = f"; not matched: {', '.join(trace.unmatched)}" if trace.unmatched else ""
    return (
        f"{trace.iterations} iterations on {trace.gpu or 'a GPU'}, {100 * trace.attributed:.1f} % of the kernels' time "
        f"belongs to layers{missing}; power is that of the card's data"
    )


def operations_of(graph: TaskGraph, workload: Workload) -> list[OpProfile]:
    """The first GPU's offloadable tasks as profiled operations, with the bytes that each alone would move."""
    moved = link_bytes(graph)
    operations = []
    for layer in workload.network.layers:
        for phase in ("forward", "input_grad", "weight_grad"):
            task = graph.by_name.get(task_name(layer.name, phase))
            if task is not None and "gpu" in task.costs:
                operations.append(
                    OpProfile(
                        op=layer.op,
                        size="",
                        gpu=task.costs["gpu"],
                        fpga=task.costs.get("fpga"),
                        link_bytes=moved[task.name],
                        layer=layer.name,
                        phase=phase,
                    )
                )
    return operations
