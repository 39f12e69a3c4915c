"""Batch-level parallelism: ``t_b`` samples by a reduction of ``t_i`` in space, as GEMM on im2col (DarkFPGA, FCCM 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import BOUNDS, Float
from dse.model import Costs, ParallelismModel, Tiling
from dse.models.auxiliary import dram_capacity, moved_bytes
from dse.models.lanes import lane_dsp, lane_logic, streaming_dsp
from dse.models.loop_nest import LoopNests, loop_nests
from dse.models.memory import bank_bram36
from dse.models.operators import Pass, Phases, stream_table
from dse.network import MAC_OPERATIONS
from dse.space import DesignPoint, Parameter, SearchSpace
from dse.workload import PHASES, Workload

__all__ = ["Batch"]

Int = NDArray[np.int64]

# A convolution is unrolled into columns before its GEMM and folded back after the input gradient's; the columns of the
# forward pass are kept for the weight gradient. DarkFPGA's auxiliary kernels, section III.E.
_IM2COL: Phases = {
    "forward": (Pass(("in",), ("columns",)),),
    "input_grad": (Pass(("columns",), ("in",)),),
}
_SWAP: Phases = {"update": (Pass(("parameters", "parameters"), ("parameters",)),)}
_AUXILIARY: Mapping[str, Phases] = {"conv": {**_IM2COL, **_SWAP}, "fc": _SWAP}
# Not counted in the published 288 ms: the loss and re-layouts take no auxiliary kernel's time.
_PUBLISHED: Mapping[str, Phases] = {**_AUXILIARY, "flatten": {}, "sum_square_error": {}, "softmax_cross_entropy": {}}

_PUBLISHED_FIX = {"dsp": 97.0, "bram18": 204.0}
"""DSP_fix and BRAM_fix: what Table III's design takes beyond the formulas of section IV.B at (128, 48), a fit to it."""
_PUBLISHED_BRAM_BITS = 18432
_URAM_WORDS, _URAM_BITS = 4096, 72
"""One UltraRAM block (Xilinx UG573, chapter 2)."""


