"""The backward graph of a network: what the forward pass must keep for which backward step, and the DRAM it takes.

An iteration of L layers has 2 L steps: forward of layer 0 to L - 1, then backward of layer L - 1 to 0. A tensor lives
from the step that makes it to the last one that reads it. Weights, their gradients and optimiser states always live.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dse.network import Layer, Network
from dse.workload import Workload

__all__ = ["KEEPS", "Kept", "TrainingMemory", "gradient_sums", "kept_tensors", "training_memory"]

_MASKED = ("relu", "relu6", "dropout", "clip", "leaky_relu", "hard_sigmoid")
_FROM_OUTPUT = ("sigmoid", "tanh", "elu")
_FROM_INPUT = ("swish", "gelu", "hard_swish", "erf", "prelu")
_NORMS = ("batch_norm", "instance_norm", "layer_norm", "group_norm")

KEEPS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("conv", "conv_transpose", "fc"), ("inputs",)),
    "matmul": ("inputs",),
    **dict.fromkeys(_MASKED, ("mask",)),
    **dict.fromkeys(_FROM_OUTPUT, ("output",)),
    **dict.fromkeys(_FROM_INPUT, ("inputs",)),
    # EF-Train sections 3.5 and 3.6: the normalised map and the inverse deviations.
    **dict.fromkeys(_NORMS, ("normalised", "statistics")),
    "lrn": ("inputs", "denominators"),
    "max_pool": ("index",),
    **dict.fromkeys(("mul", "channel_mul", "channel_scale", "embedding", "sum_square_error"), ("inputs",)),
    **dict.fromkeys(("softmax", "softmax_cross_entropy"), ("output",)),
}
"""Operation -> what its backward step reads beside the error of its output: ``inputs`` and ``output`` are the maps that
the network has anyway, the others (a mask of one bit per output, an index into the window, ...) are made for it. Other
operations keep nothing."""

_IN_PLACE = frozenset(
    {*_MASKED, *_FROM_OUTPUT, "bias", "scale", "flatten", "reshape", "add", "sub", "softmax", "softmax_cross_entropy"}
)
"""Operations whose output may take the place of an input that nobody else needs."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One tensor in DRAM: made by layer number ``layer`` (-1: the network's input), alive from ``born`` to ``dies``."""

    layer: int
    kind: str
    """``map``, what KEEPS names, ``columns`` (an unrolled map), ``error``, or ``partial`` (a gradient to be added)."""
    elements: int
    bits: int
    """Of an element; 0 stands for the data type's."""
    per_sample: bool
    born: int
    dies: int


@dataclass(frozen=True)
class TrainingMemory:
    """DRAM that a training step takes, in bytes."""

    peak_bytes: float
    """At the step at which it is most, parameters included."""
    peak_step: tuple[str, str]
    """Which that is: a layer's name, ``forward`` or ``backward``."""
    parameter_bytes: float
    """Weights and their gradients."""
    state_bytes: float
    """What the optimiser keeps from iteration to iteration."""
    kept_bytes: NDArray[np.float64]
    """What each layer keeps for the backward pass, for the whole batch [L]."""
    input_bytes: float
    """The batch itself, where it is kept."""


def _inputs(network: Network) -> list[list[int]]:
    """The layer numbers that each layer reads, -1 for the network's input."""
    numbers = {layer.name: number for number, layer in enumerate(network.layers)}
    return [[numbers.get(name, -1) for name in layer.inputs] for layer in network.layers]


def _passes_gradient(layer: Layer, position: int) -> bool:
    """Whether the layer computes the gradient of its input number ``position``."""
    if layer.op == "matmul":
        return layer.needs_weight_grad if position else layer.needs_input_grad
    return layer.needs_input_grad


