"""Times of a training step's operations on a GPU from a trace of the PyTorch profiler (Chrome trace JSON).

A kernel names the operator that launched it by ``External id``. Operators nest by time on their thread; the outermost
one that is in OPERATORS is a layer's forward pass. A node of the backward pass carries the ``Sequence number`` of the
forward operator that it belongs to. The k-th operator of a kind is the network's k-th layer of that kind.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.errors import InputError
from dse.network import MAC_OPERATIONS, Network
from dse.offload.trace_events import Operator, link_kernels, read_operators

__all__ = ["OPERATORS", "TraceTimes", "read_trace"]

OPERATORS = {
    "conv": ("aten::conv1d", "aten::conv2d", "aten::convolution"),
    "conv_transpose": ("aten::conv_transpose2d",),
    "fc": ("aten::linear", "aten::addmm"),
    "matmul": ("aten::matmul", "aten::bmm"),
    "batch_norm": ("aten::batch_norm",),
    "layer_norm": ("aten::layer_norm",),
    "relu": ("aten::relu", "aten::relu_"),
    "relu6": ("aten::hardtanh", "aten::hardtanh_"),
    "gelu": ("aten::gelu",),
    "softmax": ("aten::softmax",),
    "max_pool": ("aten::max_pool2d",),
    "avg_pool": ("aten::avg_pool2d",),
    "global_avg_pool": ("aten::adaptive_avg_pool2d", "aten::mean"),
    "dropout": ("aten::dropout", "aten::dropout_"),
    "add": ("aten::add", "aten::add_"),
    "softmax_cross_entropy": ("aten::cross_entropy_loss",),
}
"""Our operation -> the operators of PyTorch that run it forward."""

_KINDS = {name: op for op, names in OPERATORS.items() for name in names}
_BACKWARD = "autograd::engine::evaluate_function: "


@dataclass(frozen=True)
class TraceTimes:
    """Seconds on the GPU by layer and phase, the mean over the trace's iterations."""

    seconds: Mapping[tuple[str, str], float]
    iterations: int
    attributed: float
    """Share of the kernels' time that belongs to a layer; the rest is the optimiser's, copies and what is unknown."""
    unmatched: tuple[str, ...]
    """Operations whose count in the trace does not fit the network; their layers have no times."""
    gpu: str
    """The card's name as the trace gives it; empty where it does not."""


def read_trace(path: Path, network: Network) -> TraceTimes:
    """Times of the layers of ``network`` from the trace of one or more iterations of its training.

    Convolution and fully connected kernels of the backward pass are input or weight gradient by their name (``dgrad``,
    ``wgrad``); other kernels of a node that computes both are shared evenly. Raises InputError for a file that is no
    trace, has no GPU kernels, or whose convolutions and fully connected layers are not those of the network.
    """
    content = _load(path)
    operators = read_operators(path, content["traceEvents"], _root_of)
    kernels = link_kernels(content["traceEvents"], operators)
    if not kernels:
        raise InputError(str(path), "has no GPU kernels", 0, "a trace with ProfilerActivity.CUDA")
    forward = [root for root in operators.roots if root.name in _KINDS and root.kernels]
    layers, iterations, unmatched = _match(path, network, forward)
    total = sum(kernel.seconds for kernel in kernels)
    seconds: dict[tuple[str, str], float] = {}
    for root, layer in layers.items():
        _add(seconds, layer, "forward", sum(kernel.seconds for kernel in root.kernels))
    by_sequence = {number: layer for root, layer in layers.items() for number in root.sequence}
    for root in operators.roots:
        layer = next((by_sequence[n] for n in root.sequence if n in by_sequence), "")
        if root.name.startswith(_BACKWARD) and layer:
            for phase, part in _backward(network, layer, root):
                _add(seconds, layer, phase, part)
    devices = content.get("deviceProperties") or [{}]
    return TraceTimes(
        seconds={key: value / iterations for key, value in seconds.items() if value > 0},
        iterations=iterations,
        attributed=sum(seconds.values()) / total if total else 0.0,
        unmatched=unmatched,
        gpu=str(devices[0].get("name", "")) if isinstance(devices, list) and isinstance(devices[0], dict) else "",
    )


def _load(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        content = json.loads(text)
    except OSError as error:
        raise InputError(str(path), f"cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, RecursionError) as error:
        raise InputError(str(path), f"is not valid JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("traceEvents"), list):
        raise InputError(str(path), "is no Chrome trace", allowed="what export_chrome_trace writes, with traceEvents")
    return content


def _root_of(name: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an operator stands for a whole layer's pass; a sum into a scalar (a counter) does not."""
    shapes = arguments.get("Input Dims")
    if _KINDS.get(name) == "add" and isinstance(shapes, list) and shapes and not shapes[0]:
        return False
    return name in _KINDS or name.startswith(_BACKWARD)


def _match(
    path: Path, network: Network, forward: Iterable[Operator]
) -> tuple[dict[Operator, str], int, tuple[str, ...]]:
    """Forward operator -> layer, the number of iterations, and the operations that do not fit."""
    found: dict[str, list[Operator]] = {}
    for root in forward:
        found.setdefault(_KINDS[root.name], []).append(root)
    wanted: dict[str, list[str]] = {}
    for layer in network.layers:
        wanted.setdefault(layer.op, []).append(layer.name)
    counts = {op: (len(found.get(op, ())), len(names)) for op, names in wanted.items() if op in OPERATORS}
    for op, (have, need) in counts.items():
        if op in MAC_OPERATIONS and (have == 0 or have % need):
            rule = f"{op} operators are no multiple of the layers of network {network.name}"
            raise InputError(str(path), rule, have, f"{need} an iteration")
    iterations = {have // need for op, (have, need) in counts.items() if op in MAC_OPERATIONS}
    if len(iterations) != 1:
        raise InputError(str(path), "kinds of operators do not agree on the iterations", sorted(iterations))
    (count,) = iterations
    fitting = {op for op, (have, need) in counts.items() if have == need * count}
    layers = {root: wanted[op][number % len(wanted[op])] for op in fitting for number, root in enumerate(found[op])}
    return layers, count, tuple(op for op in counts if op not in fitting)


def _backward(network: Network, layer: str, root: Operator) -> list[tuple[str, float]]:
    """(phase, seconds) of a backward node's kernels."""
    described = network[layer]
    both = described.op in MAC_OPERATIONS and described.needs_input_grad and described.needs_weight_grad
    only = "weight_grad" if described.op in MAC_OPERATIONS and not described.needs_input_grad else "input_grad"
    parts = []
    for kernel in root.kernels:
        if not both:
            parts.append((only, kernel.seconds))
        elif "wgrad" in kernel.name:
            parts.append(("weight_grad", kernel.seconds))
        elif "dgrad" in kernel.name:
            parts.append(("input_grad", kernel.seconds))
        else:
            parts += [("input_grad", kernel.seconds / 2), ("weight_grad", kernel.seconds / 2)]
    return parts


def _add(seconds: dict[tuple[str, str], float], layer: str, phase: str, value: float) -> None:
    seconds[layer, phase] = seconds.get((layer, phase), 0.0) + value
