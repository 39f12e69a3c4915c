"""A command of the convolution engine: one phase of one layer as the words that its RTL takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.engine.hardware import EngineParameters
from dse.engine.images import EngineLayout
from dse.engine.nest import Axis, PhaseNest, Tiling
from dse.engine.runs import feature_run, result_run
from dse.engine.tiling import TileSteps, buffer_words
from dse.errors import InputError
from dse.workload import PHASES

__all__ = ["COMMAND_FIELDS", "Bases", "command", "command_words"]

_PAIRS = ("m_blocks", "n_blocks", "b_blocks", "m_groups", "n_groups", "rows", "row_steps")
_AXIS = ("taps", "classes", "class_last", "stride", "tap_top", "tap_step", "tap_class", "acc_class")
_STREAM = ("base", *(f"step[{level}]" for level in range(5)), "outer", "inner", "row")

COMMAND_FIELDS: tuple[str, ...] = (
    "mode", "shift", "raw", "relu", *(f"count[{level}]" for level in range(5)),
    *(f"{name}.{part}" for name in _PAIRS for part in ("full", "last")), "cols", "col_steps",
    *(f"{axis}.{name}" for axis in ("row_axis", "col_axis") for name in _AXIS),
    *(f"a.{name}" for name in _STREAM), "a_y", "a_y_step", "a_x", "a_rows.full", "a_rows.last", "a_height", "a_width",
    "a_cells", "a_word_b", "a_word_n", "a_word_q", "a_word_pr", "a_word_pc",
    *(f"b.{name}" for name in _STREAM), "b_beats", "b_beats_last", "b_cells", "b_word_m", "b_word_n",
    "acc_m", "acc_n", "acc_row", *(f"o.{name}" for name in _STREAM),
    *(f"o_{name}_{part}" for name in ("rows", "beats") for part in ("first", "mid", "last")),
    "o_cells", "o_width", "o_row_class", "o_col_class", "mask_m", "mask_n",
)  # fmt: skip
"""Field of each 32-bit word, as in ``rtl_templates/engine/engine_command.sv``."""


@dataclass(frozen=True, slots=True)
class Bases:
    """Byte addresses of the feature operand, the second operand (weights or errors) and the result."""

    feature: int
    operand: int
    result: int


def command(
    hw: EngineParameters,
    nest: PhaseNest,
    tiling: Tiling,
    bases: Bases,
    *,
    shift: int = 0,
    raw: bool = False,
    relu: bool = False,
) -> dict[str, int]:
    """Value of every field of ``COMMAND_FIELDS``.

    ``raw`` stores sums of ``hw.wide_bytes``, else they are shifted and clipped, and at least 0 with ``relu``.

    Raises InputError where the tile does not fit a buffer, a size passes 16 bits, or a base is not beat aligned.
    """
    for name, depth, need in zip(
        ("feature_depth", "operand_depth", "sum_depth"),
        (hw.feature_depth, hw.operand_depth, hw.sum_depth),
        buffer_words(hw, nest, tiling),
        strict=True,
    ):
        if need > depth:
            raise InputError(
                f"engine parameter {name}", f"is too small for a tile of {nest.phase}", depth, f">= {need}"
            )
    for name in ("feature", "operand", "result"):
        if getattr(bases, name) % hw.beat_bytes:
            raise InputError(f"{name} base", "is not at a beat", getattr(bases, name), f"multiples of {hw.beat_bytes}")
    fields = _Builder(hw, nest, tiling, bases, raw).fields()
    fields |= {"mode": PHASES.index(nest.phase), "shift": shift, "raw": int(raw), "relu": int(relu)}
    narrow = [name for name in COMMAND_FIELDS if not _is_wide(name)]
    for name in narrow:
        if not -(1 << 15) <= fields[name] < 1 << 16:
            raise InputError(f"engine command {name}", "passes 16 bits", fields[name], "-32768 to 65535")
    return fields


def command_words(fields: Mapping[str, int]) -> NDArray[np.uint32]:
    """The words of a command, uint32 [len(COMMAND_FIELDS)]; negative values in two's complement."""
    return np.array([fields[name] for name in COMMAND_FIELDS], np.int64).astype(np.uint32)


def _is_wide(name: str) -> bool:
    return name[:2] in ("a.", "b.", "o.") or "_beats" in name


