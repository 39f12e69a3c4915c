"""Steps of the forward pass, and of the loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dse.golden.integer_layers import activation_shift
from dse.network import Layer
from dse.schedule.hardware import POOLS
from dse.schedule.record import Rule
from dse.schedule.tensors import SPACES, Tensor
from dse.schedule.work import Work, pooling
from dse.vector import ChannelOperation

__all__ = ["forward_steps", "loss_steps"]


def forward_steps(work: Work) -> None:
    """Every layer once, its result stored; a joined ReLU is part of the step before it."""
    work.tensors.maps("activation", "input", work.map_shape("input"), space="samples")
    done = set(work.graph.joined.values())
    for layer in work.graph.layers:
        if layer.name not in done:
            _FORWARD[layer.op](work, layer)


def loss_steps(work: Work) -> tuple[str, Tensor]:
    """(stored output that the loss reads, its wide error in the scratch region)."""
    loss = work.graph.loss
    source = work.graph.inputs(loss)[0]
    y, wide = work.tensors["activation", source], work.scratch(source)
    if loss.op == "sum_square_error":
        target = work.tensors.maps("target", source, work.map_shape(source), space="targets")
        work.elementwise(loss, "forward", "outputs less targets", "differ", y, target, wide, Rule(o=wide.slot))
    else:
        work.host(loss)
        work.elementwise(loss, "forward", "scale of the host's error", "pass", wide, None, None, Rule(o=wide.slot))
    return source, wide


def _output(work: Work, layer: Layer) -> tuple[Tensor, bool]:
    """Where the result goes, and whether it is a ReLU's."""
    name = work.stored_as(layer.name)
    return work.tensors.maps("activation", name, work.map_shape(layer.name)), name != layer.name


def _input(work: Work, layer: Layer, number: int = 0) -> Tensor:
    return work.tensors["activation", work.graph.inputs(layer)[number]]


def _convolution(work: Work, layer: Layer) -> None:
    weight = work.tensors.add("weight", layer.name, work.weights(layer))
    x = _input(work, layer)
    y, relu = _output(work, layer)
    if not layer.bias:
        work.engine(layer, "forward", x, weight, y, raw=False, relu=relu)
        return
    wide = work.scratch(layer.name)
    work.engine(layer, "forward", x, weight, wide, raw=True)
    _add_bias(work, layer, wide, y, relu, activation_shift(layer, work.hw.operand_bits))


def _bias(work: Work, layer: Layer) -> None:
    y, relu = _output(work, layer)
    _add_bias(work, layer, _input(work, layer), y, relu, 0)


def _add_bias(work: Work, layer: Layer, a: Tensor, y: Tensor, relu: bool, shift: int) -> None:
    bias = work.tensors.vector("bias", layer.name, layer.out_shape[0])
    wide = work.is_wide(a)
    asked = ChannelOperation("bias", y.image, a.base, o=y.base, reads=(bias.base,), wide=wide, relu=relu, shift=shift)
    work.channel(layer, "forward", "bias", asked, a_space=a.space)


def _batch_norm(work: Work, layer: Layer) -> None:
    """The input, mean and inverse stay stored: the backward pass normalises again.

    There the unit reads its second map on the port of its vectors, thus in their space: samples are copied into it.
    """
    channels, tensors = layer.out_shape[0], work.tensors
    x = _input(work, layer)
    if x.space != SPACES[0] and ("copy", x.name) not in tensors:
        copied = tensors.maps("copy", x.name, work.map_shape(x.name))
        work.elementwise(layer, "forward", "copy of the samples", "pass", x, None, copied)
    y, relu = _output(work, layer)
    reads = [tensors.vector(kind, layer.name, channels).base for kind in ("weight", "bias")]
    writes = [tensors.vector(kind, layer.name, channels, wide=True).base for kind in ("mean", "inverse")]
    asked = ChannelOperation(
        "norm_forward", y.image, x.base, o=y.base, reads=tuple(reads), writes=tuple(writes), relu=relu
    )
    work.channel(layer, "forward", "normalise the batch", asked, a_space=x.space)


def _relu(work: Work, layer: Layer) -> None:
    y, _ = _output(work, layer)
    work.elementwise(layer, "forward", "relu", "pass", _input(work, layer), None, y, relu=True)


def _add(work: Work, layer: Layer) -> None:
    y, relu = _output(work, layer)
    a, b = _input(work, layer), _input(work, layer, 1)
    work.elementwise(layer, "forward", "add", "sum", a, b, y, relu=relu)


def _pool(work: Work, layer: Layer) -> None:
    """Max pooling also stores indexes, for the way back."""
    y, _ = _output(work, layer)
    index = work.tensors.maps("index", layer.name, work.map_shape(layer.name)) if layer.op == "max_pool" else None
    x = _input(work, layer)
    asked = pooling(work, layer, a=x.base, y=y.base, index=index.base if index else None)
    work.pool(layer, "forward", layer.op, asked, a_space=x.space)


_FORWARD: Mapping[str, Callable[[Work, Layer], None]] = {
    "conv": _convolution,
    "fc": _convolution,
    "bias": _bias,
    "batch_norm": _batch_norm,
    "relu": _relu,
    "add": _add,
    **dict.fromkeys(POOLS, _pool),
}