class Batch(ParallelismModel):
    """DarkFPGA's architecture: every processing element works on one sample, ``t_i`` products a cycle."""

    name = "batch"
    title = "batch-level parallelism"
    reference = "DarkFPGA (Luo et al., FCCM 2019; J. Semicond. 41(2), 2020)"
    precisions = ("int8", "int16", "bf16", "fp32")
    lanes_of = ("t_b", "t_i")
    readings: ClassVar[Mapping[str, str]] = {
        "exact": "all operations, DRAM roofline per layer and phase, buffers from geometry",
        "published": "DarkFPGA's formulas: auxiliary operations as in its 288 ms, capacity-only BRAM, fitted constants",
    }

    def _space(self, workload: Workload, device: Device) -> SearchSpace:
        nests = loop_nests(workload.network)
        cost = device.dsp_cost[workload.precision.name]
        lanes = max(int(device.dsp / cost.multiplier_dsp), 1)
        widest = int(np.max(_reduction(nests)))
        t_b = np.arange(1, min(workload.batch_size, lanes) + 1)
        t_i = np.arange(1, max(min(widest, lanes, 1024), 1) + 1)
        return SearchSpace(
            (
                Parameter("t_b", t_b, "samples in parallel", "samples"),
                Parameter("t_i", t_i, "side of a GEMM tile: products per sample and cycle", "elements"),
            )
        )

    def _heuristics(self, workload: Workload, device: Device) -> Sequence[dict[str, int]]:
        """The paper's own design (128, 48) and its shape at other batch sizes: all samples, the largest tile."""
        cost = device.dsp_cost[workload.precision.name]
        per_lane = cost.multiplier_dsp + cost.adder_dsp
        t_b = min(workload.batch_size, 128)
        largest = max(int(device.dsp / (per_lane * t_b)) // 16 * 16, 1)
        return [{"t_b": t_b, "t_i": t_i} for t_i in dict.fromkeys((48, largest))]

    def _costs(
        self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling
    ) -> Costs:
        t_b, t_i = point["t_b"][:, None], point["t_i"][:, None]
        nests = loop_nests(workload.network)
        cycles, gemm_bytes = _gemm(workload, nests, t_b, t_i)
        table = stream_table(
            workload.network, workload.precision.bits, _PUBLISHED if reading == "published" else _AUXILIARY
        )
        rounds = -(-workload.batch_size // t_b)
        streaming = np.where(table.per_sample == 1, rounds * table.longest, -(-table.longest // t_b))
        aux_bytes = np.broadcast_to(moved_bytes(workload, table), streaming.shape)
        return Costs(
            layer=np.concatenate([nests.layer, table.layer]),
            phase=np.concatenate([nests.phase, table.phase]),
            cycles=np.concatenate([cycles, streaming.astype(np.float64)], axis=1),
            dram_bytes=np.concatenate([gemm_bytes, aux_bytes], axis=1),
            bound=np.full((len(t_b), len(nests) + len(table)), BOUNDS.index("compute"), dtype=np.int8),
            tiling={},
        )

    def _resources(self, workload: Workload, device: Device, point: DesignPoint, reading: str) -> dict[str, Float]:
        precision, t_b, t_i = workload.precision, point["t_b"], point["t_i"]
        lut, ff = lane_logic(precision, t_b * t_i)
        accumulators = _accumulators(device, workload, t_b, t_i)
        if reading == "published":
            dsp = _published_dsp(device, workload, t_b, t_i)
            bits = precision.bits
            words = 4 * t_b * t_i**2 * 2 * bits + 4 * t_i**2 * bits
            bram = (np.ceil(words / _PUBLISHED_BRAM_BITS) + _PUBLISHED_FIX["bram18"]) / 2
            return {"lut": lut, "ff": ff, "dsp": dsp, "bram36": bram, "uram288": accumulators[1]}
        dsp = lane_dsp(device, precision, t_b * t_i) + streaming_dsp(device, precision, t_b)
        # Two operand tiles per sample (activations, errors) and one of weights, double, read t_i words wide.
        bank = bank_bram36(device, 2 * t_i, t_i * precision.bits)
        bram = (2 * t_b + 1) * bank + accumulators[0]
        return {"lut": lut, "ff": ff, "dsp": dsp, "bram36": bram, "uram288": accumulators[1]}

    def _dram_capacity(self, workload: Workload) -> float:
        columns = sum(
            layer.in_shape[0] * layer.kernel[0] * layer.kernel[1] * layer.out_shape[1] * layer.out_shape[2]
            for layer in workload.network.layers
            if layer.op in MAC_OPERATIONS and layer.kernel != (1, 1)
        )
        return dram_capacity(workload) + workload.batch_size * columns * workload.precision.bytes

    def _has_roofline(self, reading: str) -> bool:
        return reading != "published"


def _reduction(nests: LoopNests) -> Int:
    """Length of the reduction of every GEMM: C*K^2 forward, F*K^2 input_grad, H*W weight_grad [K]."""
    weight_grad = nests.of_phase("weight_grad")
    return np.where(weight_grad, nests.r * nests.c, nests.n * nests.taps)


def _gemm(workload: Workload, nests: LoopNests, t_b: Int, t_i: Int) -> tuple[Float, Float]:
    """Cycles and DRAM bytes of every GEMM, float [S,K].

    Padded tiles, a tile of t_i^3 products per sample in t_i^2 cycles (DarkFPGA section IV.C). Each cycle reads one value
    per sample and one weight shared by all; a fully connected layer reads t_i weights (section IV.A); the weight
    gradient reads activation and error, both per sample.
    """
    rounds = -(-workload.batch_size // t_b)
    conv_reduction = np.where(nests.of_phase("input_grad"), nests.m, nests.n) * nests.taps
    produced = np.where(nests.of_phase("input_grad"), nests.n, nests.m)
    tiles = -(-conv_reduction // t_i) * -(-produced // t_i)
    pixels = nests.r * nests.c
    is_fc = nests.is_fc == 1
    image = np.where(is_fc, 1, -(-pixels // t_i) * t_i)
    cycles = rounds * tiles * t_i * np.where(is_fc, t_i // 1, t_i) * image / np.where(is_fc, t_i, t_i)
    weight_grad = nests.of_phase("weight_grad")
    per_cycle = np.where(weight_grad, 2 * t_b, t_b + np.where(is_fc, t_i, 1))
    reduction = np.where(weight_grad, np.where(is_fc, 1, pixels), conv_reduction)
    padded = np.where(weight_grad & is_fc, 1, -(-reduction // t_i) * t_i)
    outputs = np.where(weight_grad, cycles * t_i / padded, cycles * t_b * t_i / padded)
    return cycles.astype(np.float64), (cycles * per_cycle + outputs) * nests.groups * workload.precision.bytes
