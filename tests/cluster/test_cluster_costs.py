"""What a layer takes: NADA's tables, one formula with the single-board families, monotone in throughput."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.cluster.bounds import aggregate_bound, largest_fps
from dse.cluster.cluster_file import load_cluster
from dse.cluster.demand import DemandTable
from dse.cluster.planner import demand_table
from dse.cluster.ram import layer_ram_bits, second_operand_words
from dse.cluster.slicing import slice_groups
from dse.cluster.solver_costs import SolverCosts
from dse.cluster.stages import stage_graph
from dse.cluster.unrolling import Bounds, OperatorBlocks, frontier
from dse.errors import InputError
from dse.networks import load_network

FUSED = OperatorBlocks(lane=1.0, accumulator=1.0, multiplier=1.0, adder=1.0)


def table(network: str, nodes: int = 1, clock_hz: float = 1e8) -> DemandTable:
    cluster = load_cluster("nada")
    cluster = replace(cluster, nodes=tuple(replace(node, clock_hz=clock_hz) for node in cluster.nodes))
    return demand_table(network, cluster, nodes=nodes, reading="nada")[1]


@pytest.mark.parametrize(
    ("layer", "unroll", "cycles", "dsp"),
    [("conv1", (4, 1, 2, 1, 1), 38_400, 32), ("block2_conv1", (2, 2, 2, 1, 1), 36_864, 38)],
)
def test_table_1_unrolling(layer: str, unroll: tuple[int, ...], cycles: int, dsp: int) -> None:
    demands = table("nada_demo", clock_hz=150e6)
    choices = frontier(demands.bounds[layer], demands.operators[0])
    chosen = choices.at(150e6 / 3906.25)
    assert tuple(choices.unroll[chosen]) == unroll
    assert (choices.cycles[chosen], choices.dsp[chosen]) == (cycles, dsp)


@given(
    loops=st.tuples(*[st.integers(1, 300)] * 4), taps=st.integers(1, 49), groups=st.integers(1, 8),
    unroll=st.tuples(*[st.integers(1, 70)] * 5), back=st.booleans(),
)  # fmt: skip
def test_cycles_are_the_rounds_of_every_loop(
    loops: tuple[int, ...], taps: int, groups: int, unroll: tuple[int, ...], back: bool
) -> None:
    (m, n, rows, columns), (poc, pic, ph, pr, pb) = loops, unroll
    bounds = Bounds(taps, groups, (m, n, rows, columns), (n, m, rows + 3, columns) if back else None)
    rounds = math.ceil(m * groups / poc) * math.ceil(n / pic) * math.ceil(columns / ph) * taps
    expected = rounds * math.ceil((rows + 3 * back) / pr) / pb
    assert bounds.cycles(np.array([unroll])).item() == pytest.approx(expected, rel=1e-12)


@given(
    m=st.integers(1, 16), n=st.integers(1, 16), rows=st.integers(1, 9), columns=st.integers(1, 10), back=st.booleans(),
    most_rows=st.integers(1, 4), samples=st.sampled_from([1, 2, 4]), hybrid=st.booleans(),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_frontier_is_the_cheapest_of_all(
    m: int, n: int, rows: int, columns: int, back: bool, most_rows: int, samples: int, hybrid: bool
) -> None:
    """Divisors, or with hybrid lanes any number, tried one by one; rows and frames up to what is on chip."""
    bounds = Bounds(9, 1, (m, n, rows, columns), (n, m, rows, columns) if back else None)
    found = frontier(bounds, FUSED, most_rows, samples, hybrid=hybrid)
    loops = [[d for d in range(1, size + 1) if hybrid or size % d == 0] for size in (m, n, columns)]
    pixels = [(pr, 1) for pr in range(1, most_rows + 1)] + [(1, pb) for pb in (2, 4) if samples % pb == 0]
    lanes = np.array([(*sizes, *rest) for sizes in itertools.product(*loops) for rest in pixels])
    cycles, dsp = bounds.cycles(lanes), bounds.blocks(lanes, FUSED)
    for limit in np.unique(cycles):
        assert found.dsp[found.at(limit)] == dsp[cycles <= limit].min()
    assert found.at(cycles.min() * 0.999) == -1
    assert (np.diff(found.cycles) < 0).all()
    assert (np.diff(found.dsp) >= 0).all()
    assert found.unroll[:, 3].max() <= most_rows
    assert found.unroll[:, 4].max() <= samples


def test_lanes_along_rows_and_frames_take_lines_and_maps() -> None:
    """One more row of lanes: a stride more of input lines twice, of output lines twice, of gradient lines."""
    demands = demand_table("vgg16", "mixed8", reading="free")[1]
    stage = next(n for n, stage in enumerate(demands.graph.stages) if stage.name == "conv3_2")
    options = {(o.weights, o.rows, o.frames): o for o in demands.storages[stage]}
    line = 256 * 56 * 32
    one, two = options["chip", 1, 0.0].ram_bits, options["chip", 2, 0.0].ram_bits
    assert two - one == 2 * 2 * 256 * 58 * 32 + 2 * line + 2 * line
    whole = options["chip", 8, 4.0]
    assert whole.samples == 4
    maps = demands.graph.network["conv3_2"].in_elements + demands.graph.network["conv3_2"].out_elements
    assert whole.ram_bits > 2 * 2 * 4 * maps * 32
    assert options["dram/0.0625", 3, 0.0625].rows == 56 // 16
    assert all((o.rows, o.frames) == (1, 0.0) for o in table("nada_demo").storages[1]), "NADA streams"


def test_a_way_that_another_one_equals_is_not_tried() -> None:
    demands = demand_table("resnet18", "nada", reading="free")[1]
    for fps in (5.0, 50.0, 140.0):
        for stage, options in enumerate(demands.storages):
            every = {w: d.dsp for w in range(len(options)) if (d := demands.demand(stage, 0, fps, w)) is not None}
            ways = demands.ways(stage, 0, fps)
            assert bool(ways) == bool(every)
            rams = [options[way].ram_bits for way, _ in ways]
            assert rams == sorted(rams)
            amounts = [(options[w].ram_bits, d, options[w].dram_read_bits, options[w].dram_write_bits) for w, d in ways]
            for one, other in itertools.permutations(amounts, 2):
                assert any(a < b for a, b in zip(one, other, strict=True)), "as good as another in everything"
            for way, dsp in every.items():
                own = options[way]
                assert any(
                    options[w].ram_bits <= own.ram_bits and d <= dsp
                    and options[w].dram_read_bits <= own.dram_read_bits
                    and options[w].dram_write_bits <= own.dram_write_bits
                    for w, d in ways
                )  # fmt: skip
            assert demands.least_dsp(stage, 0, fps) == min(every.values(), default=None)


@given(low=st.floats(1, 2000), more=st.floats(1, 4))
@settings(max_examples=20, deadline=None)
def test_faster_never_takes_less(low: float, more: float) -> None:
    demands = table("nada_example")
    for stage in range(len(demands.graph.stages)):
        slow, fast = demands.demand(stage, 0, low, 0), demands.demand(stage, 0, low * more, 0)
        if slow is None:
            assert fast is None
        elif fast is not None:
            assert fast.dsp >= slow.dsp


def test_the_solver_sees_what_every_way_takes() -> None:
    """Also ways that are not worth trying at a throughput, in which stages may be that do not move."""
    demands = demand_table("resnet18", "nada", reading="free")[1]
    costs = SolverCosts(demands, 60.0)
    for stage, options in enumerate(demands.storages):
        for way, option in enumerate(options):
            found = demands.demand(stage, 0, 60.0, way)
            assert costs.amount(stage, 0, "dsp", way) == (math.ceil(4 * found.dsp) if found is not None else 0)
            assert costs.amount(stage, 0, "ram_bits", way) == math.ceil(option.ram_bits / 1024)
        assert set(costs.ways(stage, 0)) <= set(range(len(options)))


def test_stages_and_what_crosses_between_them() -> None:
    graph = stage_graph(load_network("nada_example"))
    assert len(graph.stages) == 69
    sizes = {graph.label(edge): (edge.forward, edge.backward) for edge in graph.edges}
    assert sizes["block1_expand_norm -> block1_dw_conv"] == (64 * 112 * 112, 64 * 112 * 112)
    assert sizes["input -> im2col"] == (3 * 224 * 224, 0)
    assert sizes["im2col -> block0_expand_conv"] == (27 * 112 * 112, 0)
    assert [graph.stages[number].name for number in graph.outputs] == ["loss"]


def test_learned_maps_have_no_source() -> None:
    """BERT's embeddings of positions are read by an add, and come from nowhere."""
    graph = stage_graph(load_network("bert_base"))
    sources = {edge.target for edge in graph.edges}
    assert any(number not in sources for number in range(1, len(graph.stages)))


