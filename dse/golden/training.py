"""Epochs of training, and how good a network is after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dse.golden.dataset import DataSet
from dse.golden.model import GoldenModel
from dse.golden.product import Array

__all__ = ["Epoch", "Schedule", "accuracy", "train"]

EVALUATED_AT_ONCE = 128
"""Samples of one evaluation pass; what comes out does not depend on it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and in what order: ``halve_every`` epochs the learning rate is halved; ``seed`` draws the order."""

    epochs: int = 10
    batch_size: int = 32
    halve_every: int = 2
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the training samples: ``number`` from 1, mean loss, share of the test samples that is right."""

    number: int
    loss: float
    accuracy: float
    train_s: float
    samples_per_s: float


def train(
    model: GoldenModel, data: DataSet, schedule: Schedule, on_batch: Callable[[], None] | None = None
) -> Iterator[Epoch]:
    """Train ``model`` on ``data``, an epoch at each step of the iterator; a batch that is not full is left out.

    The order of the samples is that of ``schedule.seed`` whatever the arithmetic. Raises InputError for data that do
    not fit the network or do not fill a batch.
    """
    data.check(model.network, schedule.batch_size)
    samples, labels = data.train
    batch = schedule.batch_size
    encoded, rng = model.arithmetic.encode(samples), np.random.default_rng(schedule.seed)
    for number in range(schedule.epochs):
        if number and number % schedule.halve_every == 0:
            model.arithmetic.halve_rate()
        order, start, losses = rng.permutation(len(labels)), time.perf_counter(), []
        for first in range(0, len(labels) - batch + 1, batch):
            chosen = order[first : first + batch]
            losses.append(model.iterate(encoded[chosen], labels[chosen]).loss)
            if on_batch:
                on_batch()
        seconds = time.perf_counter() - start
        share = accuracy(model, *data.test)
        yield Epoch(number + 1, float(np.mean(losses)), share, seconds, len(losses) * batch / seconds)


def accuracy(model: GoldenModel, samples: Array, labels: Array) -> float:
    """The share of ``samples`` [S, C, H, W], from -1 to 1, whose largest output is their label's."""
    right = 0
    for first in range(0, len(labels), EVALUATED_AT_ONCE):
        part = slice(first, first + EVALUATED_AT_ONCE)
        outputs = model.outputs(model.arithmetic.encode(samples[part]))
        right += int((outputs.argmax(axis=1) == labels[part]).sum())
    return right / len(labels)
