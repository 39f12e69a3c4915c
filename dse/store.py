"""Results on disk: ``result.json``, ``points.parquet`` and ``pareto.csv``, written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from dse.errors import InputError
from dse.estimate import RESOURCES
from dse.results import SCHEMA_VERSION, Candidate, Cell, Diagnosis, Proof, ResultSet, RunInfo
from dse.schema import plain

__all__ = ["FILES", "cell_json", "load", "result_json", "save"]

FILES = {"result": "result.json", "points": "points.parquet", "pareto": "pareto.csv"}
"""What ``save`` writes: key -> file name."""

_CONSTRAINTS = (*RESOURCES, "dram_bytes")
_KEYS = ("network", "device", "family", "batch_size", "precision")


def save(result: ResultSet, directory: str | Path, *, argv: Sequence[str] | None = None) -> dict[str, Path]:
    """Write the result's files into ``directory``, made if need be; returns key (see FILES) -> path.

    All files are written under temporary names first and then renamed, so that none is ever half there. ``argv``
    replaces the recorded command. The same result gives the same bytes. Raises InputError where writing fails.
    """
    if argv is not None:
        result = replace(result, run=replace(result.run, argv=tuple(argv)))
    folder = Path(directory)
    text = json.dumps(result_json(result), indent=2, allow_nan=False) + "\n"
    points, front = _points_table(result), _pareto_table(result)
    writers: dict[str, Callable[[Path], object]] = {
        "points": lambda path: points.to_parquet(path, index=False),
        "pareto": lambda path: front.to_csv(path, index=False, lineterminator="\n"),
        "result": lambda path: path.write_text(text, encoding="utf-8"),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".dse-", dir=folder) as temporary:
            for key, write in writers.items():
                write(Path(temporary) / FILES[key])
            for key in writers:
                os.replace(Path(temporary) / FILES[key], folder / FILES[key])
    except OSError as error:
        raise InputError(str(folder), f"cannot be written: {error.strerror or error}") from error
    return {key: folder / name for key, name in FILES.items()}


def load(path: str | Path) -> ResultSet:
    """The result saved in a directory, or in the directory of that ``result.json``.

    Raises InputError where a file is missing, is no result, or has another schema version.
    """
    file = Path(path)
    file = file / FILES["result"] if file.is_dir() else file
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        table = pd.read_parquet(file.parent / FILES["points"])
    except OSError as error:
        raise InputError(str(file), f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(str(file), f"is no saved result: {error}") from error
    version = content.get("schema_version") if isinstance(content, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(str(file), "has another schema version", version, SCHEMA_VERSION)
    try:
        cells = tuple(_cell(row, _cell_points(table, number)) for number, row in enumerate(content["cells"]))
        run = content["run"]
        return ResultSet(cells, RunInfo(**{**run, "argv": tuple(run["argv"])}))
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(str(file), f"is no saved result: {type(error).__name__} {error}") from error


# To JSON -----------------------------------------------------------------------------------------------------------


def result_json(result: ResultSet) -> dict[str, Any]:
    """The whole result but for the evaluated points, as plain JSON types; docs/json.md documents the keys."""
    run = {name: getattr(result.run, name) for name in RunInfo.__dataclass_fields__}
    return {
        "schema_version": SCHEMA_VERSION,
        "run": plain({**run, "inputs": dict(sorted(run["inputs"].items()))}),
        "cells": [cell_json(cell) for cell in result.cells],
    }


def cell_json(cell: Cell) -> dict[str, Any]:
    """One cell as plain JSON types; figures that are not finite are null."""
    simple = {name: getattr(cell, name) for name in _SIMPLE}
    content = {
        **simple,
        "proof": {name: getattr(cell.proof, name) for name in Proof.__dataclass_fields__},
        "best": _candidate_json(cell.best),
        "pareto": [_candidate_json(item) for item in cell.pareto],
        "papers": [_candidate_json(item) for item in cell.papers],
        "diagnosis": None,
    }
    if cell.diagnosis is not None:
        content["diagnosis"] = {
            "short": dict(cell.diagnosis.short),
            "nearest": _candidate_json(cell.diagnosis.nearest),
            "smallest_board": cell.diagnosis.smallest_board,
            "largest_batch": cell.diagnosis.largest_batch,
        }
    out: dict[str, Any] = plain(content)
    return out


_SIMPLE = (
    *_KEYS, "optimiser", "reading", "objectives", "method", "sampler", "seed", "evaluated", "search_s", "lanes",
    "network_reference", "device_reference",
)  # fmt: skip


def _candidate_json(item: Candidate | None) -> dict[str, Any] | None:
    if item is None:
        return None
    return {"point": item.point, "estimate": item.estimate, "origin": item.origin, "objectives": item.objectives}


# From JSON ---------------------------------------------------------------------------------------------------------


def _number(value: Any, missing: float = math.nan) -> float:
    return missing if value is None else float(value)


def _candidate(content: Mapping[str, Any]) -> Candidate:
    return Candidate(
        point=dict(content["point"]),
        estimate=content["estimate"],
        origin=content["origin"],
        objectives=tuple(_number(value) for value in content["objectives"]),
    )


def _cell(content: Mapping[str, Any], points: pd.DataFrame) -> Cell:
    proof, diagnosis, best = content["proof"], content["diagnosis"], content["best"]
    found_nothing = math.inf if proof["kind"] != "none" and best is not None else math.nan
    simple = {name: content[name] for name in _SIMPLE if name != "optimiser"}
    simple["optimiser"] = content.get("optimiser", "sgd")  # a result of before there was a choice
    simple |= {"objectives": tuple(content["objectives"]), "search_s": _number(content["search_s"])}
    return Cell(
        **simple,
        proof=Proof(
            proof["kind"],
            _number(proof["gap"], found_nothing),
            proof["evaluated"],
            proof["space_size"],
            _number(proof["seconds"]),
            tuple(_number(value) for value in proof["optimum"]),
            tuple(_number(value) for value in proof["floor"]),
        ),
        best=None if best is None else _candidate(best),
        pareto=tuple(map(_candidate, content["pareto"])),
        papers=tuple(map(_candidate, content["papers"])),
        diagnosis=None
        if diagnosis is None
        else Diagnosis(
            {name: _number(value, math.inf) for name, value in diagnosis["short"].items()},
            _candidate(diagnosis["nearest"]),
            diagnosis["smallest_board"],
            diagnosis.get("largest_batch"),
        ),
        points=points,
    )


# Tables ------------------------------------------------------------------------------------------------------------


def _named(number: int, cell: Cell, frame: pd.DataFrame) -> pd.DataFrame:
    """``frame`` behind columns that say which cell it belongs to."""
    labels = pd.DataFrame({"cell": number, **{key: getattr(cell, key) for key in _KEYS}}, index=frame.index)
    whole = frame.select_dtypes("integer").columns
    return pd.concat([labels, frame.astype(dict.fromkeys(whole, "Int64"))], axis=1)


def _stacked(parts: list[pd.DataFrame]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame({"cell": [], **{key: [] for key in _KEYS}})
    names = dict.fromkeys(name for part in parts for name in part.columns)
    return pd.concat(parts, ignore_index=True).reindex(columns=list(names))


def _points_table(result: ResultSet) -> pd.DataFrame:
    cells = enumerate(result.cells)
    return _stacked([_named(number, cell, cell.points) for number, cell in cells if len(cell.points)])


def _cell_points(table: pd.DataFrame, number: int) -> pd.DataFrame:
    """The rows of one cell, with the columns that it has."""
    rows = table[table["cell"] == number].drop(columns=["cell", *_KEYS]).reset_index(drop=True)
    own = [name for name in rows.columns if rows[name].notna().any() or not _nullable(rows[name])]
    if rows.empty:
        return pd.DataFrame()
    types: dict[str, Any] = {name: "int64" for name in own if str(rows[name].dtype) == "Int64"}
    return rows[own].astype({**types, **({"feasible": "bool"} if "feasible" in own else {})})


def _nullable(column: pd.Series[Any]) -> bool:
    """Whether a column without any value belongs to another cell: a parameter, or a constraint of another family."""
    own = str(column.name).removeprefix("violation_")
    return str(column.dtype) == "Int64" or (own != column.name and own not in _CONSTRAINTS)


def _pareto_table(result: ResultSet) -> pd.DataFrame:
    """One row per Pareto point: cell, origin, parameters, objectives, totals and resources."""
    parts = []
    for number, cell in enumerate(result.cells):
        rows = [_pareto_row(cell, item) for item in cell.pareto]
        if rows:
            parts.append(_named(number, cell, pd.DataFrame(rows)))
    return _stacked(parts)


def _pareto_row(cell: Cell, item: Candidate) -> dict[str, Any]:
    estimate = item.estimate
    totals = (
        "iteration_cycles",
        "iteration_s",
        "samples_per_s",
        "dram_bytes",
        "dram_bytes_per_s",
        "power_w",
        "energy_j",
    )
    values = {name: _number(estimate[name]) for name in totals}
    objectives = dict(zip(cell.objectives, item.objectives, strict=True))
    return {
        "origin": item.origin,
        **dict(item.point),
        **{f"objective_{name}": value for name, value in objectives.items()},
        **values,
        **{name: _number(value) for name, value in estimate["resources"].items()},
    }