def _gradient_readers(network: Network) -> list[list[int]]:
    """For each layer the layers that send a gradient into its output, in order; twice where they read it twice."""
    trained = [layer.parameters > 0 for layer in network.layers]
    readers: list[list[int]] = [[] for _ in network.layers]
    for number, (layer, inputs) in enumerate(zip(network.layers, _inputs(network), strict=True)):
        for position, source in enumerate(inputs):
            if source >= 0 and trained[source]:
                trained[number] = True
                if _passes_gradient(layer, position):
                    readers[source].append(number)
    return readers


@lru_cache(maxsize=64)
def gradient_sums(network: Network) -> tuple[tuple[int, int], ...]:
    """(reader, elements per sample) of every sum of gradients at a fork.

    The backward pass meets the last reader first; every other one adds its gradient to what is there.
    """
    return tuple(
        (reader, network.layers[number].out_elements)
        for number, readers in enumerate(_gradient_readers(network))
        for reader in readers[:-1]
    )


@lru_cache(maxsize=64)
def kept_tensors(network: Network, unrolled: bool = False) -> tuple[Kept, ...]:
    """Every tensor of a training step beside the parameters, with its lifetime.

    With ``unrolled`` a convolution keeps the columns of its input that a matrix product reads instead of the input.
    """
    steps = 2 * len(network.layers)
    inputs = _inputs(network)
    last_read, kept_for = _uses(network, inputs, unrolled)
    tensors = []
    for number in range(-1, len(network.layers)):
        size = _elements(network, number)
        dies = max([number, *last_read.get(number, [])])
        if number in kept_for:
            dies = steps - 1 - min(kept_for[number])
        elif _overwritten(network, inputs, number, last_read):
            dies = max(dies - 1, number)
        tensors.append(Kept(number, "map", size, 0, True, max(number, 0), max(dies, 0)))
        if number >= 0:
            tensors += _made_for_backward(network.layers[number], number, steps, unrolled)
    return tuple(one for one in [*tensors, *_errors(network, inputs, steps)] if one.elements)


def _elements(network: Network, number: int) -> int:
    """Elements of a map per sample; a learned map is its parameters and takes nothing more."""
    if number < 0:
        return math.prod(network.input_shape)
    layer = network.layers[number]
    return 0 if layer.op == "parameter" else layer.out_elements


def _learns(layer: Layer) -> bool:
    return layer.needs_input_grad or layer.parameters > 0 or (layer.op == "matmul" and layer.needs_weight_grad)


