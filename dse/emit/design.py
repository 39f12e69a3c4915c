"""``design.json``: what an emitted folder realises, what was predicted for it, and the hashes of its files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dse._version import __version__
from dse.device import Device, OperatorCost, PowerMeasurement
from dse.emit.buffers import Resized, resized
from dse.emit.chip import accelerator_resources, check_fits, chip_resources, yosys_family
from dse.emit.choice import Choice
from dse.emit.parameters import LEAST_SCHEDULE, accelerator_parameters, engine_parameters
from dse.engine import EngineParameters
from dse.engine.resources import Resources
from dse.errors import InputError
from dse.network import Layer, Network
from dse.registry import family_named
from dse.results import Cell
from dse.schedule import Hardware, Schedule, build_schedule, least_hardware
from dse.schedule.address_map import engine_tensors, plain_map
from dse.schema import estimate_json, plain
from dse.workload import OPTIMISERS, PRECISIONS, Workload, optimiser_named, precision_named

__all__ = ["DESIGN_FILE", "Design", "design_of", "load_design", "realised", "workload_of"]

DESIGN_FILE = "design.json"
_FORMAT = 2
"""Version of design.json; raised when a key changes its meaning or goes."""


@dataclass(frozen=True)
class Design:
    """One accelerator: the task, the point, and the parameters of its RTL."""

    workload: Workload
    device: Device
    family: str
    reading: str
    point: Mapping[str, int]
    engine: EngineParameters
    prediction: Mapping[str, Any]
    """The family's estimate, layer by layer (``dse.schema.estimate_json``)."""
    ranking: Mapping[str, Any] | None = None
    """Why this point (``dse.emit.Ranking.content``); None where it was asked for."""

    @property
    def parameters(self) -> dict[str, int]:
        """Parameter of ``accelerator.sv`` -> value."""
        return accelerator_parameters(self.hardware, self.schedule)

    @cached_property
    def hardware(self) -> Hardware:
        """The engine and the other units that the network needs."""
        return least_hardware(self.workload.network, self.engine, self.workload.optimiser.name)

    @property
    def schedule(self) -> Schedule | None:
        """The training iteration; None where ``unscheduled`` says why there is none."""
        found = self._schedule
        return found if isinstance(found, Schedule) else None

    @property
    def unscheduled(self) -> str:
        """Why the accelerator runs single layers only; empty where it trains the network."""
        found = self._schedule
        return "" if isinstance(found, Schedule) else found

    @cached_property
    def _schedule(self) -> Schedule | str:
        try:
            return build_schedule(self.workload, self.hardware)
        except InputError as error:
            return str(error)

    @property
    def predicted_s(self) -> float:
        """Seconds of an iteration on the RTL with an ideal memory; infinite where it does not train the network."""
        return self.schedule.cycles / self.device.clock_hz if self.schedule else math.inf

    @property
    def resources(self) -> dict[str, float]:
        """What the RTL takes of the chip (``dse.emit.chip.chip_resources``)."""
        return chip_resources(self._used, self.device, self.engine.operand_bits)

    def check_fits(self) -> None:
        """Raises InputError where the RTL takes more of a resource than the board's file allows."""
        check_fits(self._used, self.device, self.engine.operand_bits)

    @property
    def _used(self) -> Resources:
        depth = self.parameters["ScheduleDepth"]
        return accelerator_resources(self.hardware, depth, yosys_family(self.device.part))

    @property
    def resized(self) -> tuple[Resized, ...]:
        """Buffers whose depth is not the point's."""
        return resized(family_named(self.family).rtl_shape(self.point), self.engine)

    @property
    def title(self) -> str:
        """One line that names it."""
        values = ", ".join(f"{name}={value}" for name, value in self.point.items())
        task = f"{self.workload.network.name}, batch {self.workload.batch_size}, {self.workload.precision.name}"
        return f"{task} on {self.device.name}, {self.family} {values}"

    def content(self) -> dict[str, Any]:
        """``design.json`` without the hashes, in JSON types."""
        network, schedule = self.workload.network, self.schedule
        device = {k: v for k, v in asdict(self.device).items() if k not in ("path", "sources", "power")}
        out: dict[str, Any] = plain(
            {
                "format": _FORMAT,
                "written_by": f"dse {__version__}",
                "network": {
                    "name": network.name,
                    "source": network.source,
                    "input_shape": network.input_shape,
                    "digest": network.digest,
                    "layers": [asdict(layer) for layer in network.layers],
                },
                "batch_size": self.workload.batch_size,
                "precision": self.workload.precision.name,
                "optimiser": self.workload.optimiser.name,
                "device": device,
                "family": self.family,
                "reading": self.reading,
                "point": dict(self.point),
                "engine": asdict(self.engine),
                "parameters": self.parameters,
                "lanes": self.engine.lanes,
                "resources": self.resources,
                "resized": [asdict(buffer) for buffer in self.resized],
                "address_map": plain_map(schedule.tensors if schedule else engine_tensors(self.workload, self.engine)),
                "schedule": schedule.content() if schedule else {"missing": self.unscheduled},
                "prediction": dict(self.prediction),
                "ranking": self.ranking,
            }
        )
        return out


