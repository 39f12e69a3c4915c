"""Logic of multiplier-accumulator lanes and streaming units: DSPs from the device, LUTs and FFs from synthesis."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import Float
from dse.workload import Precision

__all__ = ["OperatorFit", "lane_dsp", "lane_logic", "operator_fit", "streaming_dsp"]


@dataclass(frozen=True, slots=True)
class OperatorFit:
    """LUT = lut_per_lane * lanes + lut_fixed, likewise FF: fits to synthesis of our own RTL, see operator_cost.toml."""

    lut_per_lane: float
    lut_fixed: float
    ff_per_lane: float
    ff_fixed: float


@cache
def operator_fit(precision: str) -> OperatorFit:
    """The fit for a precision. Raises KeyError for one that was not synthesised."""
    table = tomllib.loads((Path(__file__).parent / "operator_cost.toml").read_text())
    fit = table[precision]
    return OperatorFit(*(float(fit[name]) for name in OperatorFit.__slots__))


def lane_dsp(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> Float:
    """DSP blocks of ``lanes`` multipliers and as many adders: a tree's adders serve as accumulators, float [S]."""
    cost = device.dsp_cost[precision.name]
    return np.asarray(lanes * (cost.multiplier_dsp + cost.adder_dsp))


def streaming_dsp(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> Float:
    """DSP blocks of ``lanes`` streaming lanes for normalisation, loss and update: one multiplier, two adders each."""
    cost = device.dsp_cost[precision.name]
    return np.asarray(lanes * (cost.multiplier_dsp + 2 * cost.adder_dsp))


def lane_logic(precision: Precision, lanes: NDArray[np.int64]) -> tuple[Float, Float]:
    """LUTs and FFs of ``lanes`` lanes, float [S]; control logic and DMA engines are not included."""
    fit = operator_fit(precision.name)
    return (
        np.maximum(fit.lut_per_lane * lanes + fit.lut_fixed, 0.0),
        np.maximum(fit.ff_per_lane * lanes + fit.ff_fixed, 0.0),
    )
