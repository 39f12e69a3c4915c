"""Random task graphs and machines, small and large, from a seed."""

from __future__ import annotations

import math
import random

from dse import Workload, load_network
from dse.offload import Cost, Platform, Simulation, Task, TaskGraph, load_profile, simulate
from dse.offload.gpu_model import load_gpu
from dse.offload.scenario import training_scenario
from dse.workload import precision_named


def random_graph(seed: int, tasks: int, gpus: int = 1, both: float = 0.7) -> TaskGraph:
    """A graph of ``tasks`` tasks, each on a random GPU, a share ``both`` of which an FPGA can run as well."""
    draw = random.Random(seed)
    resident = {f"w{i}": (draw.randrange(gpus), draw.choice([0.0, 1e6, 5e7])) for i in range(3)}
    made: list[Task] = []
    for number in range(tasks):
        seconds, watts = draw.choice([0.0, draw.uniform(1e-4, 5e-3)]), draw.uniform(60, 300)
        costs = {"gpu": Cost(seconds, watts, watts * draw.uniform(1, 1.2))}
        if draw.random() < both:
            fpga_w = draw.uniform(10, 60)
            costs["fpga"] = Cost(seconds * draw.uniform(0.5, 4), fpga_w, fpga_w * 1.1)
        sources = [task.name for task in made] + list(resident)
        inputs = tuple(draw.sample(sources, min(len(sources), draw.randint(0, 4))))
        size = draw.choice([0.0, 1e5, 1e7])
        op, phase = draw.choice(["conv", "fc"]), draw.choice(["forward", "input_grad"])
        made.append(Task(f"layer{number // 2} {number}", costs, inputs, size, draw.randrange(gpus), op, phase))
    return TaskGraph(tuple(made), resident)


def random_machine(seed: int, gpus: int = 1) -> Platform:
    """A machine with one to three FPGAs, with or without clock levels, a cap and a link that costs time."""
    draw = random.Random(seed)
    return Platform(
        gpus=gpus,
        fpgas=draw.randint(1, 3),
        fpga_idle_w=draw.choice([0.0, 10.0]),
        host_w=draw.choice([0.0, 20.0]),
        contention=draw.choice([1.0, 1.2]),
        link_bytes_per_s=draw.choice([1e9, 12e9, math.inf]),
        link_latency_s=draw.choice([0.0, 1e-5]),
        dvfs_levels=draw.choice([(1.0,), (1.0, 0.8, 0.6)]),
        compute_share=draw.choice([1.0, 0.5]),
        cap_w=draw.choice([math.inf, 200.0 * gpus + 250, 150.0 * gpus + 150]),
    )


def simulated_step() -> Simulation:
    """AlexNet under a cap that binds, with operations on the FPGA and transfers."""
    work = Workload(load_network("alexnet"), 64, precision_named("fp32"))
    scenario = training_scenario(work, load_gpu("v100"), load_profile("hype_table1"))
    machine = Platform(fpga_idle_w=13.0, cap_w=320.0, dvfs_levels=(1.0, 0.8))
    return simulate(scenario.graph, machine, "cap", evaluations=40)
