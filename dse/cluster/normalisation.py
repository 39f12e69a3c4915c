"""Batch normalisation in a pipeline of layers: replaced, as NADA does, by online normalisation and a bias."""

from __future__ import annotations

from dataclasses import replace

from dse.network import Layer, Network

__all__ = ["online_normalisation"]


def online_normalisation(network: Network) -> Network:
    """``network`` with a bias per channel in the place of each batch normalisation's scale and shift, and a note.

    Frames follow each other through the layers, so that no batch is ever in one place to be normalised (NADA 2023,
    section III; Chiley et al., NeurIPS 2019).
    """
    count = sum(layer.op == "batch_norm" for layer in network.layers)
    if not count:
        return network
    note = f"{count} batch normalisations are replaced by online normalisation (Chiley et al., NeurIPS 2019)"
    return replace(network, layers=tuple(map(_online, network.layers)), notes=(*network.notes, note))


def _online(layer: Layer) -> Layer:
    if layer.op != "batch_norm" or not layer.parameters:
        return layer
    return replace(layer, parameters=layer.out_shape[0])
