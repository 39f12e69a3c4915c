"""Where every tensor that the engine reads or writes lies in DRAM."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dse.emit.layers import EngineLayer, engine_layers
from dse.engine import EngineLayout, EngineParameters
from dse.workload import Workload

__all__ = ["ALIGNMENT", "memory_map"]

ALIGNMENT = 4096
"""Bytes: the boundary that no AXI4 burst crosses (ARM IHI 0022, section A3.4.1)."""


def memory_map(workload: Workload, hw: EngineParameters) -> dict[str, Any]:
    """Regions in order of address, in JSON types.

    A region has a kind (activation, error, weight, gradient), the layer that it belongs to (for an activation and an
    error the layer that writes the activation, or ``input``), base and size in bytes, the tensor's shape, its blocks
    and bytes of an element, and bytes of a row with its filling (docs/rtl.md).
    """
    regions: list[dict[str, Any]] = []
    base = 0
    for kind, name, layout in _tensors(engine_layers(workload.network, workload.batch_size), hw):
        if any((region["kind"], region["name"]) == (kind, name) for region in regions):
            continue
        regions.append(
            {
                "kind": kind,
                "name": name,
                "base": base,
                "bytes": layout.size_bytes,
                "shape": list(layout.blocked.shape),
                "block": list(layout.blocked.block),
                "sets": layout.image.sets,
                "element_bytes": layout.image.element_bytes,
                "row_bytes": layout.row_beats * layout.image.beat_bytes,
            }
        )
        base = -(-(base + layout.size_bytes) // ALIGNMENT) * ALIGNMENT
    return {"alignment_bytes": ALIGNMENT, "bytes": base, "regions": regions}


def _tensors(layers: tuple[EngineLayer, ...], hw: EngineParameters) -> Iterator[tuple[str, str, EngineLayout]]:
    for item in layers:
        name, conv = item.layer.name, item.conv
        yield "activation", item.source, EngineLayout.features(hw, conv, of_output=False)
        yield "activation", name, EngineLayout.features(hw, conv, of_output=True)
        if item.layer.needs_input_grad:
            yield "error", item.source, EngineLayout.features(hw, conv, of_output=False)
        yield "error", name, EngineLayout.features(hw, conv, of_output=True)
        yield "weight", name, EngineLayout.weights(hw, conv)
        yield "gradient", name, EngineLayout.weights(hw, conv, raw=True)
