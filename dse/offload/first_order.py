"""Offloading in one line: a share of the GPU's time goes to an FPGA that is somewhat faster at it, one after the other.

The form behind Hype-training's averages. It has no task graph and no link; the simulation has both.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FirstOrder", "first_order"]


@dataclass(frozen=True, slots=True)
class FirstOrder:
    """Hybrid over GPU-only: ratios of throughput, mean power, energy efficiency (their quotient) and energy."""

    throughput: float
    power: float
    efficiency: float
    energy: float


def first_order(
    share: float,
    *,
    speed_ratio: float = 0.80,
    contention: float = 1.0,
    gpu_w: float = 270.0,
    gpu_idle_w: float = 39.0,
    fpga_w: float = 60.0,
    fpga_idle_w: float = 0.0,
) -> FirstOrder:
    """Gains where ``share`` of the GPU's time is offloaded to an FPGA that needs ``speed_ratio`` of it.

    T = (1 - x)/c + r x; P = [(1 - x)/c (P_gpu + P_fpga,idle) + r x (P_gpu,idle + P_fpga)] / T, in units of the
    GPU-only iteration and in watts, against a GPU alone. Defaults: Table 1's Conv2D and MatMul up to medium size (0.78
    to 0.86 of the GPU's time; 262 and 270 W; 55 to 65 W), section 3.2's idle GPU, and an FPGA that draws nothing when
    idle, without which the paper's averages do not come out.
    """
    gpu_s = (1 - share) / contention
    fpga_s = speed_ratio * share
    seconds = gpu_s + fpga_s
    energy = (gpu_s * (gpu_w + fpga_idle_w) + fpga_s * (gpu_idle_w + fpga_w)) / gpu_w
    return FirstOrder(throughput=1 / seconds, power=energy / seconds, efficiency=1 / energy, energy=energy)
