"""Seconds and gap of cluster plans beside their limits; two solver threads, so that loaded machines take longer."""

from __future__ import annotations

import sys
import time

from dse.cluster import plan

CASES = (
    # network, cluster, nodes, reading, micro-batch, gap to stop at, limit in seconds
    *(("nada_example", "nada", nodes, "nada", 4, 0.01, 10.0) for nodes in range(3, 10)),
    ("mobilenet_v2", "nada", 6, "nada", 1, 0.05, 120.0),
    ("resnet50", "mixed8", 8, "free", 4, 0.05, 60.0),
    ("bert_base", "mixed8", 8, "free", 4, 0.07, 60.0),
)


def main() -> int:
    missed = 0
    titles = f"{'network':14} {'nodes':>5} {'fps':>9} {'bound':>9} {'gap':>8} {'wanted':>8} {'seconds':>8} {'limit':>6}"
    print(titles + " ended by")
    for network, cluster, nodes, reading, micro_batch, gap, limit_s in CASES:
        start = time.perf_counter()
        found = plan(
            network, cluster, nodes=nodes, reading=reading, micro_batch=micro_batch, gap=gap, seconds=limit_s
        ).found
        spent = time.perf_counter() - start
        late = found.gap > gap or spent > limit_s + 5
        missed += late
        figures = f"{found.fps:9,.1f} {found.bound_fps:9,.1f} {found.gap:8.2%} {gap:8.0%} {spent:8.1f} {limit_s:6.0f}"
        print(f"{network:14} {nodes:5} {figures} {found.ended:8} {'MISSED' if late else 'ok'}", flush=True)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
