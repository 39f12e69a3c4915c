"""The file that ``dse estimate --tiling`` reads: tiles of named layers and phases, fixed instead of solved for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dse.errors import did_you_mean
from dse.fields import Fields, read_toml

if TYPE_CHECKING:
    from dse.model import ParallelismModel
    from dse.network import Network

__all__ = ["read_tiling"]


def read_tiling(path: Path, network: Network, model: ParallelismModel) -> dict[tuple[str, str], dict[str, int]]:
    """(layer, phase) -> tile name -> size, from a file with one table per layer and phase, e.g.::

        ["conv1".forward]
        tr = 2
        m_on = 96

    Raises InputError, naming file and key, for a layer that the network lacks or that has no tiles, an unknown phase, a
    tile that the family lacks and a size that is no whole number >= 1.
    """
    from dse.network import MAC_OPERATIONS
    from dse.workload import PHASES

    layers = [layer.name for layer in network.layers]
    out: dict[tuple[str, str], dict[str, int]] = {}
    fields = read_toml(path)
    for layer in fields.keys():  # noqa: SIM118 - Fields is no mapping
        if layer not in layers:
            raise fields.error(layer, f"is no layer of {network.name}", allowed=did_you_mean(layer, layers))
        if network[layer].op not in MAC_OPERATIONS:
            raise fields.error(layer, f"has no tiles: only {', '.join(MAC_OPERATIONS)} have", network[layer].op)
        needs = {"input_grad": network[layer].needs_input_grad, "weight_grad": network[layer].needs_weight_grad}
        tiled = [phase for phase in PHASES if phase != "update" and needs.get(phase, True)]
        phases = fields.table(layer)
        for phase in phases.keys():  # noqa: SIM118
            if phase not in tiled:
                raise phases.error(phase, "is no tiled phase of it", allowed=did_you_mean(phase, tiled))
            out[layer, phase] = _tiles(phases.table(phase), model)
    return out


def _tiles(fields: Fields, model: ParallelismModel) -> dict[str, int]:
    for tile in fields.keys():  # noqa: SIM118
        if tile not in model.tiles:
            allowed = did_you_mean(tile, model.tiles) if model.tiles else "none"
            raise fields.error(tile, f"is no tile of family {model.name}", allowed=allowed)
    return {tile: fields.integer(tile, minimum=1) for tile in fields.keys()}  # noqa: SIM118
