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
    arithmetic_lut: float
    """LUTs of a lane's multiplier and adder alone."""
    arithmetic_ff: float


@cache
def operator_fit(precision: str) -> OperatorFit:
    """The fit for a precision. Raises KeyError for one that was not synthesised."""
    fit = tomllib.loads((Path(__file__).parent / "operator_cost.toml").read_text())[precision]
    arithmetic = np.add(fit["multiplier_lut_ff"], fit["adder_lut_ff"])
    return OperatorFit(
        *(float(fit[name]) for name in ("lut_per_lane", "lut_fixed", "ff_per_lane", "ff_fixed")),
        *map(float, arithmetic),
    )


def lane_dsp(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> Float:
    """DSP blocks of ``lanes`` multipliers and as many adders: a tree's adders serve as accumulators, float [S]."""
    cost = device.dsp_cost[precision.name]
    return np.asarray(lanes * (cost.multiplier_dsp + cost.adder_dsp))


def streaming_dsp(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> Float:
    """DSP blocks of ``lanes`` streaming lanes for normalisation, loss and update: one multiplier, two adders each."""
    cost = device.dsp_cost[precision.name]
    return np.asarray(lanes * (cost.multiplier_dsp + 2 * cost.adder_dsp))


def lane_logic(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> tuple[Float, Float]:
    """LUTs and FFs of ``lanes`` lanes, whole numbers as float [S]; control logic and DMA engines are not included.

    Our fp32 adder is in LUTs. Where the device file gives it DSP blocks instead, its LUTs are counted all the same:
    how many a DSP-based adder saves is not known here, so that the count is an upper bound. The DSP blocks of Arria 10
    and Stratix 10 multiply and add in fp32 by themselves; there a lane keeps only what is around them.
    """
    fit = operator_fit(precision.name)
    hard = device.vendor == "intel" and precision.name == "fp32"
    lut = fit.lut_per_lane - (fit.arithmetic_lut if hard else 0.0)
    ff = fit.ff_per_lane - (fit.arithmetic_ff if hard else 0.0)
    return (
        np.ceil(np.maximum(lut * lanes + fit.lut_fixed, 0.0)),
        np.ceil(np.maximum(ff * lanes + fit.ff_fixed, 0.0)),
    )
