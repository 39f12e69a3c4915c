"""Steps of the backward pass: errors handed from layer to layer, gradients, updates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dse.engine import EngineLayout
from dse.errors import InputError
from dse.golden.integer import GUARD_BITS, VECTOR_SHIFT
from dse.golden.integer_batch_norm import error_exponent
from dse.golden.integer_layers import activation_shift
from dse.golden.pooling import RECIPROCAL_BITS
from dse.golden.update import VELOCITY_BITS
from dse.network import Layer
from dse.schedule.hardware import POOLS
from dse.schedule.record import Rule
from dse.schedule.tensors import Tensor
from dse.schedule.work import Work, pooling
from dse.vector import ChannelOperation

__all__ = ["backward_steps"]


def backward_steps(work: Work, source: str, wide: Tensor) -> None:
    """From the wide error of the stored output ``source`` to the last update."""
    pending = _Errors(work)
    pending.deliver(source, work.graph.loss, wide)
    for layer in reversed(work.graph.layers):
        error = pending.of(layer)
        if error is not None and (layer.needs_input_grad or layer.parameters):
            _BACKWARD[layer.op](work, pending, layer, error)


@dataclass
class _Errors:
    """Errors that have arrived at stored outputs and wait for their layer's turn, all narrow."""

    work: Work
    arrived: dict[str, list[Tensor]] = field(default_factory=dict)
    masked: set[str] = field(default_factory=set)
    """ReLUs that are done: their mask was applied as an error was normalised."""

    def deliver(self, source: str, producer: Layer, error: Tensor) -> None:
        """Hand ``error`` to the stored output ``source``; a wide one is normalised at once, for its room is shared."""
        work = self.work
        if source == "input":
            return
        if not work.is_wide(error):
            self.arrived.setdefault(source, []).append(error)
            return
        alone = self._alone(source)
        narrow = self._normalised(source, producer, error, alone)
        self._arrive(source, narrow, alone)

    def room(self, source: str, producer: Layer) -> Tensor:
        """A tensor for a narrow error of ``source``, named after both where it is not the whole of it."""
        name = source if self._alone(source) else f"{source} from {producer.name}"
        return self.work.tensors.maps("error", name, self.work.map_shape(source), slot=True)

    def of(self, layer: Layer) -> Tensor | None:
        """The error of the output of ``layer``; several are added first. None where none comes, or it is done."""
        name = layer.name
        found = self.arrived.pop(name, [])
        if not found or name in self.masked:
            return None
        if len(found) == 1:
            return found[0]
        a, b = found
        work, wide = self.work, self.work.scratch(name)
        rule = Rule("align", start="max", addend=-GUARD_BITS, a=a.slot, b=b.slot, o=wide.slot)
        work.elementwise(layer, "input_grad", "sum of two errors", "sum", a, b, wide, rule)
        narrow = self._normalised(name, layer, wide, True)
        self._arrive(name, narrow, True)
        return None if name in self.masked else self.arrived.pop(name)[0]

    def _normalised(self, source: str, producer: Layer, wide: Tensor, final: bool) -> Tensor:
        """The wide error in operands' width; masked where ``source`` is a ReLU and nothing else is to come."""
        work, relu = self.work, final and self._is_relu(source)
        if relu:
            narrow = self.room(self._before(source), self._layer(source))
        elif final:
            narrow = work.tensors.maps("error", source, work.map_shape(source), slot=True)
        else:
            narrow = self.room(source, producer)
        mask = work.tensors["activation", source] if relu else None
        rule = Rule("normalise", start="a", shifted=True, a=wide.slot, o=narrow.slot)
        what = "normalise and mask" if relu else "normalise"
        work.elementwise(producer, "input_grad", what, "pass", wide, mask, narrow, rule, masks=relu)
        return narrow

    def _alone(self, source: str) -> bool:
        return self.work.graph.readers[source] == 1

    def _arrive(self, source: str, narrow: Tensor, final: bool) -> None:
        if final and self._is_relu(source):
            self.masked.add(source)
            source = self._before(source)
        self.arrived.setdefault(source, []).append(narrow)

    def _layer(self, source: str) -> Layer:
        return next(layer for layer in self.work.graph.layers if layer.name == source)

    def _is_relu(self, source: str) -> bool:
        return self._layer(source).op == "relu"

    def _before(self, relu: str) -> str:
        return self.work.graph.inputs(self._layer(relu))[0]


def _convolution(work: Work, pending: _Errors, layer: Layer, error: Tensor) -> None:
    source = work.graph.inputs(layer)[0]
    x, weight = work.tensors["activation", source], work.tensors["weight", layer.name]
    if layer.needs_input_grad:
        wide = work.scratch(source)
        shift = activation_shift(layer, work.hw.operand_bits)
        rule = Rule(start="a", addend=-shift, a=error.slot, o=wide.slot)
        work.engine(layer, "input_grad", error, weight, wide, raw=True, rule=rule)
        pending.deliver(source, layer, wide)
    gradient = work.tensors.add("gradient", layer.name, work.weights(layer, wide=True), slot=True)
    work.engine(layer, "weight_grad", x, error, gradient, raw=True, rule=Rule(o=gradient.slot))
    _update(work, layer, gradient, weight)
    if layer.bias:
        _bias_gradient(work, layer, error)


