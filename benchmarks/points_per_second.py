"""Points estimated per second on one core, resources, layers and phases included, and how that grows.

    python benchmarks/points_per_second.py

"Random" points are drawn from all legal values, "fitting" ones as a search draws them, "enumerated" ones are all in
order. A tiling is a choice of tile rows and of output channels on chip for one layer and phase.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median

import numpy as np
from figures import Figure, one_core, print_figures, print_table, problem
from numpy.typing import NDArray

from dse.devices import load_device
from dse.models.loop_nest import loop_nests
from dse.models.tile_geometry import split_candidates
from dse.models.tiled import TiledModel
from dse.models.tiling import TilingProblem
from dse.network import Network
from dse.networks.graph import INPUT, build_network
from dse.networks.layer_spec import LayerSpec
from dse.registry import family_named
from dse.search import Front, Limits, Problem
from dse.search.collector import Budget, Collector
from dse.search.encoding import Encoding
from dse.search.problem import CHUNK, Points
from dse.search.table import Thinned
from dse.workload import Workload, precision_named

REPEATS = 5
SEED = 0


def random_points(search: Problem, count: int, random: np.random.Generator) -> Points:
    """``count`` points of the space, each legal value as likely as another."""
    return {p.name: p.values[random.integers(len(p.values), size=count)] for p in search.space.parameters}


def fitting_points(search: Problem, count: int, random: np.random.Generator) -> Points:
    """``count`` points whose resources fit, as the samplers draw them."""
    encoding = Encoding.of(search)
    return encoding.points(encoding.decode(random.random((count, len(encoding.free)))))


def seconds(run: Callable[[], object]) -> float:
    """Median time of ``run`` after one run that warms the caches."""
    run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return median(times)


def points_per_second(search: Problem, points: Points) -> float:
    return len(next(iter(points.values()))) / seconds(lambda: search.evaluate(points))


def _distinct(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many values each row has that differ."""
    ordered = np.sort(rows, axis=1)
    return np.asarray(1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1))


