"""The settings of the cluster's cost formulas, from ``costs.toml``: each with where it is from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dse.errors import InputError, did_you_mean
from dse.fields import Fields, read_toml

__all__ = ["READINGS", "Reading", "StreamCost", "reading_named"]

READINGS = ("free", "nada")
"""Names of the readings, the default first."""


@dataclass(frozen=True, slots=True)
class StreamCost:
    """Operators of one lane of a streaming operation, both directions."""

    multipliers: int
    adders: int


@dataclass(frozen=True)
class Reading:
    """One setting of the cost formulas; ``costs.toml`` says what each number rests on."""

    name: str
    meaning: str
    line_buffer: int
    output_lines: int
    fixed_bits: int
    pointwise_words: int
    pointwise_fixed_bits: int
    stream: Mapping[str, StreamCost]
    dram_weight_reads: int
    dram_weight_writes: int
    storage: Mapping[str, tuple[str, ...]]
    """Operation (conv, fc, embedding, other) -> where its weights may be: chip, dram."""
    buffer_micro_batch: bool
    """Whether weights in DRAM, loaded once per micro-batch, need the maps of the micro-batch on chip."""
    hybrid_lanes: bool
    """Whether engines have the lanes of the hybrid family: any number, along rows and frames too; else divisors."""

    def storages(self, op: str) -> tuple[str, ...]:
        """Where the weights of an operation may be."""
        return self.storage.get(op, self.storage["other"])


@cache
def reading_named(name: str) -> Reading:
    """The reading called ``name``. Raises InputError naming the choices."""
    fields = read_toml(Path(__file__).parent / "costs.toml")
    readings = fields.table("reading")
    if name not in readings:
        raise InputError("reading", "unknown reading", name, did_you_mean(name, readings.keys()))
    chosen, ram, weights = readings.table(name), fields.table("ram"), fields.table("dram_weights")
    streams = fields.table("stream")
    return Reading(
        name=name,
        meaning=chosen.string("meaning"),
        line_buffer=ram.integer("line_buffer"),
        output_lines=ram.integer("output_lines"),
        fixed_bits=ram.integer("fixed_bits"),
        pointwise_words=ram.integer("pointwise_words"),
        pointwise_fixed_bits=ram.integer("pointwise_fixed_bits"),
        stream={op: _stream(streams.table(op)) for op in streams.keys()},  # noqa: SIM118
        dram_weight_reads=weights.integer("reads"),
        dram_weight_writes=weights.integer("writes"),
        storage={op: chosen.strings(op) for op in ("conv", "fc", "embedding", "other")},
        buffer_micro_batch=chosen.boolean("buffer_micro_batch"),
        hybrid_lanes=chosen.boolean("hybrid_lanes"),
    )


def _stream(table: Fields) -> StreamCost:
    return StreamCost(table.integer("multipliers"), table.integer("adders"))