def test_a_product_of_activations_holds_its_second_operand() -> None:
    """BERT's scores: 128 queries of 768 elements meet 128 keys, 12 heads; keys and their gradient, double-buffered."""
    demands = demand_table("bert_base", "mixed8", reading="free")[1]
    layer = demands.graph.network["block0_scores"]
    keys, channels = 128 * 768, 768 + 12 * 128
    assert second_operand_words(layer) == keys
    words = 2 * 2 * keys + 4 * channels
    assert layer_ram_bits(layer, demands.precision, demands.reading) == 32 * words + 16_384
    assert demands.kept_elements["block0_scores"] == 128 * 768 + keys, "queries and keys are kept for the gradients"


def test_slices_take_what_the_whole_takes() -> None:
    network, demands = load_network("nada_example"), table("nada_demo")
    sliced = slice_groups(network, {"block0": 2, "block1": 4})
    assert sliced.macs == network.macs
    assert sliced.parameters == network.parameters
    written = []
    for one in (network, sliced):
        costs = replace(demands, graph=stage_graph(one))
        written.append(sum(options[0].dram_write_bits for options in costs.storages))
    assert written[0] == written[1]
    with pytest.raises(InputError, match="unknown group"):
        slice_groups(network, {"blok0": 2})
    with pytest.raises(InputError, match="no channel-wise run"):
        slice_groups(network, {"head": 2})


def test_aggregate_bound_is_the_sum_of_everything() -> None:
    demands = table("nada_example", nodes=4)
    bound = aggregate_bound(demands)
    bits = sum(options[0].dram_read_bits for options in demands.storages)
    assert bound.resource == "dram_read_bits_per_s"
    assert bound.fps == pytest.approx(4 * 50e9 / bits, rel=1e-6)


@given(edge=st.floats(1e-6, 1e11))
def test_largest_fps_finds_the_edge(edge: float) -> None:
    assert largest_fps(lambda fps: fps <= edge) == pytest.approx(edge, rel=1e-6)
