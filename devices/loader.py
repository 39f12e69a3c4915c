"""Boards: finding a device file by name or path, and turning it into a `Device` or a one-line error."""

from __future__ import annotations

import hashlib
import os
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from dse.device import Device, OperatorCost, PowerMeasurement
from dse.errors import InputError, did_you_mean
from dse.fields import Fields, read_toml

__all__ = ["ENTRY_POINT_GROUP", "PRECISIONS", "list_devices", "load_device"]

ENTRY_POINT_GROUP = "dse.devices"
"""Entry-point group through which other distributions add boards."""

PRECISIONS = ("int8", "int16", "bf16", "fp32")
"""Data types a file may give operator costs for; the ones a board lacks are left out."""

_VENDORS = ("xilinx", "intel")
_RESOURCES = ("lut", "ff", "dsp", "bram36", "uram288")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MAX_COUNT = 10**8
_MAX_BYTES = 10**15
_MAX_PORT_BITS = 2**16
_MAX_CYCLES = 10**7
_MAX_PORTS = 1024


def list_devices() -> dict[str, Path]:
    """Board name -> its TOML file, sorted by name: the shipped boards and those of installed entry points.

    Raises InputError for an entry point that fails, that gives no existing file or that repeats a name.
    """
    found = {path.stem: path for path in Path(__file__).parent.glob("*.toml")}
    for point in metadata.entry_points(group=ENTRY_POINT_GROUP):
        where = f"entry point {point.name!r} of group {ENTRY_POINT_GROUP!r}"
        if point.name in found:
            raise InputError(where, "repeats the name of another device", allowed="a name that is not taken")
        found[point.name] = _entry_point_path(point, where)
    return dict(sorted(found.items()))


def load_device(name_or_path: str | Path) -> Device:
    """The board of that name, or of that file where the text ends in .toml or holds a path separator.

    Raises InputError for an unknown name, an unreadable file and every rule a device file can break.
    """
    if isinstance(name_or_path, Path):
        return _read_device(name_or_path)
    if not isinstance(name_or_path, str):
        raise InputError("device", "must be a name or a path", name_or_path)
    separators = {"/", os.sep, os.altsep} - {None}
    if name_or_path.endswith(".toml") or any(s in name_or_path for s in separators if s):
        return _read_device(Path(name_or_path))
    known = list_devices()
    if name_or_path not in known:
        raise InputError("device", "unknown device", name_or_path, did_you_mean(name_or_path, known))
    return _read_device(known[name_or_path])


def _entry_point_path(point: metadata.EntryPoint, where: str) -> Path:
    """The file an entry point names: itself a str or Path, or a callable that returns one."""
    try:
        target = point.load()
        if callable(target):
            target = target()
    except Exception as error:
        raise InputError(where, f"failed: {type(error).__name__}: {error}") from error
    if not isinstance(target, str | Path):
        raise InputError(where, "must give the path of a TOML file", target, "str, Path or a callable returning one")
    path = Path(target)
    try:
        exists = path.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise InputError(where, "names a file that does not exist", str(path))
    return path


def _read_device(path: Path) -> Device:
    """The board of one file."""
    fields = read_toml(path)
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
    return _device(fields, str(path), digest)


def _device(fields: Fields, path: str, digest: str) -> Device:
    """Every key of the file checked; the tables are closed before the sources so that a misspelt key is named first."""
    name = fields.string("name")
    if not _NAME.fullmatch(name):
        raise fields.error("name", "must be letters, digits, '_', '.' or '-'", name)
    part = fields.string("part")
    vendor = fields.string("vendor", choices=_VENDORS)
    tables = {key: fields.table(key) for key in ("resources", "clock", "dram", "dma", "usable")}
    cost_table = fields.table("dsp_cost")
    power_tables = fields.tables("power", required=False)
    source_table = fields.table("sources")
    fields.close()
    counts = _resources(tables["resources"], vendor)
    clock_hz = tables["clock"].number("hz", positive=True)
    dram_bytes = tables["dram"].integer("bytes", minimum=1, maximum=_MAX_BYTES)
    dram_bytes_per_s = tables["dram"].number("bytes_per_s", positive=True)
    ports = tables["dma"].integer("ports", minimum=1, maximum=_MAX_PORTS)
    port_bits = _port_bits(tables["dma"])
    restart_cycles = tables["dma"].integer("restart_cycles", minimum=0, maximum=_MAX_CYCLES)
    usable = _usable(tables["usable"], vendor)
    for table in tables.values():
        table.close()
    costs = _dsp_costs(cost_table)
    leaves = [f"{table}.{key}" for table, content in tables.items() for key in content.keys()]  # noqa: SIM118
    leaves += [f"dsp_cost.{precision}.{key}" for precision in costs for key in ("multiplier", "adder")]
    return Device(
        name=name,
        part=part,
        vendor=vendor,
        **counts,
        clock_hz=clock_hz,
        dram_bytes=dram_bytes,
        dram_bytes_per_s=dram_bytes_per_s,
        dma_ports=ports,
        dma_port_bits=port_bits,
        dma_restart_cycles=restart_cycles,
        dsp_cost=costs,
        usable=usable,
        power=tuple(_power(table, counts) for table in power_tables),
        sources=_sources(source_table, leaves),
        path=path,
        digest=digest,
    )


