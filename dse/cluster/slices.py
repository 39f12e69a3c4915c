"""What slices of layers have in common: which layers work channel by channel, and a slice of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.network import Layer

__all__ = ["channel_wise", "share", "sliced"]

_CHANNEL_WISE = frozenset({
    "batch_norm", "instance_norm", "bias", "relu", "relu6", "leaky_relu", "clip", "hard_sigmoid", "sigmoid", "tanh",
    "hard_swish", "swish", "silu", "gelu", "elu", "prelu", "channel_scale", "max_pool", "avg_pool", "dropout",
})  # fmt: skip


def channel_wise(layer: Layer) -> bool:
    """Whether every output channel needs one input channel only."""
    depthwise = layer.op == "conv" and layer.groups == layer.in_shape[0] == layer.out_shape[0] > 1
    return depthwise or layer.op in _CHANNEL_WISE


def share(channels: int, number: int, count: int) -> int:
    """Channels of slice ``number`` of ``count``, as even as whole channels allow."""
    return channels * (number + 1) // count - channels * number // count


def sliced(layer: Layer, run: Sequence[str], number: int, count: int) -> Layer:
    """Slice ``number`` of a channel-wise layer, which reads the slice of a layer of ``run`` or all of another."""
    channels = layer.in_shape[0]
    mine = share(channels, number, count)
    source = layer.inputs[0]
    return replace(
        layer,
        name=f"{layer.name}.{number}",
        inputs=(f"{source}.{number}" if source in run else source,),
        in_shape=(mine, *layer.in_shape[1:]),
        out_shape=(mine, *layer.out_shape[1:]),
        groups=mine if layer.op == "conv" else layer.groups,
        parameters=layer.parameters * mine // channels,
    )
