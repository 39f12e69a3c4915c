"""Points near a good one are legal, fit, and reach what one parameter hands to another."""

from __future__ import annotations

import numpy as np
import pytest

from dse.devices import load_device
from dse.registry import families
from dse.search import Problem
from dse.search.encoding import Encoding
from dse.search.neighbours import neighbours
from tests.contract.helpers import workload


@pytest.mark.parametrize("family", sorted(families()))
def test_neighbours_are_legal_and_fit(family: str) -> None:
    problem = Problem.of(families()[family], workload("cnn_1x", 8), load_device("zcu102"))
    encoding = Encoding.of(problem)
    start = encoding.points(encoding.decode(np.full((1, len(encoding.free)), 0.4)))
    near = encoding.points(neighbours(encoding, {name: int(column[0]) for name, column in start.items()}))
    count = len(next(iter(near.values())))
    assert count > 5
    assert len(np.unique(np.stack(list(near.values())), axis=1).T) == count
    assert problem.space.contains(near).all()
    assert problem.fits(near).all()


def test_a_factor_is_handed_from_one_loop_to_another() -> None:
    problem = Problem.of(families()["channel"], workload("alexnet"), load_device("zcu102"))
    point = {"tm": 16, "tn": 16, "ifm_words": 4096, "ofm_words": 1024, "wei_words": 1024}
    encoding = Encoding.of(problem)
    near = encoding.points(neighbours(encoding, point))
    shapes = set(zip(near["tm"].tolist(), near["tn"].tolist(), strict=True))
    assert {(32, 8), (8, 32), (64, 4), (17, 16), (16, 15)} <= shapes
