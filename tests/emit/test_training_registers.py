"""Registers of a training accelerator while it works: what is written then is for the next start, or does nothing."""

from __future__ import annotations

import itertools

import numpy as np

from dse.host import Accelerator
from dse.schedule import SPACES
from dse.verify import train
from dse.verify.dram import Dram
from dse.verify.simulator import Simulator
from dse.verify.train import BASE, Trainer
from tests.emit.training_bench import Bench, samples
from tests.emit.training_host import BATCH, LIMIT, clean, place, registers, stopped
from tests.schedule.made_networks import NETWORKS

Part = train._Part
READABLE = range(0x40, 0x64, 4)
"""STATUS to RANDOM."""


def spoil(trainer: Trainer) -> None:
    """Write what is wrong to every register that a start takes, and a seed and rate for the next one."""
    bus = registers(trainer).bus
    bus.write(0x0C, 0)
    bus.write(0x10, 7)
    registers(trainer).rate_shift(9)
    registers(trainer).seed(12345)
    registers(trainer).place([3, 5, 7], [64, 1])


def test_what_is_written_while_busy_is_for_the_next_start(trainer: Trainer) -> None:
    real = registers(trainer).start, registers(trainer).resume

    def start(iterations: int = 1) -> None:
        real[0](iterations)
        for part in (0, 0.01, 0.1, 0.2, 0.2, 0.2):  # of the iteration, from the cycle in which it begins on
            trainer.simulator.run(int(part * trainer.schedule.cycles))
            assert registers(trainer).busy
            spoil(trainer)

    def resume() -> None:
        spoil(trainer)
        real[1]()

    registers(trainer).start, registers(trainer).resume = start, resume  # type: ignore[method-assign]
    assert trainer.iterate(1, *samples(trainer, BATCH)).differences == ()
    registers(trainer).start, registers(trainer).resume = real  # type: ignore[method-assign]
    registers(trainer).load(trainer.schedule.words())
    place(trainer)
    trainer.arithmetic.rate_shift, trainer.arithmetic.random.state = 9, 12345
    assert trainer.iterate(2, *samples(trainer, BATCH, seed=3)).differences == ()


def test_the_random_numbers_run_on_from_start_to_start(ready: Trainer) -> None:
    states = []
    for number in (1, 2, 3):
        assert ready.iterate(number, *samples(ready, BATCH)).differences == ()
        states.append(registers(ready).random_state)
    assert len(set(states)) == 3


def test_a_start_after_an_error_changes_no_register(ready: Trainer) -> None:
    size = len(ready.simulator.memory)
    tensor = ready.schedule.tensors["gradient", "point"]
    start = ready.accelerator.memory[tensor.space].address + tensor.base
    ready.simulator.behave(Dram(base=BASE, size=size, fault=(start, start + 1)))
    stopped(ready, 3)
    ready.simulator.behave(Dram(base=BASE, size=size))

    def readable() -> list[int]:
        counters = [registers(ready).counter(number) for number in range(ready.schedule.counters)]
        return [ready.simulator.read(address) for address in READABLE] + counters

    before = readable()
    assert min(registers(ready).steps, registers(ready).cycles, registers(ready).record) > 0
    registers(ready).seed(12345)
    registers(ready).start(7)
    ready.simulator.run(500)
    assert readable() == before
    clean(ready)


def test_a_start_together_with_a_clear_is_dropped(ready: Trainer) -> None:
    assert ready.iterate(1, *samples(ready, BATCH)).differences == ()
    steps = registers(ready).steps
    ready.simulator.write(0x00, 3)
    ready.simulator.run(500)
    assert registers(ready).status == 0
    assert registers(ready).steps == steps > 0
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
    simulator.run(5000)
    accelerator.registers.place([0, 0, 0], [0, 0])  # for the next start
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
