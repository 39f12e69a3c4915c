"""Verifying an emitted folder: every layer and phase through the simulated accelerator, beside what was predicted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.device import Device
from dse.emit.design import DESIGN_FILE, Design, load_design
from dse.emit.files import sha256
from dse.engine import Convolution
from dse.engine.layers import EngineLayer, engine_layers
from dse.errors import InputError, did_you_mean
from dse.network import Layer, Network
from dse.registry import family_named
from dse.schema import plain
from dse.verify.case import Case, Outcome, run_case
from dse.verify.dram import Dram
from dse.verify.integrity import check_files
from dse.verify.lint import lint
from dse.verify.scaling import scaled
from dse.verify.simulator import build_simulator
from dse.workload import PHASES, Workload

__all__ = ["REPORT", "Settings", "Verification", "simulated_board", "verify"]

REPORT = "verify.json"
"""File in the emitted folder that says what a verification found."""


@dataclass(frozen=True)
class Settings:
    """What to run: layers by name (none: all), cycles that a phase may take, the memory, the operands' seed."""

    layers: Sequence[str] = ()
    max_cycles: int = 100_000
    dram: Dram = field(default_factory=Dram)
    seed: int = 1


@dataclass(frozen=True)
class Verified:
    """One phase of one layer."""

    layer: str
    phase: str
    conv: Convolution
    is_scaled: bool
    """Whether it is smaller than the network's."""
    lanes: int
    model_cycles: float
    """What the family predicts for this size on a board with the simulated memory."""
    outcome: Outcome

    @property
    def utilisation(self) -> float:
        """Useful multiplications over lanes and cycles."""
        return self.conv.macs / (self.lanes * max(self.outcome.cycles, 1))

    def content(self) -> dict[str, Any]:
        """In JSON types."""
        conv, outcome = self.conv, self.outcome
        shape = {"batch": conv.batch, "n": conv.n, "m": conv.m, "size": conv.size, "groups": conv.window.groups}
        shape |= {"kernel": conv.window.kernel, "stride": conv.window.stride, "padding": conv.window.padding}
        out: dict[str, Any] = plain(
            {
                "layer": self.layer,
                "phase": self.phase,
                "shape": shape,
                "scaled": self.is_scaled,
                "exact": outcome.exact,
                "difference": outcome.difference,
                "simulated_cycles": outcome.cycles,
                "lane_cycles": outcome.steps,
                "predicted_cycles": outcome.predicted_cycles,
                "model_cycles": self.model_cycles,
                "mac_utilisation": self.utilisation,
                "read_bytes": outcome.read_bytes,
                "written_bytes": outcome.written_bytes,
            }
        )
        return out


@dataclass(frozen=True)
class Verification:
    """All of a folder; ``interrupted`` where the user stopped it."""

    design: Design
    design_digest: str
    """SHA-256 of the folder's design.json."""
    settings: Settings
    rows: tuple[Verified, ...]
    interrupted: bool = False

    @property
    def exact(self) -> bool:
        """Whether every phase that ran left the DRAM that it should."""
        return all(row.outcome.exact for row in self.rows)

    def content(self) -> dict[str, Any]:
        """``verify.json``, in JSON types."""
        dram, design = self.settings.dram, self.design
        return {
            "title": design.title,
            "design_sha256": self.design_digest,
            "network": design.workload.network.name,
            "device": design.device.name,
            "batch_size": design.workload.batch_size,
            "precision": design.workload.precision.name,
            "family": design.family,
            "point": dict(design.point),
            "lanes": design.engine.lanes,
            "exact": self.exact,
            "interrupted": self.interrupted,
            "seed": self.settings.seed,
            "max_cycles": self.settings.max_cycles,
            "dram": {"latency_cycles": dram.latency, "stall": dram.stall, "bytes_per_kcycle": dram.bytes_per_kcycle},
            "phases": [row.content() for row in self.rows],
        }