def _up(a: int, b: int) -> int:
    return -(-a // b)


class _Builder:
    """The fields, part by part."""

    def __init__(self, hw: EngineParameters, nest: PhaseNest, tiling: Tiling, bases: Bases, raw: bool) -> None:
        self.hw, self.nest, self.bases = hw, nest, bases
        self.tiling = tiling
        self.steps = TileSteps.of(hw, nest, tiling)
        self.gradient = nest.phase == "weight_grad"
        block = hw.channel_block
        self.m_blocks, self.n_blocks = _up(nest.m, block), _up(nest.n, block)
        self.b_blocks = _up(nest.batch, hw.ub)
        self.m_full = tiling.m_groups * hw.um // block
        self.n_full = tiling.n_groups * hw.un // block
        conv = nest.conv
        self.kernel = conv.window.kernel
        self.weights = EngineLayout.weights(hw, conv)
        self.input = EngineLayout.features(hw, conv, of_output=False)
        self.output = EngineLayout.features(hw, conv, of_output=True)
        if self.gradient:
            self.result = EngineLayout.weights(hw, conv, raw)
        else:
            self.result = EngineLayout.features(hw, conv, of_output=nest.phase == "forward", raw=raw)

    def fields(self) -> dict[str, int]:
        sizes, counts = self._sizes()
        return {
            **sizes, **self._counts(counts), **self._axis("row_axis", self.nest.row, self.kernel[1], self._row_class()),
            **self._axis("col_axis", self.nest.column, 1, self.steps.row_steps * self.steps.col_steps),
            **self._feature(), **(self._errors() if self.gradient else self._weights()), **self._sums(),
            **(self._gradients() if self.gradient else self._maps(counts["r"])), **self._mask(),
        }  # fmt: skip

    def _row_class(self) -> int:
        return self.nest.column.classes * self.steps.row_steps * self.steps.col_steps

    def _sizes(self) -> tuple[dict[str, int], dict[str, int]]:
        """Full and last sizes, and the number of tiles, along each dimension."""
        hw, t = self.hw, self.tiling
        fields: dict[str, int] = {"cols": self.nest.column.extent, "col_steps": self.steps.col_steps}
        counts = {}
        for key, name, total, full in (
            ("m", "m_blocks", self.m_blocks, self.m_full),
            ("n", "n_blocks", self.n_blocks, self.n_full),
            ("b", "b_blocks", self.b_blocks, t.b_blocks),
            ("r", "rows", self.nest.row.extent, t.rows),
        ):
            counts[key] = _up(total, full)
            fields[f"{name}.full"], fields[f"{name}.last"] = full, total - (counts[key] - 1) * full
        block = hw.channel_block
        for part in ("full", "last"):
            fields[f"m_groups.{part}"] = _up(fields[f"m_blocks.{part}"] * block, hw.um)
            fields[f"n_groups.{part}"] = _up(fields[f"n_blocks.{part}"] * block, hw.un)
            fields[f"row_steps.{part}"] = _up(fields[f"rows.{part}"], hw.ur)
            window = (fields[f"rows.{part}"] - 1) * self.nest.row.stride + self.nest.row.taps
            fields[f"a_rows.{part}"] = window
        self.last_rows = fields["rows.last"]
        return fields, counts

    def _levels(self, **values: int) -> list[int]:
        """Values of the dimensions g, m, n, b, r in the order of the tile loops."""
        order = "gmnbr" if self.gradient else "gmbrn"
        return [values.get(key, 0) for key in order]

    def _counts(self, counts: Mapping[str, int]) -> dict[str, int]:
        return {f"count[{i}]": v for i, v in enumerate(self._levels(g=self.nest.sets, **counts))}

    def _axis(self, name: str, axis: Axis, unit: int, acc_class: int) -> dict[str, int]:
        """``unit``: words of weights from a tap of the kernel to the next along this axis."""
        backward = self.nest.phase == "input_grad"
        values = (
            axis.taps, axis.classes, axis.class_last, axis.stride,
            axis.classes * (axis.taps - 1) * unit if backward else 0,
            -axis.classes * unit if backward else unit,
            unit if backward else 0,
            acc_class if backward else 0,
        )  # fmt: skip
        return {f"{name}.{key}": value for key, value in zip(_AXIS, values, strict=True)}

    def _stream(self, name: str, base: int, steps: list[int], outer: int, inner: int, row: int) -> dict[str, int]:
        return {f"{name}.{key}": v for key, v in zip(_STREAM, (base, *steps, outer, inner, row), strict=True)}

    def _beat(self, address: int) -> int:
        return address // self.hw.beat_bytes

    def _feature(self) -> dict[str, int]:
        nest, t, s = self.nest, self.tiling, self.steps
        layout = self.output if nest.phase == "input_grad" else self.input
        _, blocks, height, width, _, _ = layout.blocked.extents
        row, plane = layout.row_beats, height * layout.row_beats
        y_step = t.rows * nest.row.stride
        steps = self._levels(
            g=self.n_blocks * plane, n=self.n_full * plane, b=t.b_blocks * blocks * plane, r=y_step * row
        )
        base = self._beat(self.bases.feature) + nest.row.start * row
        return {
            **self._stream("a", base, steps, blocks * plane, plane, row),
            "a_y": nest.row.start, "a_y_step": y_step, "a_x": nest.column.start,
            "a_height": height, "a_width": width, "a_cells": _up(width, feature_run(self.hw, nest)),
            "a_word_b": s.word_b, "a_word_n": s.word_n, "a_word_q": s.word_q, "a_word_pr": s.word_pr,
            "a_word_pc": s.word_pc,
        }  # fmt: skip

    def _operand(self, cells: int, beats: int, last: int) -> dict[str, int]:
        return {
            "b_beats": beats, "b_beats_last": last, "b_cells": cells,
            "b_word_m": self.steps.operand_m, "b_word_n": self.steps.operand_n,
        }  # fmt: skip

    def _weights(self) -> dict[str, int]:
        beats = self.weights.row_beats
        blocks = self.m_blocks * self.n_blocks
        m_step, n_step = self.n_blocks * beats, beats
        if self.nest.phase == "input_grad":
            m_step, n_step = beats, self.m_blocks * beats
        steps = self._levels(g=blocks * beats, m=self.m_full * m_step, n=self.n_full * n_step)
        cells = self.kernel[0] * self.kernel[1] * self.hw.channel_block
        stream = self._stream("b", self._beat(self.bases.operand), steps, m_step, n_step, beats)
        return stream | self._operand(cells, beats, beats)

    def _errors(self) -> dict[str, int]:
        t = self.tiling
        _, blocks, height, width, _, _ = self.output.blocked.extents
        row, plane = self.output.row_beats, height * self.output.row_beats
        steps = self._levels(
            g=self.m_blocks * plane, m=self.m_full * plane, b=t.b_blocks * blocks * plane, r=t.rows * row
        )
        stream = self._stream("b", self._beat(self.bases.operand), steps, plane, blocks * plane, row)
        return stream | self._operand(_up(width, self.hw.run_cells), t.rows * row, self.last_rows * row)

    def _sums(self) -> dict[str, int]:
        return {"acc_m": self.steps.sum_m, "acc_n": self.steps.sum_n, "acc_row": self.steps.col_steps}

    def _maps(self, tiles: int) -> dict[str, int]:
        """Results of forward and input_grad; the first and the last tile may lack rows of some classes."""
        nest, t, axis = self.nest, self.tiling, self.nest.row
        _, blocks, height, width, _, _ = self.result.blocked.extents
        row, plane = self.result.row_beats, height * self.result.row_beats
        step, missing = t.rows * axis.classes, axis.first_class
        steps = self._levels(
            g=self.m_blocks * plane, m=self.m_full * plane, b=t.b_blocks * blocks * plane, r=step * row
        )
        rows = (min(step - missing, height), step, height - ((tiles - 1) * step - missing))
        base = self._beat(self.bases.result) - missing * row
        return {
            **self._stream("o", base, steps, plane, blocks * plane, row),
            **{f"o_rows_{part}": r for part, r in zip(("first", "mid", "last"), rows, strict=True)},
            **{f"o_beats_{part}": r * row for part, r in zip(("first", "mid", "last"), rows, strict=True)},
            "o_cells": _up(width, result_run(self.hw, nest)), "o_width": width, "o_row_class": missing,
            "o_col_class": nest.column.first_class,
        }  # fmt: skip

    def _gradients(self) -> dict[str, int]:
        beats = self.result.row_beats
        m_step = self.n_blocks * beats
        cells = self.kernel[0] * self.kernel[1] * self.hw.channel_block
        steps = self._levels(g=self.m_blocks * m_step, m=self.m_full * m_step, n=self.n_full * beats)
        return {
            **self._stream("o", self._beat(self.bases.result), steps, m_step, beats, beats),
            **{f"o_rows_{part}": 1 for part in ("first", "mid", "last")},
            **{f"o_beats_{part}": beats for part in ("first", "mid", "last")},
            "o_cells": cells, "o_width": cells, "o_row_class": 0, "o_col_class": 0,
        }  # fmt: skip

    def _mask(self) -> dict[str, int]:
        conv = self.nest.conv
        several = self.weights.group_set > 1
        return {"mask_m": conv.group_m * several, "mask_n": conv.group_n * several}
