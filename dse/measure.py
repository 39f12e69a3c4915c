"""Figures that a validation case asks of a model: the design it describes, estimated once, and ways to read it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dse.device import Device
from dse.devices import load_device
from dse.estimate import Estimate, LayerCosts
from dse.fields import Fields
from dse.model import ParallelismModel, Tiling
from dse.networks import load_network
from dse.offload.measures import OFFLOAD_MEASURES
from dse.power import PowerModel
from dse.registry import family_named
from dse.workload import PHASES, Workload, precision_named

__all__ = ["MEASURES", "Measured", "read_tiling"]


@dataclass(frozen=True)
class Measured:
    """A design of a case, estimated; without a model where the case only repeats a paper's arithmetic."""

    model: ParallelismModel | None = None
    workload: Workload | None = None
    device: Device | None = None
    estimate: Estimate | None = None
    reading: str = ""

    @staticmethod
    def of(case: Fields) -> Measured:
        """Estimate the design that ``case`` describes. Raises InputError where it is malformed."""
        device = load_device(case.string("device")) if "device" in case else None
        if "network" not in case:
            return Measured(device=device)
        precision = precision_named(case.string("precision"))
        workload = Workload(load_network(case.string("network")), case.integer("batch_size"), precision)
        assert device is not None or case.string("device")
        assert device is not None
        if "family" not in case:
            return Measured(workload=workload, device=device)
        model, reading = family_named(case.string("family")), case.string("reading")
        tiling = read_tiling(case.table("tiling", required=False))
        table = case.table("point")
        point = {name: table.integer(name, minimum=1) for name in table.keys()}  # noqa: SIM118
        space = model.space(workload, device)
        buffers_for = getattr(model, "buffers_for", None)
        if buffers_for is not None and set(point) != set(space.names):
            point |= {k: v for k, v in buffers_for(workload, device, point, tiling, reading).items() if k not in point}
        estimate = model.evaluate(workload, device, space.as_point(point), reading=reading, detail=True, tiling=tiling)
        return Measured(model, workload, device, estimate, reading)

    def figure(self, entry: Fields) -> float:
        """The figure that ``entry`` names with its ``measure`` key."""
        return float(MEASURES[entry.string("measure", choices=tuple(MEASURES))](self, entry))

    @property
    def layers(self) -> LayerCosts:
        """Per-layer figures of the estimate."""
        assert self.estimate is not None
        assert self.estimate.layers is not None
        return self.estimate.layers


def read_tiling(table: Fields) -> Tiling:
    """Tables layer -> phase -> tile -> size as a Tiling. Raises InputError for a key that is no such table."""
    tiling: dict[tuple[str, str], Mapping[str, int]] = {}
    for layer in table.keys():  # noqa: SIM118
        phases = table.table(layer)
        for phase in phases.keys():  # noqa: SIM118
            tiles = phases.table(phase)
            tiling[layer, phase] = {tile: tiles.integer(tile, minimum=1) for tile in tiles.keys()}  # noqa: SIM118
    return tiling


def _cycles(measured: Measured, entry: Fields) -> float:
    """Cycles of the named phases of the named layers, or of all layers with an operation."""
    assert measured.workload is not None
    phases = [PHASES.index(p) for p in entry.strings("phases", PHASES)]
    names, ops = entry.strings("layers", ()), entry.strings("ops", ())
    chosen = [i for i, x in enumerate(measured.workload.network.layers) if x.name in names or x.op in ops]
    return float(measured.layers.cycles[np.ix_(chosen, phases)].sum())


def _seconds(measured: Measured) -> float:
    assert measured.estimate is not None
    return float(measured.estimate.iteration_s)


def _gops(measured: Measured, entry: Fields) -> float:
    assert measured.workload is not None
    return measured.workload.network.training_flop * measured.workload.batch_size / _seconds(measured) / 1e9


def _ms_per_sample(measured: Measured, entry: Fields) -> float:
    assert measured.workload is not None
    return _seconds(measured) * 1e3 / measured.workload.batch_size


def _resource(name: str, scale: float = 1.0) -> Callable[[Measured, Fields], float]:
    def read(measured: Measured, entry: Fields) -> float:
        assert measured.estimate is not None
        return float(measured.estimate.resources[name]) * scale

    return read


def _energy(measured: Measured, entry: Fields) -> float:
    assert measured.estimate is not None
    return float(measured.estimate.energy_j)


def _power_fit(measured: Measured, entry: Fields) -> float:
    """The device's power model at one of the measurements it was fitted to."""
    assert measured.device is not None
    designs = {m.design: m for m in measured.device.power}
    one = designs[entry.string("design", choices=tuple(designs))]
    watts = PowerModel.of(measured.device).watts(np.asarray(one.dsp), np.asarray(one.bram36), one.clock_hz)
    return float(watts)


def _factors(entry: Fields, key: str) -> list[float]:
    return [factor.number("value") for factor in entry.tables(key, required=False)]


def _product(measured: Measured, entry: Fields) -> float:
    """The product of the ``times`` over that of the ``over`` figures, all from the paper itself."""
    return math.prod(_factors(entry, "times")) / math.prod(_factors(entry, "over"))


def _largest_batch(measured: Measured, entry: Fields) -> float:
    """The largest power of two of samples whose maps, errors and weights fit the board's DRAM."""
    assert measured.model is not None
    assert measured.workload is not None
    assert measured.device is not None
    most = measured.model.largest_batch(measured.workload, measured.device, reading=measured.reading)
    return float(1 << (most.bit_length() - 1) if most else 0)


def _ordered(measured: Measured, entry: Fields) -> float:
    """Share of neighbours in ``points``, listed fastest first by the paper, that the model orders likewise."""
    assert measured.model is not None
    assert measured.workload is not None
    assert measured.device is not None
    tables = entry.tables("points")
    columns = {name: np.array([t.integer(name) for t in tables]) for name in tables[0].keys()}  # noqa: SIM118
    times = measured.model.evaluate(measured.workload, measured.device, columns, reading=measured.reading)
    return float(np.mean(np.diff(times.iteration_s) > 0))


MEASURES: Mapping[str, Callable[[Measured, Fields], float]] = {
    "cycles": _cycles,
    "iteration_ms": lambda measured, entry: _seconds(measured) * 1e3,
    "ms_per_sample": _ms_per_sample,
    "gops": _gops,
    "dsp": _resource("dsp"),
    "bram36": _resource("bram36"),
    "bram18": _resource("bram36", 2.0),
    "uram288": _resource("uram288"),
    "energy_j": _energy,
    "power_fit": _power_fit,
    "product": _product,
    "largest_batch": _largest_batch,
    "ordered": _ordered,
    **OFFLOAD_MEASURES,
}
"""Measure name -> reader of (design, row); a row names one."""
