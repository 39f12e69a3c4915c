"""Schedules: 500 random ones against the independent rules, rules against broken schedules, a few by hand."""

from __future__ import annotations

import dataclasses
import math
import random

import pytest

from dse.errors import InputError
from dse.offload import Cost, Platform, Schedule, Task, TaskGraph, check_schedule, list_schedule
from dse.offload.assignment import gpu_only
from dse.offload.bound import lower_bound
from tests.offload.made_graphs import random_graph, random_machine


def test_500_random_schedules_are_sound() -> None:
    barred = 0
    for seed in range(500):
        draw = random.Random(seed)
        gpus = draw.randint(1, 3)
        graph, machine = random_graph(seed, draw.randint(1, 40), gpus), random_machine(seed, gpus)
        schedule = list_schedule(graph, machine, [name for name in graph.candidates if draw.random() < 0.5])
        if schedule is None:
            barred += 1
            continue
        assert check_schedule(graph, machine, schedule) == [], seed
        bound = lower_bound(graph, machine)
        assert schedule.seconds >= bound.seconds * (1 - 1e-9)
        assert schedule.energy_j >= bound.energy_j - 1e-9 * abs(bound.energy_j)
    assert barred < 150


def test_a_schedule_is_barred_only_where_a_task_alone_exceeds_the_cap() -> None:
    for seed in range(200):
        graph, machine = random_graph(seed, 12), random_machine(seed)
        idle_w = machine.host_w + machine.fpgas * machine.fpga_idle_w
        least = min(machine.dvfs_levels)
        peaks = [
            machine.gpu_idle_w + (task.costs["gpu"].peak_watts - machine.gpu_idle_w) * least**3 for task in graph.tasks
        ]
        barred = list_schedule(graph, machine, ()) is None
        assert barred == (idle_w + max(peaks) > machine.cap_w), seed


GRAPH = TaskGraph(
    (
        Task("a", {"gpu": Cost(2.0, 200, 220), "fpga": Cost(3.0, 30, 30)}, ("w",), 10.0),
        Task("b", {"gpu": Cost(4.0, 240, 260)}, (), 10.0),
        Task("c", {"gpu": Cost(1.0, 100, 100), "fpga": Cost(1.0, 30, 30)}, ("a", "b"), 0.0),
    ),
    {"w": (0, 5.0)},
    samples=8,
)
MACHINE = Platform(gpu_idle_w=40, fpga_idle_w=10, link_bytes_per_s=10.0)


def test_by_hand_the_fpga_works_beside_the_gpu() -> None:
    """w moves for 0.5 s, a runs to 3.5 and comes back until 4.5; b runs from 0 to 4; c from 4.5 to 5.5."""
    schedule = list_schedule(GRAPH, MACHINE, ["a"])
    assert schedule is not None
    assert {run.task: (run.start_s, run.end_s) for run in schedule.runs} == {
        "b": (0.0, 4.0), "a": (0.5, 3.5), "c": (4.5, 5.5),
    }  # fmt: skip
    assert [(t.tensor, t.start_s, t.end_s) for t in schedule.transfers] == [("w", 0.0, 0.5), ("a", 3.5, 4.5)]
    assert schedule.energy_j == pytest.approx(5.5 * 50 + 4 * 200 + 3 * 20 + 1 * 60)
    assert schedule.peak_w == 290
    assert schedule.mean_w == pytest.approx(schedule.energy_j / 5.5)
    assert schedule.busy_s("gpu0") == 5


def test_by_hand_on_the_gpu_alone() -> None:
    """The longer path first: b to 4 (or a to 2), then the other, then c: seven seconds, and no FPGA's idle power."""
    schedule = gpu_only(GRAPH, MACHINE)
    assert schedule is not None
    assert schedule.seconds == 7
    assert schedule.energy_j == pytest.approx(2 * 200 + 4 * 240 + 100)


def test_the_cap_slows_or_delays_what_would_break_it() -> None:
    capped = dataclasses.replace(MACHINE, cap_w=280.0)
    delayed = list_schedule(GRAPH, capped, ["a"])
    assert delayed is not None
    runs = {run.task: run for run in delayed.runs}
    assert runs["a"].start_s >= runs["b"].end_s
    scaled = dataclasses.replace(capped, dvfs_levels=(1.0, 0.9))
    slowed = list_schedule(GRAPH, scaled, ["a"])
    assert slowed is not None
    assert check_schedule(GRAPH, scaled, slowed) == []
    assert slowed.peak_w <= 280 < 290
    assert list_schedule(GRAPH, dataclasses.replace(MACHINE, cap_w=260.0), ["a"]) is None


def test_a_tensor_goes_to_a_unit_once() -> None:
    fpga = {"gpu": Cost(1.0, 100, 100), "fpga": Cost(1.0, 30, 30)}
    graph = TaskGraph(tuple(Task(f"t{i}", fpga, ("w",), 0.0) for i in range(4)), {"w": (0, 5.0)})
    schedule = list_schedule(graph, MACHINE, [f"t{i}" for i in range(4)])
    assert schedule is not None
    assert len(schedule.transfers) == 1


