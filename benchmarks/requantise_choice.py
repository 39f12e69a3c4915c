"""Wide errors of convolutions: stored and normalised by a pass, or computed twice? Cycles of both, from the schedule.

python benchmarks/requantise_choice.py [--batch-size N] [--layers] [--preset NAME ...] [NETWORK ...]

*Stored*: input_grad writes raw sums, the elementwise unit reads them and writes operands. *Twice*: input_grad runs for
the scale alone, then again and requantises as it stores. Both take two records of the schedule. An ideal memory.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial

from figures import print_table
from training_accelerators import PRESETS

from dse.engine import EngineParameters, command_cycles, fit_tiling
from dse.engine.layers import EngineLayer, engine_layers
from dse.errors import InputError
from dse.layout.rows import RowImage
from dse.network import Network
from dse.networks import list_networks, load_network
from dse.schedule.graph import TrainingGraph
from dse.schedule.schedule import DMA_CYCLES
from dse.vector import Elementwise, elementwise_cycles

CHOSEN = ("channel 16x16", "channel 8x8, 512-bit", "hybrid 2x6x3x2x3")
LATENCY = 1 + DMA_CYCLES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help="default: all that the RTL trains")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--preset", action="append", choices=PRESETS, help="default: three of them")
    parser.add_argument("--layers", action="store_true", help="print every layer too")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.networks or trainable():
        for preset in arguments.preset or CHOSEN:
            found = list(compare(load_network(name), PRESETS[preset], arguments.batch_size))
            if arguments.layers:
                print(*(f"{name:18}{preset:24}{layer:22}{a:12,}{b:12,}" for layer, a, b in found), sep="\n", flush=True)
            stored, twice = sum(a for _, a, _ in found), sum(b for _, _, b in found)
            wins = sum(a <= b for _, a, b in found)
            row = [name, preset, f"{stored:,}", f"{twice:,}", f"{twice / stored:.2f}", f"{wins} of {len(found)}"]
            print("  ".join(row), file=sys.stderr, flush=True)
            rows.append(row)
    print_table(["network", "preset", "stored", "computed twice", "ratio", "stored is faster in"], rows)
    return 0


def trainable() -> Iterator[str]:
    """Shipped networks whose every layer the accelerator's units do."""
    for name in list_networks():
        try:
            TrainingGraph(load_network(name))
        except InputError:
            continue
        yield name


def compare(network: Network, hw: EngineParameters, batch_size: int) -> Iterator[tuple[str, int, int]]:
    """(layer, cycles if stored, cycles if computed twice) for each layer with an input_grad that fits the buffers."""
    for item in engine_layers(network, batch_size):
        if "input_grad" in item.phases:
            try:
                yield item.layer.name, *choices(item, hw)
            except InputError as error:
                print(f"{network.name}, {item.layer.name}: left out: {error}", file=sys.stderr, flush=True)


def choices(item: EngineLayer, hw: EngineParameters) -> tuple[int, int]:
    """Cycles of input_grad and what makes its error narrow: stored, computed twice."""
    nest, conv = item.nest("input_grad", hw.channel_block), item.conv
    cycles = partial(command_cycles, hw, nest, fit_tiling(hw, nest), LATENCY)
    shape = (conv.batch, conv.n, *conv.size)
    image = RowImage.maps(shape, (hw.ub, hw.channel_block), hw.operand_bytes, hw.beat_bytes)
    normalise = Elementwise("pass", image, a_wide=True, o=0)
    return cycles(raw=True) + elementwise_cycles(normalise, LATENCY), 2 * cycles(raw=False)


if __name__ == "__main__":
    sys.exit(main())
