"""Workloads, small networks and points of search spaces for the contract tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dse.network import Network
from dse.networks import load_network
from dse.networks.graph import build_network
from dse.networks.layer_spec import LayerSpec
from dse.space import SearchSpace
from dse.workload import Workload, precision_named

PRECISIONS = ("int8", "int16", "bf16", "fp32")


def workload(network: Network | str, batch_size: int = 4, precision: str = "fp32") -> Workload:
    """A training step of ``network``."""
    found = load_network(network) if isinstance(network, str) else network
    return Workload(found, batch_size, precision_named(precision))


def one_conv(m: int = 12, n: int = 7, size: int = 13, kernel: int = 3, stride: int = 1, groups: int = 1) -> Network:
    """A convolution behind a 1x1 convolution, so that it has an input gradient, and a loss."""
    specs = [
        LayerSpec("first", "conv", ("input",), out_channels=n),
        LayerSpec(
            "conv", "conv", ("first",), out_channels=m, kernel=(kernel, kernel), stride=(stride, stride),
            padding=(kernel // 2,) * 4, groups=groups,
        ),
        LayerSpec("fc", "fc", ("conv",), out_channels=5),
        LayerSpec("loss", "softmax_cross_entropy", ("fc",)),
    ]  # fmt: skip
    return build_network("one_conv", "made for a test", (3, size, size), specs, "test")


def random_points(space: SearchSpace, count: int, seed: int = 0) -> dict[str, NDArray[np.int64]]:
    """Points of ``space``, small values more often than large ones, so that many fit a board."""
    rng = np.random.default_rng(seed)
    points = {}
    for parameter in space.parameters:
        size = len(parameter.values)
        step = np.floor(np.exp(rng.uniform(0, np.log(size + 1), count))).astype(int) - 1
        points[parameter.name] = parameter.values[np.clip(step, 0, size - 1)]
    return points
