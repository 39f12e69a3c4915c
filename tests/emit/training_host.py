"""What a host does to a training accelerator under test: start it, look at how it stops, begin anew."""

from __future__ import annotations

from dse.host import AcceleratorError, Registers
from dse.schedule import SPACES, Schedule
from dse.schedule.record import HEADER_WORDS
from dse.verify.train import Trainer
from tests.emit.training_bench import samples

__all__ = ["BATCH", "LIMIT", "clean", "place", "registers", "steps_at", "stopped"]

BATCH = 4
LIMIT = 100_000
"""Cycles after which an iteration hangs; all of these take less than half of it."""


def registers(trainer: Trainer) -> Registers:
    return trainer.accelerator.registers


def place(trainer: Trainer) -> None:
    """The base addresses as they were, and no steps."""
    registers(trainer).place([trainer.accelerator.memory[space].address for space in SPACES])


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