def verify(
    folder: Path, settings: Settings, on_progress: Callable[[str, int, int], None] | None = None
) -> Verification:
    """Check hashes, lint, compile, simulate and compare; writes ``verify.json`` into the folder.

    ``on_progress`` is told the step, and how many of how many are done. Raises InputError for a folder that is not as
    it was written and for an unknown layer, ToolError where a linter or compiler complains.
    """
    say = on_progress or (lambda step, done, total: None)
    design, hashes = load_design(folder)
    check_files(folder, hashes)
    todo = [(item, phase) for item in _chosen(design, settings.layers) for phase in item.phases]
    say("lint", 0, len(todo))
    lint(folder)
    say("build", 0, len(todo))
    library = build_simulator(folder)
    rows: list[Verified] = []
    interrupted = False
    try:
        rows.extend(_rows(design, settings, library, todo, say))
    except KeyboardInterrupt:
        interrupted = True
    digest = sha256((folder / DESIGN_FILE).read_bytes())
    result = Verification(design, digest, settings, tuple(rows), interrupted)
    (folder / REPORT).write_text(json.dumps(result.content(), indent=2) + "\n", encoding="utf-8")
    return result


def _chosen(design: Design, names: Sequence[str]) -> list[EngineLayer]:
    layers = {item.layer.name: item for item in engine_layers(design.workload.network, design.workload.batch_size)}
    for name in names:
        if name not in layers:
            raise InputError("--layer", "the engine runs no layer of this name", name, did_you_mean(name, layers))
    return [item for name, item in layers.items() if not names or name in names]


def _rows(
    design: Design,
    settings: Settings,
    library: Path,
    todo: Sequence[tuple[EngineLayer, str]],
    say: Callable[[str, int, int], None],
) -> Iterator[Verified]:
    hw, board = design.engine, simulated_board(design, settings.dram)
    for number, (item, phase) in enumerate(todo):
        say(f"{item.layer.name} {phase}", number, len(todo))
        conv = scaled(hw, item.conv, item.phases, settings.max_cycles)
        case = Case(conv, phase, settings.seed + number, replace(settings.dram, seed=settings.seed + number))
        outcome = run_case(library, hw, case)
        model = _model_cycles(design, board, item.layer, conv, phase)
        yield Verified(item.layer.name, phase, conv, conv != item.conv, hw.lanes, model, outcome)


_STREAMS = 3
"""Channels of the accelerator that move data at the same time: two of reads, one of writes."""


def simulated_board(design: Design, dram: Dram) -> Device:
    """The board with the simulated memory. Bursts that are under way together hide what a break in addresses costs."""
    clock_hz = design.device.clock_hz
    bytes_per_cycle = dram.bytes_per_kcycle / 1000 or _STREAMS * design.engine.beat_bytes
    return replace(
        design.device,
        dma_ports=_STREAMS,
        dma_port_bits=design.engine.data_bits,
        dma_restart_cycles=0,
        dram_bytes_per_s=bytes_per_cycle * clock_hz,
    )


def _model_cycles(design: Design, board: Device, layer: Layer, conv: Convolution, phase: str) -> float:
    """The family's estimate for this phase of a network of this layer alone on ``board``."""
    taps = conv.window.kernel[0] * conv.window.kernel[1]
    shape_in, shape_out = (conv.n, *conv.size), (conv.m, *conv.out_size)
    alone = replace(
        layer,
        inputs=("input",),
        in_shape=shape_in if layer.op == "conv" else (conv.n * taps, 1, 1),
        out_shape=shape_out,
        groups=conv.window.groups,
        parameters=conv.m * conv.group_n * taps,
    )
    network = Network(layer.name, design.workload.network.source, alone.in_shape, (alone,))
    workload = Workload(network, conv.batch, design.workload.precision)
    point = {name: np.asarray(value) for name, value in design.point.items()}
    estimate = family_named(design.family).evaluate(workload, board, point, reading=design.reading, detail=True)
    assert estimate.layers is not None
    return float(estimate.layers.cycles[0, PHASES.index(phase)])
