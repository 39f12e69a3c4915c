"""Cycles of the engine on AlexNet's conv2 to conv5 with an ideal memory, beside the MAC floor. Part of `make verify`.

    python -m tests.rtl.engine_utilisation [PRESET ...]

Maps and kernels are AlexNet's (Krizhevsky et al., NeurIPS 2012), without groups; presets other than channel have fewer
channels, for the time of simulation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from dse.engine import Convolution, EngineParameters, command_cycles
from dse.golden.convolution import Window
from dse.verify.toolchain import build_runtime
from tests.rtl.engine_bench import PHASES, EngineBench, check, make_job
from tests.rtl.unit_bench import Behaviour

SHAPES = {"conv2": (96, 256, 27, 5), "conv3": (256, 384, 13, 3), "conv4": (384, 384, 13, 3), "conv5": (384, 256, 13, 3)}
PRESETS = {
    "channel 16x16": (EngineParameters(um=16, un=16, channel_block=16, sum_depth=1024), 1, 1),
    "channel 16x16, int16, 128-bit beats": (
        EngineParameters(um=16, un=16, channel_block=16, sum_depth=1024, operand_bits=16, data_bits=128), 1, 2,
    ),
    "batch 8x8": (EngineParameters(ub=8, um=1, un=8, channel_block=1, operand_depth=2048, sum_depth=4096), 8, 4),
    "feature map 9x13": (
        EngineParameters(
            um=1, un=1, ur=9, uc=13, channel_block=1, feature_depth=2048, operand_depth=4096, sum_depth=8192,
        ), 1, 2,
    ),
    "hybrid, 2 samples x 8x8 x 3 columns": (
        EngineParameters(ub=2, um=8, un=8, uc=3, channel_block=8, sum_depth=1024), 2, 2,
    ),
}  # fmt: skip
"""Preset -> engine, samples, what the channels are divided by."""
LIMIT = 1.03
"""Cycles over steps of the lanes, which are the MAC floor but for maps that are no multiple of the lanes."""
WIDTHS = (12, 12, 8, 12, 8, 12, 12)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", default=list(PRESETS), metavar="PRESET", help="default: all")
    names = parser.parse_args().presets
    if set(names) - set(PRESETS):
        parser.error(f"choices: {', '.join(PRESETS)}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        runtime = build_runtime(Path(folder) / "runtime", "-O2")
        for name in names:
            hw, batch, divide = PRESETS[name]
            bench = EngineBench(hw, Path(folder), runtime, "-O2")
            print(f"{name}, {hw.lanes} lanes, batch {batch}, channels / {divide}")
            columns = ("cycles", "steps", "", "MAC floor", "", "predicted", "k cycles/s")
            print(" " * 20 + "".join(f"{c:>{w}}" for c, w in zip(columns, WIDTHS, strict=True)), flush=True)
            for layer, (n, m, size, kernel) in SHAPES.items():
                window = Window((kernel, kernel), padding=(kernel // 2,) * 4)
                conv = Convolution(batch, n // divide, m // divide, (size, size), window)
                for phase in PHASES:
                    job = make_job(hw, conv, phase)
                    start = time.process_time()
                    outcome = check(bench, job, Behaviour(limit=100_000_000))
                    cycles, speed = outcome.cycles, outcome.cycles / (time.process_time() - start) / 1e3
                    floor = conv.macs / hw.lanes
                    missed += cycles > LIMIT * outcome.steps
                    row = f"{cycles:12,}{outcome.steps:12,}{cycles / outcome.steps - 1:8.2%}"
                    row += f"{floor:12,.0f}{cycles / floor - 1:8.2%}"
                    print(
                        f"{layer:6}{phase:14}{row}{command_cycles(hw, job.nest, job.tiling):12,}{speed:12.0f}",
                        flush=True,
                    )
    print(f"{missed} above {LIMIT - 1:.0%}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
