"""What a model predicts for a batch of design points: time, traffic, resources, power and what is violated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOUNDS", "LOSSES", "OBJECTIVES", "RESOURCES", "Estimate", "Float", "LayerCosts"]

Float = NDArray[np.float64]

RESOURCES = ("lut", "ff", "dsp", "bram36", "uram288")
"""Resource names, in report order."""

LOSSES: Mapping[str, str] = {
    "samples": "lanes along samples are idle: the batch is no multiple of them",
    "output_channels": "lanes along output channels (of the phase) are idle",
    "input_channels": "lanes along input channels (of the phase) are idle, as on a first layer of three",
    "rows": "lanes along rows are idle",
    "columns": "lanes along columns are idle",
    "groups": "groups fill the lanes on a diagonal only, or not at all",
    "stride": "lanes on taps and pixels that a strided input gradient has not",
    "wait": "lanes wait: first loads, last stores, weights, ports and their restarts",
    "dram": "the DRAM's bandwidth is used up",
    "streams": "operations and updates beside the multiplier array",
}
"""Where the cycles go in which lanes do no useful MAC."""

BOUNDS = ("none", "compute", "dma", "dram", "restart")
"""What limits a layer's phase: nothing to do, the lanes, a DMA port (or its restarts), the DRAM."""


@dataclass(frozen=True)
class LayerCosts:
    """Per layer and phase figures; S the batch of points, L layers, P the four phases."""

    cycles: Float
    """Clock cycles per iteration [S,L,P]."""
    dram_bytes: Float
    """Bytes moved per iteration [S,L,P]."""
    macs: Float
    """Multiply-accumulates per iteration [L,P]."""
    mac_floor_cycles: Float
    """Cycles if every lane did a useful MAC in every cycle [S,L,P]."""
    bound: NDArray[np.int8]
    """Index into BOUNDS [S,L,P]."""
    tiling: Mapping[str, NDArray[np.int64]]
    """Tile name (``tr``, ``m_on``, ...) -> its size [S,L,P], 0 where the layer has no such tile."""
    lost_cycles: Mapping[str, Float]
    """Cause (see LOSSES) -> cycles [S,L,P]; with ``mac_floor_cycles`` they add up to ``cycles``."""


@dataclass(frozen=True)
class Estimate:
    """Prediction for a batch of points; every array has shape S unless it says otherwise. Unknown is NaN."""

    iteration_cycles: Float
    iteration_s: Float
    samples_per_s: Float
    dram_bytes: Float
    """Bytes moved per iteration."""
    dram_capacity_bytes: Float
    """Bytes of DRAM that hold activations, errors, weights and gradients at once."""
    resources: Mapping[str, Float]
    """Resource name -> amount used (see RESOURCES)."""
    power_w: Float
    energy_j: Float
    """Joules per iteration."""
    violation: Mapping[str, Float]
    """Constraint name -> used / usable - 1; feasible where <= 0; NaN where unknown, which is not feasible."""
    feasible: NDArray[np.bool_]
    layers: LayerCosts | None = None
    """Present where asked for (``detail=True``)."""

    @property
    def dram_bytes_per_s(self) -> Float:
        """Mean DRAM bandwidth that the iteration uses."""
        return np.asarray(self.dram_bytes / self.iteration_s)

    def objective(self, name: str) -> Float:
        """A figure to be minimised, [S]: see OBJECTIVES. Raises KeyError for another name."""
        return np.asarray(_READERS[name](self), dtype=np.float64)


_READERS = {
    "latency": lambda e: e.iteration_s,
    "energy": lambda e: e.energy_j,
    "dsp": lambda e: e.resources["dsp"],
    "bram": lambda e: e.resources["bram36"],
    "bandwidth": lambda e: e.dram_bytes_per_s,
}

OBJECTIVES: Mapping[str, str] = {
    "latency": "s/iteration",
    "energy": "J/iteration",
    "dsp": "DSP blocks",
    "bram": "RAMB36",
    "bandwidth": "B/s",
}
"""Objective name -> unit; all are minimised."""
