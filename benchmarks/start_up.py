"""Wall time of the quick commands over that of ``python -c "import typer"``.

python benchmarks/start_up.py
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from figures import Figure, one_core, print_figures, print_table

REPEATS = 15
PEER = "import typer"


def commands() -> dict[str, list[str]]:
    """What is timed, the peer first; ``dse`` is the script beside this Python where there is one."""
    script = Path(sys.executable).with_name("dse")
    dse = [str(script)] if script.exists() else [sys.executable, "-m", "dse"]
    verbs = ["--help", *(f"list {what}" for what in ("networks", "devices", "families", "samplers"))]
    return {PEER: [sys.executable, "-c", PEER], **{f"dse {verb}": [*dse, *verb.split()] for verb in verbs}}


def main() -> int:
    one_core()
    times: dict[str, list[float]] = {name: [] for name in commands()}
    for turn in range(REPEATS + 1):
        for name, command in commands().items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if turn:
                times[name].append(time.perf_counter() - start)
    peer = median(times[PEER])
    rows = [[name, f"{median(t) * 1e3:.0f}", f"{min(t) * 1e3:.0f}"] for name, t in times.items()]
    figures = [
        Figure(f"{name} over {PEER}", median(t) / peer, "x", 2.0 if name == "dse --help" else 3.0)
        for name, t in times.items()
        if name != PEER
    ]
    print(f"Start-up, {REPEATS} turns, one core\n")
    print_table(["command", "median ms", "least ms"], rows)
    print()
    return print_figures(figures)


if __name__ == "__main__":
    sys.exit(main())
