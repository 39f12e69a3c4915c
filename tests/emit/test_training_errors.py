"""What stops a training iteration, what the host is told, and that a clean iteration follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.host import AcceleratorError
from dse.schedule import SPACES
from dse.schedule.record import HEADER_WORDS
from dse.verify.dram import DECERR, SLVERR, Dram
from dse.verify.train import BASE, Trainer
from tests.emit.training_bench import samples
from tests.emit.training_host import BATCH, LIMIT, clean, place, registers, steps_at, stopped


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
    place(ready)
    clean(ready)


def test_a_reset_at_any_time_is_followed_by_a_clean_iteration(trainer: Trainer) -> None:
    schedule = trainer.schedule
    for cycles in (3, 150, 2500, 9000):
        registers(trainer).start()
        trainer.simulator.run(cycles)
        trainer.simulator.reset()
        assert registers(trainer).status == 0
        registers(trainer).load(schedule.words())
        place(trainer)
        registers(trainer).rate_shift(trainer.arithmetic.rate_shift)
        clean(trainer)


def test_a_clear_at_any_time_is_followed_by_a_clean_iteration(trainer: Trainer) -> None:
    size = len(trainer.simulator.memory)
    trainer.simulator.behave(Dram(base=BASE, size=size, stall=0.3, latency=30))
    for cycles in (1, 20, 130, 1111, 4321, 9999):
        registers(trainer).start()
        trainer.simulator.run(cycles)
        clean(trainer)
