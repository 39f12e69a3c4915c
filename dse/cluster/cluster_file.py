"""Cluster files: one TOML file a cluster, groups of equal boards behind one switch."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from dse.cluster.hardware import Cluster, Node
from dse.device import Device
from dse.devices import load_device
from dse.errors import InputError, did_you_mean
from dse.fields import Fields, read_toml

__all__ = ["MAX_NODES", "list_clusters", "load_cluster"]

MAX_NODES = 64
"""Nodes of a cluster; the placement has a Boolean for every layer and node."""

RAM_SHARE = 35 / 55
"""Share of a chip's block RAM bits that is planned with where a file says nothing: NADA 2023, Table IV (35 of 55 Mb).

Bits are a poor proxy for blocks of a fixed shape, and the network stack and interconnect are not in the layers' figures
(NADA, section V).
"""

# Bits of half a block: RAMB18 with parity (UG473 table 1-7) and M20K (UG-M20K); an UltraRAM block has 288 Kb (UG573).
_HALF_BLOCK_BITS = {"xilinx": 18 * 1024, "intel": 20 * 1024}
_URAM_BITS = 288 * 1024
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def list_clusters() -> dict[str, Path]:
    """Name -> file of every shipped cluster, sorted."""
    folder = Path(__file__).parent / "clusters"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_cluster(name_or_path: str | Path) -> Cluster:
    """The shipped cluster of that name, or that of a file where the text ends in .toml or holds a path separator.

    Raises InputError for an unknown name, an unreadable file and every rule that a cluster file can break.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or text.endswith(".toml") or os.sep in text:
        return _read(Path(name_or_path))
    known = list_clusters()
    if text not in known:
        raise InputError("cluster", "unknown cluster", text, did_you_mean(text, known) + ", or the path of a TOML file")
    return _read(known[text])


def _read(path: Path) -> Cluster:
    fields = read_toml(path)
    name, source = fields.string("name"), fields.string("source")
    host = fields.string("host", "")
    switch = fields.table("switch", required=False)
    groups = fields.tables("node")
    fields.close()
    latency = switch.number("latency_s", 0.0)
    switch.close()
    nodes: list[Node] = []
    names: list[str] = []
    for group in groups:
        members = _group(group)
        names.append(members[0])
        nodes += members[1]
        if len(nodes) > MAX_NODES:
            raise InputError(str(path), "has too many nodes", len(nodes), f"1 to {MAX_NODES}")
    if not nodes:
        raise InputError(f"{path}: node", "a cluster needs at least one node")
    for number, label in enumerate(names):
        if label in names[:number]:
            raise InputError(f"{path}: node {label}: name", "is used twice", label)
    return Cluster(name, source, _host_first(path, nodes, names, host), latency, str(path), _digest(path))


def _host_first(path: Path, nodes: list[Node], groups: list[str], host: str) -> tuple[Node, ...]:
    """The nodes with the one that is attached to the host in front."""
    if not host:
        return tuple(nodes)
    labels = [node.name for node in nodes]
    if host not in labels:
        raise InputError(f"{path}: host", "is no node of the file", host, did_you_mean(host, [*labels]))
    first = labels.index(host)
    return (nodes[first], *nodes[:first], *nodes[first + 1 :])


def _group(table: Fields) -> tuple[str, list[Node]]:
    """The name of a group and its nodes: ``name`` for one, ``name0``, ``name1``... for several."""
    label = table.string("name")
    if not _NAME.fullmatch(label):
        raise table.error("name", "must be letters, digits, '_', '.' or '-'", label)
    count = table.integer("count", 1, minimum=1, maximum=MAX_NODES)
    device = _device(table)
    clock_hz = table.number("clock_hz", device.clock_hz, positive=True)
    dsp = table.number("dsp", device.dsp * device.usable["dsp"])
    _at_most(table, "dsp", dsp, device.dsp, "DSP blocks")
    chip_bits = _ram_bits(device)
    ram_bits = table.number("ram_bits", chip_bits * RAM_SHARE)
    _at_most(table, "ram_bits", ram_bits, chip_bits, "bits of on-chip RAM")
    read, write, both = _dram(table, device)
    link = table.number("link_bits_per_s", positive=True)
    connections = table.integer("connections", minimum=1, maximum=10**6)
    table.string("source")
    table.close()
    named = [label] if count == 1 else [f"{label}{number}" for number in range(count)]
    return label, [Node(n, device, clock_hz, dsp, ram_bits, read, write, both, link, connections) for n in named]


def _device(table: Fields) -> Device:
    """The board that a group names; a path is relative to the cluster file."""
    text = table.string("device")
    if text.endswith(".toml"):
        folder = Path(table.where.split(": ")[0]).parent
        return load_device(folder / text)
    try:
        return load_device(text)
    except InputError as error:
        raise InputError(f"{table.where}: device", str(error)) from error


def _ram_bits(device: Device) -> float:
    """Bits of block RAM that may be used: half blocks, and UltraRAM where there is some."""
    blocks = 2 * device.bram36 * _HALF_BLOCK_BITS[device.vendor] * device.usable["bram36"]
    return float(blocks + device.uram288 * _URAM_BITS * device.usable["uram288"])


def _dram(table: Fields, device: Device) -> tuple[float, float, float]:
    """DRAM bits per second: read, write, both together."""
    total = device.dram_bytes_per_s * 8.0
    duplex = table.boolean("dram_full_duplex", False)
    one_way = table.number("dram_bits_per_s", total / 2 if duplex else total, positive=True)
    both = 2 * one_way if duplex else one_way
    _at_most(table, "dram_bits_per_s", both, total, "bits per second of the board's DRAM, both ways together")
    return one_way, one_way, both


def _at_most(table: Fields, key: str, value: float, limit: float, what: str) -> None:
    """Raise InputError where a group plans with more than its board has; a rounding error is none."""
    if value > limit * (1 + 1e-9):
        raise table.error(key, f"is more than the board has ({what})", value, f"0 to {limit:g}")


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror}") from error
