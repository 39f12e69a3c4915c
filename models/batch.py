"""Batch-level parallelism: ``t_b`` samples by ``t_i`` products in space, as GEMM on im2col (DarkFPGA, FCCM 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.device import Device
from dse.estimate import BOUNDS, Float
from dse.model import Costs, ParallelismModel, Tiling, Totals, phase_macs
from dse.models import FAMILIES
from dse.models.auxiliary import moved_bytes, published_dram_capacity
from dse.models.idle_lanes import attributed
from dse.models.lanes import lane_dsp, lane_logic, streaming_dsp
from dse.models.loop_nest import loop_nests
from dse.models.memory import bank_bram36
from dse.models.operators import Pass, Phases, StreamTable, stream_table
from dse.network import MAC_OPERATIONS, Network
from dse.rtl_shape import RtlShape
from dse.space import DesignPoint, Parameter, SearchSpace
from dse.training_graph import training_memory
from dse.workload import PHASES, Precision, Workload

__all__ = ["Batch"]

Int = NDArray[np.int64]

# A convolution is unrolled into columns before its GEMM and folded back after the input gradient's; the columns of the
# forward pass are kept for the weight gradient. DarkFPGA's auxiliary kernels, section III.E.
_IM2COL: Phases = {
    "forward": (Pass(("in",), ("columns",)),),
    "input_grad": (Pass(("columns",), ("in",)),),
}
_SWAP: Phases = {"update": (Pass(("parameters", "parameters", "states"), ("parameters", "states")),)}
_COL2IM: Phases = {
    "forward": (Pass(("columns",), ("out",)),),
    "input_grad": (Pass(("out",), ("columns",)),),
}
_AUXILIARY: Mapping[str, Phases] = {
    "conv": {**_IM2COL, **_SWAP}, "conv_transpose": {**_COL2IM, **_SWAP}, "fc": _SWAP,
}  # fmt: skip
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
    title = FAMILIES["batch"].title
    reference = FAMILIES["batch"].reference
    precisions = ("int8", "int16", "bf16", "fp32")
    lanes_of = ("t_b", "t_i")
    readings: ClassVar[Mapping[str, str]] = {
        "exact": "all operations, DRAM roofline per layer and phase, buffers from geometry",
        "published": "DarkFPGA's formulas: auxiliary operations as in its 288 ms, capacity-only BRAM, fitted constants",
    }

    def rtl_shape(self, point: Mapping[str, int]) -> RtlShape:
        """Samples, and products of a sample."""
        return RtlShape({"b": ("t_b", point["t_b"]), "n": ("t_i", point["t_i"])})

    def _space(self, workload: Workload, device: Device) -> SearchSpace:
        cost = device.dsp_cost[workload.precision.name]
        lanes = max(int(device.dsp / cost.multiplier_dsp), 1)
        gemms = _gemms(workload.network)
        widest = int(np.max(np.stack([gemms.columns, gemms.filters, gemms.pixels])))
        t_b = np.arange(1, min(workload.batch_size, lanes) + 1)
        t_i = np.arange(1, max(min(widest, lanes, 1024), 1) + 1)
        return SearchSpace(
            (
                Parameter("t_b", t_b, "samples in parallel", "samples"),
                Parameter("t_i", t_i, "side of a GEMM tile: products per sample and cycle", "elements"),
            )
        )

    def _heuristics(self, workload: Workload, device: Device) -> Sequence[dict[str, int]]:
        """The paper's own design (128, 48), and its rule elsewhere: all samples up to 128, then the widest tile."""
        space, cost = self._space(workload, device), device.dsp_cost[workload.precision.name]
        lanes = int(device.dsp / (cost.multiplier_dsp + cost.adder_dsp))
        t_b = min(workload.batch_size, 128, max(lanes, 1), int(space["t_b"].values[-1]))
        widest = min(max(lanes // t_b, 1), int(space["t_i"].values[-1]))
        rounded = widest // 16 * 16 or widest
        return [{"t_b": 128, "t_i": 48}, {"t_b": t_b, "t_i": rounded}]

    def _costs(self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling) -> Costs:
        gemms = _gemms(workload.network)
        rounds = -(-workload.batch_size // point["t_b"])[:, None]
        cycles, words = _gemm_round(workload, point["t_b"], point["t_i"], self._restart(device, reading))
        gemm_bytes = words * workload.precision.bytes
        table = _streams(workload, reading)
        streaming, aux_bytes = _stream_costs(workload, table, point["t_b"], self._restart(device, reading))
        compute = np.int8(BOUNDS.index("compute"))
        return Costs(
            layer=np.concatenate([gemms.layer, table.layer]),
            phase=np.concatenate([gemms.phase, table.phase]),
            cycles=np.concatenate([rounds * cycles, streaming], axis=1),
            dram_bytes=np.concatenate([rounds * gemm_bytes, np.broadcast_to(aux_bytes, streaming.shape)], axis=1),
            bound=np.broadcast_to(compute, (len(rounds), len(gemms.layer) + len(table))),
            tiling={},
        )

    def _totals(self, workload: Workload, device: Device, point: DesignPoint, reading: str, tiling: Tiling) -> Totals:
        """The same sums, with what depends on t_b alone computed once for each value of it."""
        t_b, index = np.unique(point["t_b"], return_inverse=True)
        rounds = -(-workload.batch_size // point["t_b"])
        cycles, words = _gemm_round(workload, point["t_b"], point["t_i"], self._restart(device, reading))
        moved = words.sum(axis=1)
        table = _streams(workload, reading)
        streaming, aux_bytes = _stream_costs(workload, table, t_b, self._restart(device, reading))
        if self._has_roofline(reading):
            per_byte = 1 / device.dram_bytes_per_cycle
            words *= workload.precision.bytes * per_byte
            np.maximum(cycles, words, out=cycles)
            streaming = np.maximum(streaming, aux_bytes * per_byte)
        return Totals(
            rounds * cycles.sum(axis=1) + streaming.sum(axis=1)[index],
            rounds * moved * workload.precision.bytes + aux_bytes.sum(),
        )

    def floor_cycles(self, workload: Workload, device: Device, point: DesignPoint, reading: str = "") -> Float:
        """The cycles themselves [S]: with no inner search they cost as little as any floor."""
        return self._totals(workload, device, point, self._reading(reading), {}).cycles

    def _resources(self, workload: Workload, device: Device, point: DesignPoint, reading: str) -> dict[str, Float]:
        precision, t_b, t_i = workload.precision, point["t_b"], point["t_i"]
        lut, ff = lane_logic(device, precision, t_b * t_i)
        accumulators = _accumulators(device, precision, t_b, t_i)
        if reading == "published":
            dsp = _published_dsp(device, precision, t_b, t_i)
            bits = precision.bits
            words = 4 * t_b * t_i**2 * 2 * bits + 4 * t_i**2 * bits
            bram = (np.ceil(words / _PUBLISHED_BRAM_BITS) + _PUBLISHED_FIX["bram18"]) / 2
            return {"lut": lut, "ff": ff, "dsp": dsp, "bram36": bram, "uram288": accumulators[1]}
        dsp = lane_dsp(device, precision, t_b * t_i) + streaming_dsp(device, precision, t_b)
        # Two operand tiles per sample (activations, errors) and one of weights, double, read t_i words wide.
        bank = bank_bram36(device, 2 * t_i, t_i * precision.bits)
        bram = (2 * t_b + 1) * bank + accumulators[0]
        return {"lut": lut, "ff": ff, "dsp": dsp, "bram36": bram, "uram288": accumulators[1]}

    def _dram_capacity(self, workload: Workload, point: DesignPoint, reading: str) -> float:
        if reading != "published":
            return training_memory(workload, unrolled=True).peak_bytes
        columns = sum(
            layer.in_shape[0] * layer.kernel[0] * layer.kernel[1] * layer.out_shape[1] * layer.out_shape[2]
            for layer in workload.network.layers
            if layer.op in MAC_OPERATIONS and layer.kernel != (1, 1)
        )
        return published_dram_capacity(workload) + workload.batch_size * columns * workload.precision.bytes

    def _losses(
        self, workload: Workload, device: Device, point: DesignPoint, costs: Costs, reading: str, tiling: Tiling
    ) -> dict[str, Float]:
        """Matrices that do not fill their tiles, samples that do not fill a round; the rest of the phases streams."""
        gemms, t_b, t_i = _gemms(workload.network), point["t_b"], point["t_i"][:, None]
        count, macs = len(gemms.layer), phase_macs(workload)
        pixels = np.where(gemms.is_fc, 1, gemms.pixels)
        sizes = {"input_channels": gemms.columns, "output_channels": gemms.filters, "rows": pixels}
        padded = {name: -(-size // t_i) * t_i / size for name, size in sizes.items()}
        padded["rows"] = np.where(gemms.is_fc, 1.0, padded["rows"])
        rounds = (-(-workload.batch_size // t_b))[:, None]
        padded["samples"] = np.broadcast_to(rounds * t_b[:, None] / workload.batch_size, padded["rows"].shape)
        work = gemms.columns * gemms.filters * pixels * gemms.groups / t_i
        busy = rounds * work * padded["input_channels"] * padded["output_channels"] * padded["rows"]
        floor = macs[gemms.layer, gemms.phase] / (t_b[:, None] * t_i)
        lost = {"streams": costs.cycles.copy()}
        lost["streams"][:, :count] = 0.0
        for name, cycles in attributed(busy, floor, padded).items():
            lost[name] = np.zeros(costs.cycles.shape)
            lost[name][:, :count] = cycles
        return lost

    def _restart(self, device: Device, reading: str) -> int:
        return 0 if reading == "published" else device.dma_restart_cycles

    def _has_roofline(self, reading: str) -> bool:
        return reading != "published"


@dataclass(frozen=True)
class _Gemms:
    """Bounds of the K matrix products of a training step, int64 [K]: C*K^2, F and H*W of each layer and phase.

    Those of a transposed convolution are the convolution's that it runs backwards.
    """

    layer: Int
    phase: Int
    columns: Int
    filters: Int
    pixels: Int
    is_fc: NDArray[np.bool_]
    groups: Int
    sums_filters: NDArray[np.bool_]
    """The product sums over the filters: an input gradient, or a transposed convolution forward."""
    per_sample: NDArray[np.bool_]
    """Both factors are other ones for every sample."""


@lru_cache(maxsize=64)
def _gemms(network: Network) -> _Gemms:
    nests, table = loop_nests(network), network.table
    row, transposed = nests.layer, nests.transposed == 1
    sums_filters = np.where(transposed, nests.of_phase("forward"), nests.of_phase("input_grad"))
    channels = np.where(sums_filters, nests.m, nests.n)
    filters = np.where(sums_filters, nests.n, nests.m)
    pixels = np.where(transposed, (table["h"] * table["w"])[row], (table["r"] * table["c"])[row])
    return _Gemms(
        row, nests.phase, channels * nests.taps, filters, pixels, nests.is_fc == 1, nests.groups, sums_filters,
        nests.per_sample == 1,
    )  # fmt: skip


@lru_cache(maxsize=64)
def _gemm_tables(network: Network, sides: int, restart: int) -> tuple[Float, Float, Float]:
    """For every tile side t_i below ``sides``: cycles of one round of samples, and elements moved per sample in
    parallel and by all together, float [sides,K]; row 0 is not used.

    Padded tiles: a tile of t_i^3 products per sample takes t_i^2 cycles (DarkFPGA section IV.C). Each cycle reads one
    value per sample and one weight that all share, a fully connected layer t_i weights; results leave once per
    reduction (section IV.A). The weight gradient, which the paper leaves out, reads activation and error per sample, as
    does a product of two activations in all phases.
    Tiles of a reduction follow each other in DRAM, so that a stream restarts once per output tile (once per row of
    them where maps are single pixels); the ``restart`` cycles are waited for as far as they outlast the tile in the
    other half of the double buffer.
    """
    g = _gemms(network)
    t_i = np.maximum(np.arange(sides), 1)[:, None]

    def pad(x: Int) -> Int:
        return -(-x // t_i) * t_i

    columns, filters = pad(g.columns), pad(g.filters)
    pixels = np.where(g.is_fc, 1, pad(g.pixels))
    cycles = (columns * filters * pixels // t_i).astype(np.float64)
    weight_grad = g.phase == PHASES.index("weight_grad")
    reduction = np.where(weight_grad, pixels, np.where(g.sums_filters, filters, columns))
    leave = t_i / reduction
    per_sample = np.where(g.per_sample, 2.0 + leave, np.where(weight_grad, 2.0, 1.0 + leave))
    shared = np.where(g.per_sample, 0.0, np.where(weight_grad, leave, np.where(g.is_fc, t_i, 1.0)))
    moved = cycles * g.groups * per_sample, cycles * g.groups * shared
    outer = np.where(g.sums_filters, columns, filters) // t_i
    runs = outer * np.where(g.is_fc, 1, np.where(weight_grad, columns, pixels) // t_i)
    waits = runs * np.maximum(restart - np.where(g.is_fc, t_i, t_i * t_i), 0)
    return (cycles + waits) * g.groups, *moved


def _gemm_round(workload: Workload, t_b: Int, t_i: Int, restart: int) -> tuple[Float, Float]:
    """Cycles and elements moved of every matrix product for one round of ``t_b`` samples, float [S,K]."""
    sides = 1 << int(t_i.max(initial=1)).bit_length()
    cycles, per_sample, shared = _gemm_tables(workload.network, sides, restart)
    words = per_sample[t_i]
    words *= t_b[:, None]
    words += shared[t_i]
    return cycles[t_i], words


def _streams(workload: Workload, reading: str) -> StreamTable:
    """The streams of all operations beside the matrix products."""
    overrides = _PUBLISHED if reading == "published" else _AUXILIARY
    return stream_table(workload, overrides)


def _stream_costs(workload: Workload, table: StreamTable, t_b: Int, restart: int) -> tuple[Float, Float]:
    """Cycles [S,A] of streams with ``t_b`` lanes each (section IV.C), a burst a pass, and their DRAM bytes [A]."""
    rounds = -(-workload.batch_size // t_b[:, None])
    parameters = -(-table.longest // t_b[:, None])
    bursts = restart * table.passes * np.where(table.per_sample == 1, rounds, 1)
    cycles = np.where(table.per_sample == 1, rounds * table.longest, parameters) + bursts
    return cycles.astype(np.float64), moved_bytes(workload, table)


def _accumulators(device: Device, precision: Precision, t_b: Int, t_i: Int) -> tuple[Float, Float]:
    """RAMB36 and URAM288 of the double-buffered t_i x t_i running sums of every sample: UltraRAM where it exists."""
    words = 2 * t_i**2
    if device.uram288 > 0:
        per_row = max(_URAM_BITS // precision.accumulator_bits, 1)
        return np.zeros(t_b.shape), np.asarray(t_b * np.ceil(words / (per_row * _URAM_WORDS)))
    return t_b * bank_bram36(device, words, np.asarray(precision.accumulator_bits)), np.zeros(t_b.shape)


def _published_dsp(device: Device, precision: Precision, t_b: Int, t_i: Int) -> Float:
    """Section IV.B: multipliers, the adder trees' levels, and accumulators, plus what the paper's design adds."""
    cost = device.dsp_cost[precision.name]
    levels = np.ceil(np.log2(np.maximum(t_i, 2)))
    adders = t_b * levels + t_b
    return np.asarray(t_b * t_i * cost.multiplier_dsp + adders * cost.adder_dsp + _PUBLISHED_FIX["dsp"])
