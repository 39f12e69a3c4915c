"""Images a second that the golden model trains on one core, in int8, int16 and fp32.

python benchmarks/golden_speed.py
"""

from __future__ import annotations

import sys
import time
from statistics import median

from figures import Figure, one_core, print_figures, print_table

from dse.golden import Arithmetic, FloatArithmetic, GoldenModel, IntegerArithmetic, draw_shapes
from dse.networks import load_network

NETWORKS = ("cnn_1x", "lenet10", "resnet20_cifar10")
BATCH, REPEATS = 32, 5
LEAST = 50.0
"""Images a second of cnn_1x in int8, on inputs of the size of CIFAR-10."""


def images_per_s(network: str, arithmetic: Arithmetic) -> float:
    """The median over a few iterations after one that warms up."""
    model = GoldenModel(load_network(network), arithmetic)
    data = draw_shapes(model.network.input_shape, 10, 2 * BATCH, 0)
    samples, labels = arithmetic.encode(data.train[0])[:BATCH], data.train[1][:BATCH]
    times = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        model.iterate(samples, labels)
        times.append(time.perf_counter() - start)
    return BATCH / median(times[1:])


def main() -> int:
    one_core()
    found = {
        name: [images_per_s(name, kind) for kind in (IntegerArithmetic(8), IntegerArithmetic(16), FloatArithmetic())]
        for name in NETWORKS
    }
    print(f"Training in numpy, batch {BATCH}, one core, images a second\n")
    rows = [[name, *(f"{value:,.0f}" for value in values)] for name, values in found.items()]
    print_table(["network", "int8", "int16", "fp32"], rows)
    print()
    return print_figures([Figure("cnn_1x in int8", found["cnn_1x"][0], "images/s", LEAST, at_least=True)])


if __name__ == "__main__":
    sys.exit(main())
