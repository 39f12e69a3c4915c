"""Values for the hardware parameters that ``dse estimate --set`` leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dse.cli.progress import step_bar
from dse.errors import InputError

if TYPE_CHECKING:
    from dse.device import Device
    from dse.model import ParallelismModel, Tiling
    from dse.workload import Workload

__all__ = ["complete_point"]


def complete_point(
    model: ParallelismModel,
    workload: Workload,
    device: Device,
    given: dict[str, int],
    reading: str,
    tiling: Tiling,
) -> tuple[dict[str, int], dict[str, str]]:
    """The whole point, in the order of the space, and for each parameter that was not given how its value was chosen.

    Without a tiling the open parameters are those of the proven lowest latency; with one, buffers are the smallest that
    hold the given tiles. Raises InputError for an unknown parameter or an illegal value.
    """
    space = model.space(workload, device)
    given = space.resolve(given)
    space.restrict(given)
    open_names = [name for name in space.names if name not in given]
    if not open_names:
        values, why = dict(given), ""
    elif tiling:
        values, why = _smallest_buffers(model, workload, device, given, reading, tiling)
    else:
        values, why = _lowest_latency(model, workload, device, given, reading)
    return {name: values[name] for name in space.names}, dict.fromkeys(open_names, why)


def _smallest_buffers(
    model: ParallelismModel, workload: Workload, device: Device, given: dict[str, int], reading: str, tiling: Tiling
) -> tuple[dict[str, int], str]:
    buffers_for = getattr(model, "buffers_for", None)
    for parameter in model.space(workload, device).parameters:
        if parameter.name not in given and not (parameter.slack and buffers_for):
            raise InputError(
                f"--set {parameter.name}", "is needed with --tiling", allowed=f"{parameter.name}={parameter.allowed}"
            )
    assert buffers_for is not None
    depths: dict[str, int] = buffers_for(workload, device, given, tiling, reading)
    return {**depths, **given}, "the smallest that holds the given tiles"


def _lowest_latency(
    model: ParallelismModel, workload: Workload, device: Device, given: dict[str, int], reading: str
) -> tuple[dict[str, int], str]:
    from dse.search import Problem, diagnose, exact_search

    problem = Problem.of(model, workload, device, reading=reading, fixed=given)
    with step_bar("searching the open parameters") as report:
        found = exact_search(problem, on_progress=report)
    if found.interrupted:
        raise KeyboardInterrupt
    if len(found.front) == 0:
        return dict(diagnose(problem, given).nearest.point), "nothing fits, so the value of the nearest point"
    why = "the value of the lowest latency, proven" if found.kind != "none" else "the best value found, not proven"
    return {name: int(column[0]) for name, column in found.points.items()}, why
