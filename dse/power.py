"""Total board power, fitted to published measurements of training accelerators on the same board."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dse.device import Device, PowerMeasurement
from dse.estimate import Float

__all__ = ["PowerModel"]

_TERMS = ("static", "DSP", "BRAM36")


@dataclass(frozen=True)
class PowerModel:
    """watts = static_w + dsp_w_per_hz * DSPs * clock + bram_w_per_hz * RAMB36s * clock; NaN where nothing is published.

    With three measurements or more the three coefficients are a least-squares fit (a term whose coefficient comes out
    negative is dropped: no block may lower the power). With fewer, power is the mean of what was measured, whatever
    the point: one measurement cannot tell static from dynamic power.
    """

    static_w: float
    dsp_w_per_hz: float
    bram_w_per_hz: float
    measurements: int
    worst_residual: float
    """Largest |model / measured - 1| over the measurements; NaN without one."""

    @staticmethod
    def of(device: Device) -> PowerModel:
        """The fit to ``device.power``."""
        return _fit(device.power)

    def watts(self, dsp: Float, bram36: Float, clock_hz: float) -> Float:
        """Power in watts of designs with these counts, float [S]."""
        return np.asarray(self.static_w + clock_hz * (self.dsp_w_per_hz * dsp + self.bram_w_per_hz * bram36))


@lru_cache(maxsize=256)
def _fit(measurements: tuple[PowerMeasurement, ...]) -> PowerModel:
    if not measurements:
        return PowerModel(np.nan, np.nan, np.nan, 0, np.nan)
    watts = np.array([m.watts for m in measurements])
    columns = np.array([(1.0, m.dsp * m.clock_hz, m.bram36 * m.clock_hz) for m in measurements])
    terms = list(range(len(_TERMS))) if len(measurements) >= len(_TERMS) else [0]
    coefficients = np.zeros(len(_TERMS))
    while True:
        scale = np.abs(columns[:, terms]).max(axis=0)
        solution = np.linalg.lstsq(columns[:, terms] / scale, watts, rcond=None)[0] / scale
        if np.all(solution >= 0) or len(terms) == 1:
            coefficients[terms] = solution
            break
        terms.remove(terms[int(np.argmin(solution * scale))])
    residual = float(np.max(np.abs(columns @ coefficients / watts - 1)))
    static, dsp, bram = map(float, coefficients)
    return PowerModel(static, dsp, bram, len(measurements), residual)