def test_relief_speeds_the_gpu_up_only_beside_offloaded_work() -> None:
    relieved = dataclasses.replace(MACHINE, contention=2.0)
    hybrid, alone = list_schedule(GRAPH, relieved, ["a"]), list_schedule(GRAPH, relieved, ())
    assert hybrid is not None
    assert alone is not None
    assert next(run for run in hybrid.runs if run.task == "b").end_s == 2
    assert alone.seconds == 7


def broken(**changes: object) -> list[str]:
    schedule = list_schedule(GRAPH, MACHINE, ["a"])
    assert schedule is not None
    return check_schedule(GRAPH, MACHINE, dataclasses.replace(schedule, **changes))  # type: ignore[arg-type]


def sound() -> Schedule:
    schedule = list_schedule(GRAPH, MACHINE, ["a"])
    assert schedule is not None
    return schedule


def moved(task: str, **changes: object) -> tuple[object, ...]:
    return tuple(dataclasses.replace(r, **changes) if r.task == task else r for r in sound().runs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"runs": sound().runs[1:]}, "not those of the graph, each once"),
        ({"runs": (*sound().runs, sound().runs[0])}, "not those of the graph, each once"),
        ({"runs": moved("b", unit="fpga0")}, "b cannot run on fpga0"),
        ({"runs": moved("a", unit="fpga1")}, "a cannot run on fpga1"),
        ({"runs": moved("b", unit="gpu1")}, "b cannot run on gpu1"),
        ({"offloaded": frozenset("ac")}, "c is on gpu0 but the schedule says otherwise"),
        ({"runs": moved("b", end_s=3.0)}, "b takes 3.0 s in place of 4"),
        ({"runs": moved("b", watts=100.0)}, "b draws 100.0 W in place of 240"),
        ({"runs": moved("b", level=0.5)}, "b runs at no level of the GPU"),
        ({"runs": moved("c", start_s=3.8, end_s=4.8)}, "gpu0 runs two tasks at 3.8 s: b and c"),
        ({"runs": moved("c", start_s=4.2, end_s=5.2)}, "c starts before a is there"),
        ({"runs": moved("a", start_s=0.2, end_s=3.2)}, "a starts before w is there"),
        ({"transfers": sound().transfers[:1]}, "c needs a, which never comes to gpu0"),
        ({"transfers": (sound().transfers[0], dataclasses.replace(sound().transfers[1], start_s=3.0, end_s=4.0))},
         "a leaves fpga0 before it is there"),
        ({"transfers": (sound().transfers[0], dataclasses.replace(sound().transfers[1], end_s=4.0))},
         "a moves in 0.5 s in place of 1"),
        ({"transfers": (*sound().transfers, dataclasses.replace(sound().transfers[0], start_s=0.2, end_s=0.7))},
         "has two transfers on its link at 0.2 s"),
        ({"energy_j": 1.0}, "J, not to 1.0"),
        ({"seconds": 1.0}, "the step ends at 5.5 s, not at 1.0"),
        ({"peak_w": 1.0}, "the highest power is 290"),
    ],
)  # fmt: skip
def test_the_rules_notice(changes: dict[str, object], says: str) -> None:
    assert check_schedule(GRAPH, MACHINE, sound()) == []
    assert any(says in fault for fault in broken(**changes))


def test_the_rules_notice_a_cap_that_is_exceeded() -> None:
    capped = dataclasses.replace(MACHINE, cap_w=280.0)
    assert any("exceed the cap" in fault for fault in check_schedule(GRAPH, capped, sound()))


def test_the_critical_path_is_the_longest_chain() -> None:
    path, seconds = GRAPH.critical_path()
    assert (path, seconds) == (["b", "c"], 5.0)
    assert GRAPH.critical_path(["a", "c"])[1] == 5.0
    single = TaskGraph((Task("x", {"gpu": Cost(2.0, 1, 1)}),))
    assert single.critical_path() == (["x"], 2.0)
    assert TaskGraph(()).critical_path() == ([], 0.0)


def test_graphs_and_assignments_that_make_no_sense_are_refused() -> None:
    cost = {"gpu": Cost(1.0, 1, 1)}
    with pytest.raises(InputError, match="name is used twice; got 'a'"):
        TaskGraph((Task("a", cost), Task("a", cost)))
    with pytest.raises(InputError, match="task graph: a: reads what no task before it leaves; got 'b'"):
        TaskGraph((Task("a", cost, ("b",)), Task("b", cost)))
    with pytest.raises(InputError, match="needs a cost"):
        TaskGraph((Task("a", {}),))
    with pytest.raises(InputError, match="offload: b: has no cost on an FPGA"):
        list_schedule(GRAPH, MACHINE, ["b"])
    with pytest.raises(InputError, match="offload: unknown task; got 'z'"):
        list_schedule(GRAPH, MACHINE, ["z"])
    with pytest.raises(InputError, match="operations are offloaded to none"):
        list_schedule(GRAPH, dataclasses.replace(MACHINE, fpgas=0), ["a"])
    with pytest.raises(InputError, match="the graph has tasks of more GPUs"):
        list_schedule(TaskGraph((Task("a", cost, home=1),)), MACHINE, ())


def test_an_empty_step_takes_nothing() -> None:
    schedule = list_schedule(TaskGraph(()), MACHINE, ())
    assert schedule is not None
    assert (schedule.seconds, schedule.energy_j, schedule.mean_w) == (0, 0, 0)
    assert not math.isnan(schedule.peak_w)