def design_of(choice: Choice, network: Network, device: Device) -> Design:
    """The design of a chosen point. Raises InputError where the RTL cannot realise it."""
    design = realised(choice, network, device)
    point = {name: np.asarray(value) for name, value in choice.point.items()}
    model, workload = family_named(design.family), design.workload
    estimate = model.evaluate(workload, device, point, reading=design.reading, detail=True)
    return replace(design, prediction=estimate_json(workload, estimate))


def realised(choice: Choice, network: Network, device: Device) -> Design:
    """Likewise, without the family's estimate."""
    cell, shape = choice.cell, family_named(choice.cell.family).rtl_shape(choice.point)
    workload = workload_of(cell, network)
    engine = engine_parameters(shape, workload, device)
    design = Design(workload, device, cell.family, cell.reading, choice.point, engine, {})
    depth = design.parameters["ScheduleDepth"]
    if depth > LEAST_SCHEDULE["ScheduleDepth"]:
        again = engine_parameters(shape, workload, device, depth)
        design = design if again == engine else replace(design, engine=again)
    design.check_fits()
    return design


def workload_of(cell: Cell, network: Network) -> Workload:
    """What ``cell`` was searched for."""
    return Workload(network, cell.batch_size, precision_named(cell.precision), optimiser_named(cell.optimiser))


def load_design(folder: Path) -> tuple[Design, dict[str, str]]:
    """The design of an emitted folder, and file name -> SHA-256 as it was written. Raises InputError."""
    path = folder / DESIGN_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise InputError(str(path), "has another format", content["format"], _FORMAT)
        design = Design(
            Workload(
                _network(content["network"]),
                content["batch_size"],
                PRECISIONS[content["precision"]],
                OPTIMISERS[content["optimiser"]],
            ),
            _device(content["device"]),
            content["family"],
            content["reading"],
            content["point"],
            EngineParameters(**content["engine"]),
            content["prediction"],
            content.get("ranking"),
        )
        return design, dict(content["files"])
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(str(path), f"is no design of dse emit: {type(error).__name__} {error}") from error


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _network(content: Mapping[str, Any]) -> Network:
    layers = tuple(Layer(**{key: _tuples(value) for key, value in row.items()}) for row in content["layers"])
    shape = _tuples(content["input_shape"])
    return Network(content["name"], content["source"], shape, layers, digest=content["digest"])


def _device(content: Mapping[str, Any]) -> Device:
    costs = {name: OperatorCost(**cost) for name, cost in content["dsp_cost"].items()}
    no_power: tuple[PowerMeasurement, ...] = ()
    return Device(**{**content, "dsp_cost": costs}, power=no_power, sources={})
