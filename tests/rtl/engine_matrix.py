"""The long matrix: every unroll setting x layer x phase x several tilings and stalls, bit for bit. `make verify`.

python -m tests.rtl.engine_matrix [--jobs N] [--rounds N] [SETTING ...]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from dse.engine import Tiling, buffer_words
from dse.verify.toolchain import build_runtime
from tests.rtl.engine_bench import PHASES, EngineBench, Job, check, make_job
from tests.rtl.engine_layers import LAYERS, SETTINGS
from tests.rtl.unit_bench import Behaviour


def other_tiling(job: Job, bench: EngineBench, rng: np.random.Generator) -> Tiling | None:
    """Some tiling that fits, with ragged last tiles more often than not; None where 20 tries find none."""
    hw = bench.hw
    depths = (hw.feature_depth, hw.operand_depth, hw.sum_depth)
    for _ in range(20):
        tiling = Tiling(*(int(v) for v in rng.integers(1, 4, 3)), int(rng.integers(1, job.nest.row.extent + 1)))
        if all(need <= depth for need, depth in zip(buffer_words(hw, job.nest, tiling), depths, strict=True)):
            return tiling
    return None


def behaviour(rng: np.random.Generator) -> Behaviour:
    """An ideal, a slow or a stalling memory."""
    stall, latency = float(rng.choice([0.0, 0.1, 0.5])), int(rng.choice([0, 1, 9, 60]))
    return Behaviour(stall, latency, int(rng.integers(1 << 30)), 2_000_000)


def run_setting(name: str, cache: Path, rounds: int) -> tuple[str, int, int, float, float]:
    """All layers on one setting: (setting, jobs, cycles, seconds to build, seconds to run). AssertionError if wrong."""
    start = time.perf_counter()
    bench = EngineBench(SETTINGS[name], cache, cache / "runtime")
    built = time.perf_counter()
    rng, jobs, cycles = np.random.default_rng(sorted(SETTINGS).index(name)), 0, 0
    for conv in LAYERS.values():
        for phase in PHASES:
            for turn in range(rounds):
                seed, shift = int(rng.integers(1 << 30)), int(rng.integers(-2, 16))
                job = make_job(bench.hw, conv, phase, raw=bool(rng.random() < 0.3), shift=shift, seed=seed)
                if turn:
                    tiling = other_tiling(job, bench, rng)
                    job = make_job(bench.hw, conv, phase, tiling, raw=bool(rng.random() < 0.3), shift=shift, seed=seed)
                if rng.random() < 0.1:
                    clean = job.memory.copy()
                    abort = Behaviour(0.2, 3, seed, abort_at=int(rng.integers(1, 3000)), hard_reset=rng.random() < 0.5)
                    bench.run([job.words], job.memory, abort)
                    job.memory[:] = clean
                cycles += check(bench, job, behaviour(rng)).cycles
                jobs += 1
    return name, jobs, cycles, built - start, time.perf_counter() - built


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", default=sorted(SETTINGS), metavar="SETTING", help="default: all")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--rounds", type=int, default=4, help="tilings and stalls a layer and phase")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.settings) - set(SETTINGS))
    if unknown:
        parser.error(f"unknown settings {unknown}; choices: {', '.join(sorted(SETTINGS))}")
    total = 0
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(arguments.jobs) as pool:
        cache = Path(folder)
        build_runtime(cache / "runtime")
        print(f"{len(LAYERS)} layers x {len(PHASES)} phases x {arguments.rounds} rounds", flush=True)
        for done in [pool.submit(run_setting, name, cache, arguments.rounds) for name in arguments.settings]:
            name, jobs, cycles, build_s, run_s = done.result()
            total += jobs
            print(
                f"{name:34}{jobs:5} bit-exact {cycles:11,} cycles  build {build_s:5.1f} s  run {run_s:5.1f} s",
                flush=True,
            )
    print(f"{total} runs bit-exact")
    return 0


if __name__ == "__main__":
    sys.exit(main())
