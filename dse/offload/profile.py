"""Measured operations: time and power on a GPU and on an FPGA, and what an operation moves."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from dse.errors import InputError, did_you_mean
from dse.offload.csv_table import Row, read_csv, shipped
from dse.workload import PHASES

__all__ = ["PROFILES", "Cost", "OpProfile", "Profile", "load_profile"]

PROFILES = {"hype_table1": "Hype-training (ICS 2021), Table 1: V100 against three Stratix 10"}
"""Names of profiles that come with the package -> what they are."""

_REQUIRED = ("op", "gpu_ms", "gpu_w")
_OPTIONAL = (
    "size", "layer", "phase", "calls", "gpu_peak_w", "gpu_dram_gb_per_s", "gpu_ipc", "fpga_ms", "fpga_w",
    "fpga_peak_w", "link_mb",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """One call of an operation on one kind of device; power in watts is the device's while it runs the operation."""

    seconds: float
    watts: float
    peak_watts: float

    @property
    def joules(self) -> float:
        """Energy of the call."""
        return self.seconds * self.watts


@dataclass(frozen=True, slots=True)
class OpProfile:
    """One measured operation. Unknown figures are NaN; ``fpga`` is None where it was not measured there."""

    op: str
    size: str
    gpu: Cost
    fpga: Cost | None
    gpu_dram_bytes_per_s: float = math.nan
    gpu_ipc: float = math.nan
    link_bytes: float = math.nan
    """Bytes between the GPU's and the FPGA's memory if the operation is offloaded and its neighbours are not."""
    calls: int = 1
    """Times an iteration runs it."""
    layer: str = ""
    phase: str = ""

    @property
    def name(self) -> str:
        """``MatMul small``, or ``conv1 forward`` where the operation is one layer's."""
        return f"{self.layer} {self.phase}" if self.layer else f"{self.op} {self.size}".strip()

    @property
    def moved_bytes(self) -> float:
        """``link_bytes`` where given; else the DRAM traffic on the GPU (bandwidth times time), an upper bound."""
        if not math.isnan(self.link_bytes):
            return self.link_bytes
        return self.gpu_dram_bytes_per_s * self.gpu.seconds


@dataclass(frozen=True)
class Profile:
    """Operations in file order and the document they are from."""

    operations: tuple[OpProfile, ...]
    source: str

    @property
    def least_fpga_w(self) -> float:
        """The lowest mean FPGA power among the operations, in watts: an idle FPGA draws no more. NaN without one."""
        return min((o.fpga.watts for o in self.operations if o.fpga is not None), default=math.nan)

    def with_fpga_power(self, factor: float) -> Profile:
        """The same operations with FPGA powers multiplied by ``factor``."""
        return replace(self, operations=tuple(_with_fpga_power(o, factor) for o in self.operations))


def load_profile(reference: str | Path) -> Profile:
    """The profile of a CSV file, or the shipped one of that name (see PROFILES).

    Columns: op, gpu_ms, gpu_w; optional size, layer and phase (one layer's operation), calls, gpu_peak_w,
    gpu_dram_gb_per_s, gpu_ipc, fpga_ms and fpga_w (both or neither), fpga_peak_w, link_mb. Decimal units; an empty
    cell is unknown. Raises InputError, one line, naming file, line and column.
    """
    path = Path(reference)
    if str(reference) in PROFILES and not path.exists():
        path = shipped(str(reference))
    elif not path.suffix and not path.exists():
        raise InputError("profile", "unknown profile", str(reference), did_you_mean(str(reference), PROFILES))
    table = read_csv(path, _REQUIRED, _OPTIONAL)
    seen: dict[str, str] = {}
    operations = []
    for row in table.rows:
        operation = _operation(row)
        if operation.name in seen:
            raise row.error("op", f"stands already in {seen[operation.name]}", operation.name)
        seen[operation.name] = row.where.rpartition(": ")[2]
        operations.append(operation)
    return Profile(tuple(operations), table.source)


def _operation(row: Row) -> OpProfile:
    layer, phase = row.text("layer", ""), row.text("phase", "")
    if bool(layer) != bool(phase):
        raise row.error("layer", "a row has both layer and phase, or neither", f"{layer!r} and {phase!r}")
    if phase and phase not in PHASES:
        raise row.error("phase", "unknown phase", phase, did_you_mean(phase, PHASES))
    return OpProfile(
        op=row.text("op"),
        size=row.text("size", ""),
        gpu=_cost(row, "gpu"),
        fpga=_fpga(row),
        gpu_dram_bytes_per_s=row.number("gpu_dram_gb_per_s", math.nan) * 1e9,
        gpu_ipc=row.number("gpu_ipc", math.nan),
        link_bytes=row.number("link_mb", math.nan, positive=False) * 1e6,
        calls=row.whole("calls", 1),
        layer=layer,
        phase=phase,
    )


def _fpga(row: Row) -> Cost | None:
    given = [column for column in ("fpga_ms", "fpga_w") if row.cells.get(column)]
    if not given:
        return None
    if len(given) == 1:
        raise row.error("fpga_ms", "fpga_ms and fpga_w are given together or not at all", f"only {given[0]}")
    return _cost(row, "fpga")


def _cost(row: Row, kind: str) -> Cost:
    watts = row.number(f"{kind}_w")
    peak = row.number(f"{kind}_peak_w", watts)
    if peak < watts:
        raise row.error(f"{kind}_peak_w", "is below the mean power", peak, f">= {watts:g}")
    return Cost(row.number(f"{kind}_ms") / 1e3, watts, peak)


def _with_fpga_power(operation: OpProfile, factor: float) -> OpProfile:
    fpga = operation.fpga
    if fpga is None:
        return operation
    return replace(operation, fpga=Cost(fpga.seconds, fpga.watts * factor, fpga.peak_watts * factor))
