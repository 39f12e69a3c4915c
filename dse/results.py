"""What a sweep found: cells (network x device x family x batch size), their winners, fronts and proofs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCHEMA_VERSION", "Candidate", "Cell", "Diagnosis", "Proof", "ResultSet", "RunInfo"]

SCHEMA_VERSION = 1
"""Version of every JSON object that the tool writes; raised when a key changes its meaning or goes."""


@dataclass(frozen=True)
class Proof:
    """How far the search's answer is from the optimum.

    ``kind``: ``exhaustive`` (every point whose resources fit was evaluated), ``bound`` (every point that fits and was
    not evaluated is excluded by a lower bound), ``none``. ``gap`` is best / optimum - 1 for one objective, and for
    several the share of the exact front's hypervolume that the search missed; NaN where ``kind`` is ``none`` or
    nothing is feasible. ``optimum`` is the proven best point's objective values, in the order of the cell's objectives
    (for several objectives, each one's own optimum). ``floor`` are lower bounds of the objectives over all points,
    where the proof did not finish; empty where none is known.
    """

    kind: str
    gap: float
    evaluated: int
    space_size: int
    seconds: float
    optimum: tuple[float, ...] = ()
    floor: tuple[float, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """One evaluated point. ``estimate`` is the JSON form of its Estimate (``dse.schema.estimate_json``)."""

    point: Mapping[str, int]
    estimate: Mapping[str, Any]
    origin: str
    """``search``, ``proof`` or the paper whose heuristic chose it."""
    objectives: tuple[float, ...]

    @property
    def feasible(self) -> bool:
        """Whether it fits the board."""
        return bool(self.estimate["feasible"])


@dataclass(frozen=True)
class Diagnosis:
    """Why nothing is feasible: what is short and by how much, the nearest point, the smallest board that would do."""

    short: Mapping[str, float]
    """Constraint name -> used / usable - 1 at the nearest point, those > 0 only."""
    nearest: Candidate
    smallest_board: str
    """Name of the smallest shipped board (by LUTs) with a feasible point; empty where none has."""
    largest_batch: int | None = None
    """Where DRAM is short, the most samples an iteration may have to fit it (0: none); else None."""


def _no_points() -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame()


@dataclass(frozen=True)
class Cell:
    """The result for one network, device, family, batch size and precision."""

    network: str
    device: str
    family: str
    batch_size: int
    precision: str
    reading: str
    objectives: tuple[str, ...]
    method: str
    """``optuna`` or ``exhaustive``."""
    sampler: str
    """Optuna sampler; empty for the exhaustive method."""
    seed: int
    evaluated: int
    """Points that the search evaluated (the proof's are counted in ``proof``)."""
    search_s: float
    proof: Proof
    best: Candidate | None
    """The feasible point with the lowest first objective; None where nothing is feasible."""
    pareto: tuple[Candidate, ...]
    """Feasible points that no other dominates in the objectives, ordered by the first."""
    papers: tuple[Candidate, ...]
    """The points that the family's paper would choose, feasible or not."""
    lanes: int
    """Multiplier-accumulator lanes of ``best``; 0 where there is none."""
    diagnosis: Diagnosis | None = None
    optimiser: str = "sgd"
    network_reference: str = ""
    """What the command line takes for the network: its name, or the path of its file where it has none of its own."""
    device_reference: str = ""
    """Likewise for the board."""
    points: pd.DataFrame = field(default_factory=_no_points, compare=False, repr=False)
    """Every point the search evaluated, in order: the parameters, objectives, totals, violations, ``feasible``."""


@dataclass(frozen=True)
class RunInfo:
    """How a result came about, so that it can be had again."""

    version: str
    git_revision: str
    argv: tuple[str, ...]
    seed: int
    created: str
    """UTC, ISO 8601."""
    inputs: Mapping[str, str]
    """Network and device names -> SHA-256 of their files."""
    packages: Mapping[str, str]
    """Name -> version of numpy, optuna and Python."""
    interrupted: bool = False


@dataclass(frozen=True)
class ResultSet:
    """All cells of one sweep."""

    cells: tuple[Cell, ...]
    run: RunInfo

    def to_frame(self) -> pd.DataFrame:
        """One row per cell: its names, the winner's parameters (``point``), time, throughput, resources, gap."""
        import pandas as pd  # here, so that what only needs the schema's version does not wait for it

        return pd.DataFrame([_row(cell) for cell in self.cells])


def _row(cell: Cell) -> dict[str, Any]:
    row: dict[str, Any] = {
        "network": cell.network,
        "device": cell.device,
        "family": cell.family,
        "batch_size": cell.batch_size,
        "precision": cell.precision,
        "optimiser": cell.optimiser,
        "evaluated": cell.evaluated,
        "search_s": cell.search_s,
        "proof": cell.proof.kind,
        "gap": cell.proof.gap,
        "feasible": cell.best is not None,
    }
    if cell.best is not None:
        estimate = cell.best.estimate
        row["point"] = dict(cell.best.point)
        row |= {k: estimate[k] for k in ("iteration_cycles", "iteration_s", "samples_per_s", "power_w", "energy_j")}
        row |= dict(estimate["resources"])
    return row
