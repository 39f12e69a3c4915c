"""The emitted address map: where every tensor lies in DRAM, in JSON types."""

from __future__ import annotations

from typing import Any

from dse.engine import EngineLayout, EngineParameters
from dse.engine.layers import engine_layers
from dse.schedule.tensors import ALIGNMENT, SPACES, TensorMap
from dse.workload import Workload

__all__ = ["engine_tensors", "plain_map"]


def plain_map(tensors: TensorMap) -> dict[str, Any]:
    """Regions in order of address.

    A region has a kind, the layer that it belongs to (for activations and errors the layer that writes the activation,
    or ``input``), the space whose base address it counts from, base and size in bytes, the tensor's shape, its blocks,
    sets and bytes of an element, bytes of a row with its filling (docs/rtl.md), and the slot of its exponent.
    """
    regions = [
        {
            "kind": tensor.kind,
            "name": tensor.name,
            "space": tensor.space,
            "base": tensor.base,
            "bytes": tensor.size_bytes,
            "shape": list(tensor.image.blocked.shape),
            "block": list(tensor.image.blocked.block),
            "sets": tensor.image.sets,
            "element_bytes": tensor.image.element_bytes,
            "row_bytes": tensor.image.row_beats * tensor.image.beat_bytes,
            "slot": tensor.slot,
        }
        for tensor in tensors
    ]
    return {
        "alignment_bytes": ALIGNMENT,
        "bytes": {space: tensors.size_bytes(space) for space in SPACES},
        "regions": regions,
    }


def engine_tensors(workload: Workload, hw: EngineParameters) -> TensorMap:
    """What the engine alone reads and writes, for a network whose other layers no unit does."""
    tensors = TensorMap(hw)
    for item in engine_layers(workload.network, workload.batch_size):
        name, source, conv = item.layer.name, item.source, item.conv
        maps = [("activation", source, False), ("activation", name, True)]
        maps += [("error", source, False)] if item.layer.needs_input_grad else []
        for kind, key, of_output in (*maps, ("error", name, True)):
            if (kind, key) not in tensors:
                tensors.add(kind, key, EngineLayout.features(hw, conv, of_output=of_output))
        tensors.add("weight", name, EngineLayout.weights(hw, conv))
        tensors.add("gradient", name, EngineLayout.weights(hw, conv, raw=True))
    return tensors