def _bias(work: Work, pending: _Errors, layer: Layer, error: Tensor) -> None:
    if layer.needs_input_grad:
        pending.deliver(work.graph.inputs(layer)[0], layer, error)
    _bias_gradient(work, layer, error)


def _bias_gradient(work: Work, layer: Layer, error: Tensor) -> None:
    bias = work.tensors["bias", layer.name]
    gradient = work.tensors.vector("bias_gradient", layer.name, layer.out_shape[0], wide=True, slot=True)
    asked = ChannelOperation("sum", error.image, error.base, writes=(gradient.base,))
    work.channel(layer, "weight_grad", "gradient of bias", asked, Rule(o=gradient.slot))
    _update(work, layer, gradient, bias, vector=True)


def _batch_norm(work: Work, pending: _Errors, layer: Layer, error: Tensor) -> None:
    source, channels, tensors = work.graph.inputs(layer)[0], layer.out_shape[0], work.tensors
    x = tensors["copy" if ("copy", source) in tensors else "activation", source]
    wide = work.scratch(source) if layer.needs_input_grad else None
    weight, bias, mean, inverse = (tensors[kind, layer.name] for kind in ("weight", "bias", "mean", "inverse"))
    of_weight = tensors.vector("gradient", layer.name, channels, wide=True, slot=True)
    of_bias = tensors.vector("bias_gradient", layer.name, channels, wide=True, slot=True)
    asked = ChannelOperation(
        "norm_backward", error.image, error.base, x.base, wide.base if wide else None,
        (mean.base, inverse.base, weight.base), (of_weight.base, of_bias.base),
    )  # fmt: skip
    rule = Rule(
        start="a", addend=error_exponent(work.hw.operand_bits), a=error.slot, o=wide.slot if wide else None,
        weight=of_weight.slot, bias=of_bias.slot,
    )  # fmt: skip
    work.channel(layer, "input_grad", "gradients of the normalised batch", asked, rule)
    if wide:
        pending.deliver(source, layer, wide)
    _update(work, layer, of_weight, weight, vector=True)
    _update(work, layer, of_bias, bias, vector=True)


def _relu(work: Work, pending: _Errors, layer: Layer, error: Tensor) -> None:
    """The mask alone, for an error that came narrow."""
    source = work.graph.inputs(layer)[0]
    y = work.tensors["activation", layer.name]
    passed = pending.room(source, layer)
    rule = Rule(start="a", a=error.slot, o=passed.slot)
    work.elementwise(layer, "input_grad", "mask", "pass", error, y, passed, rule, masks=True)
    pending.deliver(source, layer, passed)


def _add(work: Work, pending: _Errors, layer: Layer, error: Tensor) -> None:
    for source in work.graph.inputs(layer):
        pending.deliver(source, layer, error)


def _pool(work: Work, pending: _Errors, layer: Layer, error: Tensor) -> None:
    """Errors back to where the largest was, or to all of the window; nothing where nobody asks."""
    if not layer.needs_input_grad:
        return
    source = work.graph.inputs(layer)[0]
    asked = pooling(work, layer, a=error.base, backward=True)
    passed = work.scratch(source) if asked.wide else pending.room(source, layer)
    index = work.tensors["index", layer.name].base if layer.op == "max_pool" else 0
    addend = 0 if layer.op == "max_pool" else -RECIPROCAL_BITS
    rule = Rule(start="a", addend=addend, a=error.slot, o=passed.slot)
    work.pool(layer, "input_grad", layer.op, replace(asked, b=index, y=passed.base), rule)
    pending.deliver(source, layer, passed)


def _update(work: Work, layer: Layer, gradient: Tensor, parameter: Tensor, vector: bool = False) -> None:
    rule = Rule("step", extra=VECTOR_SHIFT if vector else 0, a=gradient.slot)
    what = f"update of {parameter.kind}"
    if work.workload.optimiser.name == "sgd":
        work.elementwise(layer, "update", what, "update", gradient, parameter, parameter, rule)
        return
    if not work.hardware.has_momentum:
        raise InputError(
            f"layer {layer.name}", "this accelerator keeps no velocities", work.workload.optimiser.name, "sgd"
        )
    layout = work.weights(layer, wide=True) if isinstance(gradient.layout, EngineLayout) else gradient.layout
    velocity = work.tensors.add(f"{parameter.kind}_velocity", layer.name, layout)
    work.elementwise(
        layer, "update", f"velocity of {parameter.kind}", "momentum", gradient, velocity, velocity, rule,
        shift=-VELOCITY_BITS,
    )  # fmt: skip
    work.elementwise(layer, "update", what, "update", velocity, parameter, parameter, shift=VELOCITY_BITS)


_BACKWARD: Mapping[str, Callable[[Work, _Errors, Layer, Tensor], None]] = {
    "conv": _convolution,
    "fc": _convolution,
    "bias": _bias,
    "batch_norm": _batch_norm,
    "relu": _relu,
    "add": _add,
    **dict.fromkeys(POOLS, _pool),
}
