"""The golden model's convolutions against PyTorch's autograd, in float64, and whole steps of networks in float64.

python benchmarks/golden_torch.py

Needs PyTorch, which is no dependency for it takes 900 MB: pip install torch==2.13.0
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from figures import Figure, print_figures

from dse.golden import FloatArithmetic, GoldenModel, Window, forward, input_grad, weight_grad
from dse.golden.product import Array
from dse.network import Layer
from dse.networks import load_network

CASES = 200
LIMIT = 1e-12
"""Relative to the largest element: rounding of float64 over some thousand terms."""


def drawn(rng: np.random.Generator) -> tuple[Array, Array, Window]:
    """x, w and a window: kernels 1 to 7, strides 1 to 4, padding, dilation, groups and depthwise."""
    kernel, stride = (int(k) for k in rng.integers(1, 8, 2)), (int(s) for s in rng.integers(1, 5, 2))
    rows, columns = kernel
    dilation, groups = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    pad_rows, pad_columns = int(rng.integers(0, rows + 1)), int(rng.integers(0, columns + 1))
    window = Window((rows, columns), tuple(stride), (pad_rows, pad_columns) * 2, (dilation, dilation), groups)
    n, m = (int(count) for count in rng.integers(1, 5, 2))
    size = [dilation * (k - 1) + 1 + int(rng.integers(0, 12)) for k in (rows, columns)]
    return rng.normal(size=(3, n * groups, *size)), rng.normal(size=(m * groups, n, rows, columns)), window


def difference(ours: Array, theirs: torch.Tensor) -> float:
    """Largest deviation, relative to the largest element."""
    expected = theirs.detach().numpy()
    return float(np.abs(ours - expected).max() / max(np.abs(expected).max(), 1e-300))


def convolutions() -> dict[str, float]:
    """Largest deviation of each phase over all cases."""
    rng, worst = np.random.default_rng(0), {"forward": 0.0, "input_grad": 0.0, "weight_grad": 0.0}
    for _ in range(CASES):
        x, w, window = drawn(rng)
        tx, tw = torch.tensor(x, requires_grad=True), torch.tensor(w, requires_grad=True)
        ty = torch.nn.functional.conv2d(tx, tw, None, window.stride, window.padding[:2], window.dilation, window.groups)
        e = rng.normal(size=ty.shape)
        ty.backward(torch.tensor(e))
        found = {
            "forward": difference(forward(x, w, window), ty),
            "input_grad": difference(input_grad(e, w, window, x.shape[2:]), tx.grad),
            "weight_grad": difference(weight_grad(x, e, window), tw.grad),
        }
        worst = {phase: max(worst[phase], found[phase]) for phase in worst}
    return worst


def apply(layer: Layer, inputs: list[torch.Tensor], own: dict[str, torch.Tensor]) -> torch.Tensor:
    """One layer in PyTorch."""
    x, functional = inputs[0], torch.nn.functional
    if layer.op in ("conv", "fc"):
        shaped = x.reshape(-1, *layer.in_shape)
        padding = layer.padding[:2]
        assert layer.padding == padding * 2
        weight, bias = own["weight"], own.get("bias")
        return functional.conv2d(shaped, weight, bias, layer.stride, padding, layer.dilation, layer.groups)
    if layer.op == "batch_norm":
        return functional.batch_norm(x, None, None, own["weight"], own["bias"], training=True, eps=1e-5)
    if layer.op == "max_pool":
        return functional.max_pool2d(x, layer.kernel, layer.stride, layer.padding[:2])
    if layer.op == "global_avg_pool":
        return x.mean(dim=(2, 3), keepdim=True)
    return {"relu": torch.relu, "flatten": lambda t: t.reshape(-1, *layer.out_shape), "add": lambda t: t + inputs[1]}[
        layer.op
    ](x)


def step(name: str) -> float:
    """Largest deviation of any gradient of one step of a shipped network."""
    network, rng = load_network(name), np.random.default_rng(1)
    model = GoldenModel(network, FloatArithmetic(learning_rate=0.0), 0)
    model.parameters = {n: {k: v.astype(np.float64) for k, v in own.items()} for n, own in model.parameters.items()}
    x, labels = rng.uniform(-1, 1, (4, *network.input_shape)), rng.integers(0, network.layers[-1].in_shape[0], 4)
    tensors = {
        n: {k: torch.tensor(v, requires_grad=k in ("weight", "bias")) for k, v in own.items()}
        for n, own in model.parameters.items()
    }
    values = {"input": torch.tensor(x)}
    for layer in network.layers[:-1]:
        values[layer.name] = apply(layer, [values[source] for source in layer.inputs], tensors[layer.name])
    logits = values[network.layers[-1].inputs[0]].reshape(4, -1)
    torch.nn.functional.cross_entropy(logits, torch.tensor(labels)).backward()
    gradients = model.iterate(x, labels).gradients
    return max(difference(g, tensors[n][k].grad) for n, own in gradients.items() for k, g in own.items())


def main() -> int:
    figures = [Figure(f"{phase}, {CASES} cases", worst, "", LIMIT) for phase, worst in convolutions().items()]
    figures += [Figure(f"gradients of {name}", step(name), "", 1e-9) for name in ("cnn_1x", "resnet20_cifar10")]
    print(f"Largest deviation from PyTorch {torch.__version__}, relative to the largest element\n")
    return print_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
