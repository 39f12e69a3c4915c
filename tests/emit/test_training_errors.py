"""What stops a training iteration, what the host is told, and that a clean iteration follows."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from dse.host import Accelerator, AcceleratorError, Registers
from dse.schedule import SPACES, Schedule
from dse.schedule.record import HEADER_WORDS
from dse.verify import train
from dse.verify.dram import DECERR, SLVERR, Dram
from dse.verify.simulator import Simulator
from dse.verify.train import BASE, Trainer
from tests.emit.training_bench import Bench, Open, samples
from tests.schedule.made_networks import NETWORKS

BATCH = 4
Part = train._Part
LIMIT = 100_000
"""Cycles after which an iteration hangs; all of these take less than half of it."""


@pytest.fixture
def bench(opened: Open) -> Bench:
    return opened("channel")


@pytest.fixture(params=["separable", "biased"])
def trainer(bench: Bench, request: pytest.FixtureRequest) -> Iterator[Trainer]:
    """Ready to train on one that needs no host, and one that waits for it."""
    with bench.trainer(bench.schedule(NETWORKS[request.param], BATCH)) as trainer:
        trainer.accelerator.patience = 2
        yield trainer


@pytest.fixture
def ready(bench: Bench) -> Iterator[Trainer]:
    """Ready to train, with no step of the host."""
    with bench.trainer(bench.schedule(NETWORKS["separable"], BATCH)) as trainer:
        trainer.accelerator.patience = 2
        yield trainer


def registers(trainer: Trainer) -> Registers:
    return trainer.accelerator.registers


def clean(trainer: Trainer) -> None:
    """Clear, everything as at the start, and an iteration that is bit-exact."""
    registers(trainer).clear()
    trainer.simulator.run(500)
    assert registers(trainer).status == 0
    trainer.accelerator.load_parameters(trainer.model.parameters)
    registers(trainer).seed(trainer.arithmetic.random.state)
    row = trainer.iterate(1, *samples(trainer, BATCH))
    assert row.differences == ()


def stopped(trainer: Trainer, code: int, iterations: int = 1) -> AcceleratorError:
    """Start, and the error that it stops with."""
    registers(trainer).start(iterations)
    assert trainer.simulator.run(LIMIT) < LIMIT, "it hangs"
    error = registers(trainer).error
    assert error is not None
    assert error.code == code, error
    assert not registers(trainer).busy
    assert not registers(trainer).done
    return error


def steps_at(schedule: Schedule) -> dict[int, int]:
    """Word at which a step begins -> its number."""
    found, at = {}, 0
    for number, step in enumerate(schedule.steps):
        found[at] = number
        at += HEADER_WORDS + len(step.words)
    return found


def broken(trainer: Trainer, kind: str, response: int, seed: int) -> Dram:
    """A memory with a byte that answers with an error, in one of the tensors of ``kind``."""
    tensors = [tensor for tensor in trainer.schedule.tensors if tensor.kind == kind]
    rng = np.random.default_rng(seed)
    tensor = tensors[rng.integers(len(tensors))]
    start = trainer.accelerator.memory[tensor.space].address + tensor.base
    byte = start + int(rng.integers(tensor.size_bytes))
    return Dram(fault=(byte, byte + 1), fault_response=response, stall=0.2, seed=seed + 1)


@pytest.mark.parametrize("response", [SLVERR, DECERR])
@pytest.mark.parametrize(("kind", "code"), [("activation", 1), ("weight", 2), ("gradient", 3), ("error", 3)])
def test_a_bus_error_anywhere_stops_it_and_clear_recovers(
    trainer: Trainer, kind: str, code: int, response: int
) -> None:
    size = len(trainer.simulator.memory)
    for seed in range(3):
        dram = broken(trainer, kind, response, seed)
        trainer.simulator.behave(replace(dram, base=BASE, size=size))
        with pytest.raises(AcceleratorError) as caught:
            trainer.accelerator.iterate(*samples(trainer, BATCH))
        if kind == "activation":  # read where it is the samples, else written first
            assert caught.value.code in (1, 3)
        else:
            assert caught.value.code == code
        assert caught.value.place in steps_at(trainer.schedule)
        trainer.simulator.behave(Dram(base=BASE, size=size))
        clean(trainer)


def test_the_place_of_an_error_is_the_record_that_met_it(ready: Trainer) -> None:
    size, schedule = len(ready.simulator.memory), ready.schedule
    for name, phase in (("point", "forward"), ("fc", "forward"), ("depthwise", "weight_grad")):
        tensor = schedule.tensors["gradient" if phase == "weight_grad" else "weight", name]
        start = ready.accelerator.memory[tensor.space].address + tensor.base
        ready.simulator.behave(Dram(base=BASE, size=size, fault=(start, start + 1)))
        error = stopped(ready, 3 if phase == "weight_grad" else 2)
        step = schedule.steps[steps_at(schedule)[error.place]]
        assert (step.layer, step.phase, step.unit) == (name, phase, "engine")
        ready.simulator.behave(Dram(base=BASE, size=size))
        clean(ready)


def test_nothing_starts_after_an_error_until_it_is_cleared(ready: Trainer) -> None:
    registers(ready).bus.write(0x0C, 0)
    error = stopped(ready, 5)
    assert str(error) == "the schedule or the number of iterations is zero (at word 0 of the schedule)"
    registers(ready).load(ready.schedule.words())
    registers(ready).start()
    ready.simulator.run(LIMIT)
    found = registers(ready).error
    assert found is not None
    assert found.code == 5
    clean(ready)


def test_no_iterations_or_no_schedule(ready: Trainer) -> None:
    stopped(ready, 5, iterations=0)
    registers(ready).clear()
    registers(ready).load(ready.schedule.words()[:0])
    stopped(ready, 5)
    registers(ready).load(ready.schedule.words())
    clean(ready)


@pytest.mark.parametrize("cut", [1, 2, HEADER_WORDS, HEADER_WORDS + 5, -1])
def test_a_schedule_that_ends_within_a_record(ready: Trainer, cut: int) -> None:
    words = ready.schedule.words()
    ends = [*list(steps_at(ready.schedule))[1:], len(words)]
    registers(ready).load(words[: (ends[-1] if cut < 0 else ends[3]) + cut])
    error = stopped(ready, 6)
    assert error.place == (ends[-2] if cut < 0 else ends[3])
    registers(ready).load(words)
    clean(ready)


def test_a_schedule_longer_than_its_memory(ready: Trainer) -> None:
    bus = registers(ready).bus
    depth = bus.read(0x64)
    with pytest.raises(ValueError, match=f"a schedule of {depth + 1} words for a memory of {depth}"):
        registers(ready).load(np.zeros(depth + 1, np.uint32))
    for length in (depth + 1, 1 << 20, 0xFFFFFFFF):
        bus.write(0x0C, length)
        stopped(ready, 6)
        registers(ready).clear()
    bus.write(0x04, depth)  # what is written beyond the memory does not come round to its first word
    bus.write(0x08, 0xFFFFFFFF)
    bus.write(0x0C, len(ready.schedule.words()))
    clean(ready)


@pytest.mark.parametrize("unit", [5, 6, 7])
def test_a_unit_that_there_is_not(ready: Trainer, unit: int) -> None:
    words = ready.schedule.words()
    at = list(steps_at(ready.schedule))[2]
    words[at] = words[at] & ~np.uint32(7) | unit
    registers(ready).load(words)
    assert stopped(ready, 7).place == at
    registers(ready).load(ready.schedule.words())
    clean(ready)


def test_a_command_that_does_not_fit_a_buffer_is_refused_by_its_unit(ready: Trainer) -> None:
    words = ready.schedule.words()
    words[HEADER_WORDS + 4 : HEADER_WORDS + 40] = 0x7FFF
    registers(ready).load(words)
    assert stopped(ready, 4).place == 0
    registers(ready).load(ready.schedule.words())
    clean(ready)


@pytest.mark.parametrize(("base", "step"), [(0, None), (1, None), (2, None), (None, 0), (None, 1)])
def test_a_base_address_or_step_within_a_beat(ready: Trainer, base: int | None, step: int | None) -> None:
    bases = [ready.accelerator.memory[space].address for space in SPACES]
    steps = [0, 0]
    if base is not None:
        bases[base] += ready.schedule.hardware.engine.beat_bytes // 2
    if step is not None:
        steps[step] = 1
    registers(ready).place(bases, steps)
    stopped(ready, 8)
    registers(ready).place([ready.accelerator.memory[space].address for space in SPACES])
    clean(ready)


def test_a_start_while_busy_is_ignored_and_told(trainer: Trainer) -> None:
    accelerator = trainer.accelerator
    x, labels = samples(trainer, BATCH)
    accelerator.put(trainer.schedule.tensors["activation", "input"], x)
    registers(trainer).start()
    trainer.simulator.run(900)
    assert registers(trainer).busy
    registers(trainer).start(7)  # nor does the number of iterations change under way
    registers(trainer).bus.write(0x0C, 0)
    assert registers(trainer).ignored
    assert registers(trainer).error is None
    while registers(trainer).busy and not registers(trainer).waiting:
        trainer.simulator.run(100)
    if registers(trainer).waiting:
        accelerator._host_step(labels)
        registers(trainer).resume()
        while registers(trainer).busy:
            trainer.simulator.run(100)
    assert registers(trainer).done
    assert registers(trainer).iteration == 1
    registers(trainer).load(trainer.schedule.words())
    clean(trainer)


def test_resume_without_waiting_and_writes_of_the_schedule_while_busy_do_nothing(ready: Trainer) -> None:
    registers(ready).resume()
    ready.simulator.run(300)
    assert registers(ready).status == 0
    real = registers(ready).start

    def disturbed(iterations: int = 1) -> None:
        real(iterations)
        for cycles in (10, 200, 1000):
            ready.simulator.run(cycles)
            registers(ready).resume()
            ready.simulator.write(0x04, 0)
            ready.simulator.write(0x08, 0xFFFFFFFF)

    registers(ready).start = disturbed  # type: ignore[method-assign]
    for number in (1, 2):
        assert ready.iterate(number, *samples(ready, BATCH)).differences == ()


def test_a_reset_at_any_time_is_followed_by_a_clean_iteration(trainer: Trainer) -> None:
    schedule, accelerator = trainer.schedule, trainer.accelerator
    for cycles in (3, 150, 2500, 9000):
        registers(trainer).start()
        trainer.simulator.run(cycles)
        trainer.simulator.reset()
        assert registers(trainer).status == 0
        registers(trainer).load(schedule.words())
        registers(trainer).place([accelerator.memory[space].address for space in SPACES])
        registers(trainer).rate_shift(trainer.arithmetic.rate_shift)
        clean(trainer)


def test_a_clear_at_any_time_is_followed_by_a_clean_iteration(trainer: Trainer) -> None:
    size = len(trainer.simulator.memory)
    trainer.simulator.behave(Dram(base=BASE, size=size, stall=0.3, latency=30))
    for cycles in (1, 20, 130, 1111, 4321, 9999):
        registers(trainer).start()
        trainer.simulator.run(cycles)
        clean(trainer)


def test_several_iterations_a_start_move_samples_and_targets_on(bench: Bench) -> None:
    schedule, count = bench.schedule(NETWORKS["separable"], BATCH), 3
    sizes = {space: schedule.tensors.size_bytes(space) for space in SPACES}
    room = {space: size * (1 if space == "tensors" else count) for space, size in sizes.items()}
    ends = dict(zip(SPACES, itertools.accumulate(room.values()), strict=True))
    simulator = Simulator(bench.library, Dram(base=BASE, size=ends["targets"]), schedule.hardware.engine.data_bits)
    simulator.memory[:] = 0
    parts = {
        space: Part(BASE + ends[space] - room[space], simulator.memory[ends[space] - room[space] :]) for space in SPACES
    }
    with bench.trainer(schedule) as other:  # its golden model
        model, arithmetic, (x, labels) = other.model, other.arithmetic, samples(other, BATCH * count)
    accelerator = Accelerator(simulator, parts, schedule, arithmetic)
    accelerator.load_parameters(model.parameters)
    target = schedule.tensors["target", schedule.outputs.name]
    one = schedule.tensors["activation", "input"]
    for number in range(count):
        chosen = slice(number * BATCH, (number + 1) * BATCH)
        hot = np.zeros((BATCH, 3), np.int64)
        hot[np.arange(BATCH), labels[chosen]] = 127
        parts["samples"].write(number * sizes["samples"] + one.base, one.pack(x[chosen]))
        parts["targets"].write(number * sizes["targets"] + target.base, target.pack(hot.reshape(BATCH, 3, 1, 1)))
        model.iterate(x[chosen], labels[chosen])
    accelerator.registers.place([parts[space].address for space in SPACES], [sizes["samples"], sizes["targets"]])
    accelerator.registers.start(count)
    assert simulator.run(LIMIT) < LIMIT
    assert accelerator.registers.done
    assert accelerator.registers.iteration == count
    assert accelerator.registers.random_state == arithmetic.random.state
    assert sum(accelerator.counters().values()) == accelerator.registers.cycles
    for layer, found in accelerator.parameters().items():
        for name, values in found.items():
            expected = model.parameters[layer][name]
            assert (values.reshape(expected.shape) == expected).all(), (layer, name)
    assert simulator.violation == ""
    simulator.close()


def test_several_iterations_a_start_wait_for_the_host_in_each(bench: Bench) -> None:
    with bench.trainer(bench.schedule(NETWORKS["biased"], BATCH)) as trainer:
        accelerator, (x, labels) = trainer.accelerator, samples(trainer, BATCH)
        accelerator.put(trainer.schedule.tensors["activation", "input"], x)
        registers(trainer).start(2)
        for number in range(2):
            trainer.model.iterate(x, labels)
            assert trainer.simulator.run(LIMIT) < LIMIT
            assert registers(trainer).waiting
            assert registers(trainer).iteration == number
            accelerator._host_step(labels)
            registers(trainer).resume()
        assert trainer.simulator.run(LIMIT) < LIMIT
        assert registers(trainer).done
        for layer, found in accelerator.parameters().items():
            for name, values in found.items():
                expected = trainer.model.parameters[layer][name]
                assert (values.reshape(expected.shape) == expected).all(), (layer, name)