def _resources(table: Fields, vendor: str) -> dict[str, Any]:
    """Chip totals in `Device` terms: lut, ff, dsp, bram36, uram288."""
    other = ("alm", "m20k") if vendor == "xilinx" else ("lut", "ff", "bram36", "uram288")
    for key in other:
        if key in table:
            own = "lut, ff, dsp, bram36, uram288" if vendor == "xilinx" else "alm, m20k, dsp"
            raise table.error(key, f"is not a resource of vendor {vendor!r}", allowed=own)
    if vendor == "intel":
        alm = table.integer("alm", minimum=1, maximum=_MAX_COUNT)
        m20k = table.integer("m20k", maximum=_MAX_COUNT)
        dsp = table.integer("dsp", maximum=_MAX_COUNT)
        return {"lut": 2 * alm, "ff": 4 * alm, "dsp": dsp, "bram36": m20k / 2, "uram288": 0}
    return {
        "lut": table.integer("lut", minimum=1, maximum=_MAX_COUNT),
        "ff": table.integer("ff", minimum=1, maximum=_MAX_COUNT),
        "dsp": table.integer("dsp", maximum=_MAX_COUNT),
        "bram36": float(table.integer("bram36", maximum=_MAX_COUNT)),
        "uram288": table.integer("uram288", maximum=_MAX_COUNT),
    }


def _port_bits(table: Fields) -> int:
    """Width of one memory port in bits, whole bytes."""
    bits = table.integer("port_bits", minimum=8, maximum=_MAX_PORT_BITS)
    if bits % 8:
        raise table.error("port_bits", "must be a multiple of 8", bits)
    return bits


def _usable(table: Fields, vendor: str) -> dict[str, float]:
    """Resource name -> share, 0 to 1. An Intel file gives none for uram288, which Intel chips lack."""
    shares = {}
    for key in _RESOURCES:
        if key == "uram288" and vendor == "intel":
            if key in table:
                raise table.error(key, "is not a resource of vendor 'intel'", allowed="lut, ff, dsp, bram36")
            shares[key] = 1.0
            continue
        shares[key] = table.number(key)
        if shares[key] > 1.0:
            raise table.error(key, "is a share of the chip", shares[key], "0 to 1")
    return shares


def _dsp_costs(table: Fields) -> dict[str, OperatorCost]:
    """Precision -> DSP blocks of its multiplier and its adder, in the order of PRECISIONS."""
    costs = {}
    for precision in PRECISIONS:
        if precision in table:
            entry = table.table(precision)
            costs[precision] = OperatorCost(entry.number("multiplier"), entry.number("adder"))
            entry.close()
    for key in table.keys():  # noqa: SIM118
        if key not in PRECISIONS:
            raise table.error(key, "unknown precision", allowed=did_you_mean(key, PRECISIONS))
    if not costs:
        raise InputError(table.where, "needs at least one precision", allowed=", ".join(PRECISIONS))
    return costs


def _power(table: Fields, counts: dict[str, Any]) -> PowerMeasurement:
    """One published measurement, which cannot use more than the chip has."""
    used = {key: table.number(key) for key in ("dsp", "bram36")}
    for key, value in used.items():
        if value > counts[key]:
            raise table.error(key, "is more than the chip has", value, f"0 to {counts[key]:g}")
    measurement = PowerMeasurement(
        design=table.string("design"),
        dsp=used["dsp"],
        bram36=used["bram36"],
        clock_hz=table.number("clock_hz", positive=True),
        watts=table.number("watts", positive=True),
        source=_source(table, "source"),
    )
    table.close()
    return measurement


def _source(table: Fields, key: str) -> str:
    """A source text; one that begins with ``assumed:`` must go on to say on what basis."""
    text = table.string(key)
    if text.strip().lower() == "assumed:":
        raise table.error(key, "must say on what basis the figure is assumed", text)
    return text


def _sources(table: Fields, leaves: list[str]) -> dict[str, str]:
    """Numeric key -> source: its own entry, else that of the nearest table around it."""
    tables = {leaf.rsplit(".", n)[0] for leaf in leaves for n in range(1, leaf.count(".") + 1)}
    known = set(leaves) | tables
    given = {}
    for key in table.keys():  # noqa: SIM118
        if key not in known:
            hint = did_you_mean(key, known)
            raise table.error(key, "is a source for a key that the file does not have", allowed=hint)
        given[key] = _source(table, key)
    found = {}
    for leaf in leaves:
        parts = leaf.split(".")
        chain = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
        text = next((given[key] for key in chain if key in given), None)
        if text is None:
            raise table.error(f'"{leaf}"', "required source is missing", allowed=f"a source for {' or '.join(chain)}")
        found[leaf] = text
    return found