def tilings(search: Problem, points: Points) -> tuple[int, int]:
    """Tilings that ``points`` have, and how many of them are candidates of the inner search."""
    model, nests = search.model, loop_nests(search.workload.network)
    assert isinstance(model, TiledModel)
    every = computed = 0
    for k in range(len(nests)):
        inner = TilingProblem.of(
            model.geometry, search.workload, search.device, model.settings[search.reading], points, nests, k
        )
        nest, lanes = inner.nest, inner.lanes
        m_tiles = -(-nest.m // lanes.m)
        candidates = np.minimum(model.geometry.row_candidates(lanes, nest), nest.r)
        rows = _distinct(np.broadcast_to(candidates, (len(m_tiles), candidates.shape[1])))
        on_chip = np.ones_like(rows)
        if nest.phase == "input_grad":
            words = model.geometry.weight_words(lanes, nest)
            most = np.clip(points["wei_words"][:, None] // words, 1, m_tiles)
            on_chip = _distinct(np.minimum(split_candidates(m_tiles), most))
        computed += int((rows * on_chip).sum()) * len(model.geometry.chunks(lanes, nest))
        every += int((nest.r * m_tiles).sum())
    return every, computed


def rates() -> list[Figure]:
    """Points per second of each family."""
    random = np.random.default_rng(SEED)
    batch = problem("batch", "vgg_cifar10", "max5", precision="int8")
    label = "batch, vgg_cifar10, max5, int8, batch 128"
    figures = [
        Figure(f"{label}: {kind}", points_per_second(batch, points), "points/s", 1e6, at_least=True)
        for kind, points in (
            ("random", random_points(batch, 500_000, random)),
            ("fitting", fitting_points(batch, 500_000, random)),
            ("enumerated", batch.space.points(0, batch.space.size)),
        )
    ]
    for family, limit in (("channel", 2000.0), ("feature_map", None)):
        for batch_size in (4, 128):
            search = problem(family, "alexnet", "zcu102", batch_size=batch_size)
            label = f"{family}, alexnet, zcu102, fp32, batch {batch_size}"
            for kind, draw in (("random", random_points), ("fitting", fitting_points)):
                points = draw(search, 2048, random)
                rate = points_per_second(search, points)
                every, computed = (count / 2048 * rate for count in tilings(search, points))
                figures.append(Figure(f"{label}: {kind}", rate, "points/s", limit, at_least=True))
                figures.append(Figure("  tilings searched", every, "tilings/s"))
                figures.append(Figure("  of them candidates", computed, "tilings/s"))
    for family, limit in (("feature_map", None), ("hybrid", 500.0)):
        search = problem(family, "resnet50", "zcu102", batch_size=4)
        points = fitting_points(search, 2048, random)
        rate = points_per_second(search, points)
        figures.append(
            Figure(f"{family}, resnet50, zcu102, fp32, batch 4: fitting", rate, "points/s", limit, at_least=True)
        )
        many = {name: np.tile(column, 50) for name, column in points.items()}
        rate = len(many["ifm_words"]) / seconds(lambda search=search, many=many: search.floor_seconds(many))
        limit = 200_000.0 if family == "hybrid" else None
        figures.append(Figure("  without inner tiling: floors", rate, "points/s", limit, at_least=True))
    return figures


def point_growth() -> list[Figure]:
    """Batch family, 10^3 to 10^7 random points through what a sweep does with them: estimate, front, table."""
    search = problem("batch", "vgg_cifar10", "max5", precision="int8", objectives=("latency", "dsp"))
    rows, per_point, peaks = [], [], []
    for power in range(3, 8):
        random = np.random.default_rng(SEED)
        budget = Budget(Limits())
        collector = Collector(search, budget, Thinned(search), Front.empty(2))
        spent = 0.0
        for start in range(0, 10**power, CHUNK):
            points = random_points(search, min(CHUNK, 10**power - start), random)
            begun = time.perf_counter()
            collector.evaluate(points)
            spent += time.perf_counter() - begun
        per_point.append(spent / 10**power)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        rows.append([f"10^{power}", f"{spent:.3f}", f"{per_point[-1] * 1e9:.0f}", f"{peaks[-1]:.0f}"])
    print("Growth with points: batch, vgg_cifar10, max5, int8; front of latency and dsp, thinned table\n")
    print_table(["points", "s", "ns/point", "peak MiB"], rows)
    return [
        Figure("10^7 points: time per point over that of 10^5", per_point[4] / per_point[2], "x", 1.25),
        Figure("10^7 points: peak memory over that of 10^6", peaks[4] / peaks[3], "x", 1.25),
    ]


def stack(layers: int) -> Network:
    """``layers`` 3x3 convolutions of 64 channels and more on 32x32, no two of them equal."""
    names = [INPUT, *(f"conv{number}" for number in range(layers))]
    specs = [
        LayerSpec(name, "conv", (source,), out_channels=64 + number % 2 * number, kernel=(3, 3), padding="same")
        for number, (source, name) in enumerate(pairwise(names))
    ]
    return build_network(f"stack{layers}", "made up", (64, 32, 32), specs, "benchmark")


def layer_growth() -> list[Figure]:
    """Time per layer of stacks of convolutions."""
    counts = (6, 12, 24, 48, 96, 160)
    rows, figures = [], []
    for family, precision, points_count in (
        ("batch", "int8", 100_000),
        ("channel", "fp32", 512),
        ("hybrid", "fp32", 512),
    ):
        per_layer = []
        for layers in counts:
            workload = Workload(stack(layers), 128, precision_named(precision))
            search = Problem.of(family_named(family), workload, load_device("zcu102"))
            points = fitting_points(search, points_count, np.random.default_rng(SEED))
            per_layer.append(1 / points_per_second(search, points) / layers)
            rows.append([family, str(layers), f"{per_layer[-1] * layers * 1e6:.2f}", f"{per_layer[-1] * 1e9:.0f}"])
        what = f"{family}, {counts[-1]} layers: time per layer over that of {counts[2]}"
        figures.append(Figure(what, per_layer[-1] / per_layer[2], "x", 1.25))
    print("\nGrowth with layers: stacks of 3x3 convolutions, 64 to 223 channels, 32x32, zcu102, batch 128\n")
    print_table(["family", "layers", "us/point", "ns/(point layer)"], rows)
    return figures


def main() -> int:
    one_core()
    grown = point_growth() + layer_growth()  # first: the peak of memory is that of the process
    print("\nGrowth is linear, and memory bounded\n")
    missed = print_figures(grown)
    print("\nPoints per second, one core\n")
    return max(missed, print_figures(rates()))


if __name__ == "__main__":
    sys.exit(main())
