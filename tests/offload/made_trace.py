"""Traces as the PyTorch profiler writes them: nested operators, a backward thread, kernels that name their launcher."""

from __future__ import annotations

from typing import Any

from dse.network import Network

NAMES = {
    "conv": ("aten::conv2d", "aten::convolution", "aten::cudnn_convolution"),
    "fc": ("aten::linear", "aten::addmm"),
    "relu": ("aten::relu_",),
    "max_pool": ("aten::max_pool2d", "aten::max_pool2d_with_indices"),
    "batch_norm": ("aten::batch_norm", "aten::cudnn_batch_norm"),
    "add": ("aten::add_",),
    "global_avg_pool": ("aten::adaptive_avg_pool2d", "aten::mean"),
    "softmax_cross_entropy": ("aten::cross_entropy_loss", "aten::log_softmax"),
}
FORWARD, BACKWARD = 11, 12


class Recorder:
    """Writes events with times and numbers that run on."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.clock, self.external, self.sequence = 1000.0, 0, 0

    def operators(self, names: tuple[str, ...], thread: int, sequence: int, shape: list[int]) -> int:
        """Nested operators; the external id of the innermost."""
        for depth, name in enumerate(names):
            self.external += 1
            arguments: dict[str, Any] = {"External id": self.external, "Input Dims": [shape]}
            if depth < 2:
                arguments["Sequence number"] = sequence
            self._add("cpu_op", name, self.clock + depth, 100.0 - 2 * depth, thread, arguments)
        self.clock += 100
        return self.external

    def kernel(self, name: str, external: int, length_us: float) -> None:
        """A kernel some time after its launch."""
        self._add("kernel", name, self.clock + 5000, length_us, 7, {"External id": external, "stream": 7})

    def _add(self, kind: str, name: str, start: float, length: float, thread: int, arguments: dict[str, Any]) -> None:
        event = {"ph": "X", "cat": kind, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": length}
        self.events.append({**event, "args": arguments})


def made_trace(network: Network, iterations: int = 2) -> tuple[dict[str, Any], dict[tuple[str, str], float]]:
    """A trace, and the seconds of each layer and phase that were put into it."""
    record, expected = Recorder(), {}
    for _ in range(iterations):
        numbers = {}
        for place, layer in enumerate(network.layers, 1):
            if layer.op not in NAMES:
                continue
            if layer.op == "batch_norm":
                record.kernel("counter", record.operators(("aten::add_",), FORWARD, record.sequence, []), 1.0)
            numbers[layer.name] = record.sequence
            record.kernel(
                "forward", record.operators(NAMES[layer.op], FORWARD, record.sequence, [4, 3, 8, 8]), 10.0 * place
            )
            expected[layer.name, "forward"] = 10e-6 * place
            record.sequence += 1
        for place, layer in reversed(list(enumerate(network.layers, 1))):
            if layer.name in numbers:
                _backward(record, layer.name, layer.op, layer.needs_input_grad, numbers[layer.name], place, expected)
        record.kernel("sgd", record.operators(("aten::_foreach_add_",), FORWARD, record.sequence, [1]), 50.0)
    trace = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Tesla V100"}], "traceEvents": record.events}
    return trace, expected


def _backward(
    record: Recorder,
    name: str,
    op: str,
    needs_input_grad: bool,
    number: int,
    place: int,
    expected: dict[tuple[str, str], float],
) -> None:
    nodes = ("autograd::engine::evaluate_function: SomeBackward0", "SomeBackward0", "aten::some_backward")
    external = record.operators(nodes, BACKWARD, number, [1])
    if op == "conv" and needs_input_grad:
        record.kernel("cudnn_dgrad_128x64", external, 7.0 * place)
        record.kernel("cudnn_wgrad_128x64", external, 3.0 * place)
        expected[name, "input_grad"], expected[name, "weight_grad"] = 7e-6 * place, 3e-6 * place
    elif op == "fc" and needs_input_grad:
        record.kernel("gemm", external, 8.0 * place)
        expected[name, "input_grad"] = expected[name, "weight_grad"] = 4e-6 * place
    else:
        record.kernel("backward", external, 5.0 * place)
        expected[name, "weight_grad" if op in ("conv", "fc") else "input_grad"] = 5e-6 * place