def _uses(
    network: Network, inputs: list[list[int]], unrolled: bool
) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Map number -> the layers that read it forward, and -> the layers whose backward step reads it."""
    read: dict[int, list[int]] = {}
    kept: dict[int, list[int]] = {}
    for number, (layer, sources) in enumerate(zip(network.layers, inputs, strict=True)):
        for source in sources:
            read.setdefault(source, []).append(number)
        if not _learns(layer):
            continue
        keeps = KEEPS.get(layer.op, ())
        if "output" in keeps:
            kept.setdefault(number, []).append(number)
        if "inputs" in keeps and not (unrolled and _columns(layer)):
            # Of a product each gradient reads the other factor.
            wanted = (
                (layer.needs_weight_grad, layer.needs_input_grad) if layer.op == "matmul" else (True,) * len(sources)
            )
            for source, want in zip(sources, wanted, strict=True):
                if want:
                    kept.setdefault(source, []).append(number)
    return read, kept


def _overwritten(network: Network, inputs: list[list[int]], number: int, read: dict[int, list[int]]) -> bool:
    """Whether the last layer that reads a map writes its output, or what it keeps, in its place."""
    if not read.get(number):
        return False
    last = max(read[number])
    layer, size = network.layers[last], _elements(network, number)
    alone = read[number].count(last) == 1
    if layer.op in _NORMS:
        return alone
    return alone and layer.op in _IN_PLACE and inputs[last][0] == number and layer.out_elements == size


def _columns(layer: Layer) -> int:
    """Elements of the unrolled map of a convolution; 0 where it is the map itself."""
    if layer.op not in ("conv", "conv_transpose") or layer.kernel == (1, 1):
        return 0
    large, small = layer.in_shape, layer.out_shape
    if layer.op == "conv_transpose":
        large, small = small, large
    return large[0] * layer.kernel[0] * layer.kernel[1] * small[1] * small[2]


def _made_for_backward(layer: Layer, number: int, steps: int, unrolled: bool) -> list[Kept]:
    """What a layer writes forward for no other reason than its backward step."""
    if not _learns(layer):
        return []
    channels, pixels = layer.in_shape[0], math.prod(layer.in_shape[1:])
    window = layer.kernel[0] * layer.kernel[1]
    sizes = {
        "mask": (layer.out_elements, 1, True),
        "index": (layer.out_elements, max(1, math.ceil(math.log2(window))), True),
        "normalised": (layer.in_elements, 0, True),
        "statistics": (pixels if layer.op == "layer_norm" else channels, 0, layer.op != "batch_norm"),
        "denominators": (layer.in_elements, 0, True),
        "columns": (_columns(layer), 0, True),
    }
    kinds = [kind for kind in KEEPS.get(layer.op, ()) if kind in sizes] + ["columns"] * (
        unrolled and _columns(layer) > 0
    )
    return [Kept(number, kind, *sizes[kind], number, steps - 1 - number) for kind in kinds]


def _errors(network: Network, inputs: list[list[int]], steps: int) -> list[Kept]:
    """The gradients of maps: from the first backward step that writes one to the step that uses it up."""
    tensors = []
    for number, readers in enumerate(_gradient_readers(network)):
        if not readers:
            continue
        size, layer = network.layers[number].out_elements, network.layers[number]
        dies = steps - 1 - number
        alone = layer.op in _IN_PLACE and layer.needs_input_grad and inputs[number][0] >= 0
        if alone and _elements(network, inputs[number][0]) == size:
            dies -= 1  # the gradient of its input takes its place
        born = steps - 1 - readers[-1]
        tensors.append(Kept(number, "error", size, 0, True, born, max(dies, born)))
        tensors += [
            Kept(number, "partial", size, 0, True, steps - 1 - reader, steps - 1 - reader) for reader in readers[:-1]
        ]
    return tensors


@lru_cache(maxsize=64)
def _profile(network: Network, unrolled: bool, bits: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bytes alive at each of the 2 L steps: per sample, and for the whole batch at once."""
    change = np.zeros((2, 2 * len(network.layers) + 1))
    for one in kept_tensors(network, unrolled):
        size = one.elements * (one.bits or bits) / 8
        change[int(not one.per_sample), one.born] += size
        change[int(not one.per_sample), one.dies + 1] -= size
    alive = np.cumsum(change, axis=1)[:, :-1]
    return alive[0], alive[1]


def training_memory(workload: Workload, unrolled: bool = False) -> TrainingMemory:
    """The DRAM of one training step, and where it is most.

    ``unrolled`` as in ``kept_tensors``. It is a lower bound of what a layout of whole buffers needs: that no gap is
    lost between tensors that come and go is assumed.
    """
    network, batch, bits = workload.network, workload.batch_size, workload.precision.bits
    per_sample, once = _profile(network, unrolled, bits)
    alive = batch * per_sample + once
    step, count = int(np.argmax(alive)), len(network.layers)
    parameters, states = 2 * network.parameters * workload.precision.bytes, workload.state_bytes
    kept, batch_kept = np.zeros(count), 0.0
    for one in kept_tensors(network, unrolled):
        size = one.elements * (one.bits or bits) / 8 * (batch if one.per_sample else 1)
        if one.born < count <= one.dies:
            if one.layer < 0:
                batch_kept = size
            else:
                kept[one.layer] += size
    name = network.layers[min(step, 2 * count - 1 - step)].name
    return TrainingMemory(
        float(alive[step]) + parameters + states, (name, "forward" if step < count else "backward"), parameters, states,
        kept, batch_kept,
    )  # fmt: skip
