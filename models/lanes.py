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
    """LUT = lut_per_lane * lanes + lut_fixed, likewise FF: see operator_cost.toml and dsp_adder_lanes.toml."""

    lut_per_lane: float
    lut_fixed: float
    ff_per_lane: float
    ff_fixed: float


@cache
def operator_fit(precision: str, adder: str = "lut") -> OperatorFit:
    """The fit for a precision with its adders in ``lut``, ``dsp`` blocks, or ``hard`` floating-point blocks.

    Adders in DSP blocks are known for some precisions only; for the others those in LUTs are an upper bound. Raises
    KeyError for a precision that was not synthesised.
    """
    folder = Path(__file__).parent
    published = tomllib.loads((folder / "dsp_adder_lanes.toml").read_text())
    if adder == "dsp" and precision in published:
        whole = published[precision]
        return OperatorFit(whole["lut"] / whole["lanes"], 0.0, whole["ff"] / whole["lanes"], 0.0)
    fit = tomllib.loads((folder / "operator_cost.toml").read_text())[precision]
    hard = np.add(fit["multiplier_lut_ff"], fit["adder_lut_ff"]) * (adder == "hard")
    return OperatorFit(
        float(fit["lut_per_lane"] - hard[0]), float(fit["lut_fixed"]), float(fit["ff_per_lane"] - hard[1]),
        float(fit["ff_fixed"]),
    )  # fmt: skip


def lane_dsp(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> Float:
    """DSP blocks of ``lanes`` multipliers and as many adders: a tree's adders serve as accumulators, float [S]."""
    cost = device.dsp_cost[precision.name]
    return np.asarray(lanes * (cost.multiplier_dsp + cost.adder_dsp))


def streaming_dsp(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> Float:
    """DSP blocks of ``lanes`` streaming lanes for normalisation, loss and update: one multiplier, two adders each."""
    cost = device.dsp_cost[precision.name]
    return np.asarray(lanes * (cost.multiplier_dsp + 2 * cost.adder_dsp))


def lane_logic(device: Device, precision: Precision, lanes: NDArray[np.int64]) -> tuple[Float, Float]:
    """LUTs and FFs of ``lanes`` lanes, whole numbers as float [S]; buffers, control and DMA engines are not included.

    Where the device file gives an adder DSP blocks, its logic is that of a published accelerator of such lanes. The DSP
    blocks of Arria 10 and Stratix 10 multiply and add in fp32 by themselves: a lane keeps what is around them.
    """
    hard = device.vendor == "intel" and precision.name == "fp32"
    in_dsp = device.dsp_cost[precision.name].adder_dsp > 0
    fit = operator_fit(precision.name, "hard" if hard else "dsp" if in_dsp else "lut")
    return (
        np.ceil(np.maximum(fit.lut_per_lane * lanes + fit.lut_fixed, 0.0)),
        np.ceil(np.maximum(fit.ff_per_lane * lanes + fit.ff_fixed, 0.0)),
    )
