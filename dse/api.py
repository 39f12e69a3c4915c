"""The library's shortest way to one prediction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dse.device import Device
from dse.devices import load_device
from dse.errors import InputError
from dse.estimate import Estimate
from dse.model import ParallelismModel, Tiling
from dse.network import Network
from dse.networks import load_network
from dse.registry import family_named
from dse.workload import Workload, optimiser_named, precision_named

__all__ = ["estimate"]


def estimate(
    network: Network | str | Path,
    device: Device | str | Path,
    family: ParallelismModel | str,
    point: Mapping[str, ArrayLike],
    *,
    batch_size: int = 128,
    precision: str = "fp32",
    optimiser: str = "sgd",
    reading: str = "",
    detail: bool = True,
    tiling: Tiling | None = None,
) -> Estimate:
    """What the model of ``family`` predicts for one accelerator, or many, that train ``network`` on ``device``.

    ``network``, ``device`` and ``family`` are loaded objects, names that ``dse list`` shows or (not for a family) paths
    of TOML files. ``point`` gives every parameter of the family's search space one whole number (shape S = ()) or an
    array of N (shape S = (N,)); arrays are broadcast. ``batch_size`` is in samples per iteration, ``optimiser`` sgd,
    momentum or adam. ``reading`` names a setting of the formulas, ``""`` the family's first. ``tiling`` fixes the tiles
    of named layers and phases; every other tile is the best there is.

    The result has cycles, seconds, joules and bytes per iteration, samples per second, watts and counts of blocks, each
    float [S], and ``feasible``, bool [S]. With ``detail`` it has the same per layer and phase, [S, L, P], which takes
    memory in proportion to N: leave it out for many points. Unknown values are NaN.

    Raises InputError, one line, for an unknown name, a bad file, a missing, unknown or illegal parameter, a batch size
    out of range, a precision that the family or the device lacks, an unknown reading and an illegal tiling.
    """
    workload = Workload(
        network if isinstance(network, Network) else load_network(network),
        batch_size,
        precision_named(precision),
        optimiser_named(optimiser),
    )
    board = device if isinstance(device, Device) else load_device(device)
    model = family if isinstance(family, ParallelismModel) else family_named(family)
    for name, values in point.items():
        if np.asarray(values).dtype.kind not in "iuf":
            raise InputError(f"parameter {name}", "must be a whole number or an array of them", values)
    legal = model.space(workload, board).as_point(point)
    return model.evaluate(workload, board, legal, reading=reading, detail=detail, tiling=tiling)
