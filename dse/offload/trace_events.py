"""Events of a Chrome trace as operators that hold others, and the kernels that they launched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dse.errors import InputError

__all__ = ["Kernel", "Operator", "Operators", "link_kernels", "read_operators"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One run on the GPU."""

    name: str
    seconds: float


@dataclass(eq=False)
class Operator:
    """An outermost operator with the sequence numbers of all operators in it, and its kernels in launch order."""

    name: str
    start_us: float
    sequence: set[int] = field(default_factory=set)
    kernels: list[Kernel] = field(default_factory=list)


@dataclass(frozen=True)
class Operators:
    """Outermost operators by start; ``by_id``: external id of any operator -> the outermost one that holds it."""

    roots: list[Operator]
    by_id: dict[int, Operator]


def read_operators(path: Path, events: Sequence[Any], is_root: Callable[[str, dict[str, Any]], bool]) -> Operators:
    """The outermost operators that ``is_root`` accepts by name and arguments.

    Raises InputError for an event without a time.
    """
    threads: dict[tuple[str, str], list[tuple[float, float, dict[str, Any]]]] = {}
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "X" and event.get("cat") in ("cpu_op", "Operator"):
            start, length = _number(path, event, "ts"), _number(path, event, "dur")
            thread = str(event.get("pid")), str(event.get("tid"))
            threads.setdefault(thread, []).append((start, start + length, event))
    roots: list[Operator] = []
    by_id: dict[int, Operator] = {}
    for spans in threads.values():
        open_root, open_end = None, -math.inf
        for start, end, event in sorted(spans, key=lambda span: (span[0], -span[1])):
            if open_root is None or start >= open_end:
                open_root = None
            name, given = str(event.get("name", "")), event.get("args")
            arguments: dict[str, Any] = given if isinstance(given, dict) else {}
            if open_root is None and is_root(name, arguments):
                open_root, open_end = Operator(name, start), end
                roots.append(open_root)
            if open_root is not None:
                _collect(arguments, open_root, by_id)
    return Operators(sorted(roots, key=lambda root: root.start_us), by_id)


def _number(path: Path, event: dict[str, Any], key: str) -> float:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{path}: event {str(event.get('name'))!r}", f"{key} must be a number", value)
    return float(value)


def _collect(arguments: dict[str, Any], root: Operator, by_id: dict[int, Operator]) -> None:
    external, sequence = arguments.get("External id"), arguments.get("Sequence number")
    if isinstance(external, int):
        by_id[external] = root
    if isinstance(sequence, int) and sequence >= 0:
        root.sequence.add(sequence)


def link_kernels(events: Sequence[Any], operators: Operators) -> list[Kernel]:
    """All GPU kernels, in order of time; those of a known operator are added to it."""
    spans = [
        event
        for event in events
        if isinstance(event, dict)
        and event.get("cat") in ("kernel", "Kernel")
        and isinstance(event.get("dur"), int | float)
        and isinstance(event.get("ts"), int | float)
    ]
    kernels = []
    for event in sorted(spans, key=lambda e: float(e["ts"])):
        kernel = Kernel(str(event.get("name", "")), float(event["dur"]) / 1e6)
        kernels.append(kernel)
        arguments = event.get("args")
        external = arguments.get("External id") if isinstance(arguments, dict) else None
        owner = operators.by_id.get(external) if isinstance(external, int) else None
        if owner is not None:
            owner.kernels.append(kernel)
    return kernels
