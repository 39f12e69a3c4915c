"""The golden model against PyTorch's autograd, as tests/fixtures/make_autograd.py wrote it down."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.golden import FloatArithmetic, GoldenModel, Window, forward, input_grad, weight_grad
from dse.networks import load_network

AUTOGRAD = np.load(Path(__file__).parents[1] / "fixtures" / "autograd.npz")
CASES = sum(name.startswith("window") for name in AUTOGRAD.files)


@pytest.mark.parametrize("case", range(CASES))
def test_a_convolution_s_three_phases_are_exactly_those_of_autograd(case: int) -> None:
    x, w, e, y, dx, dw = (AUTOGRAD[f"{name}{case}"] for name in ("x", "w", "e", "y", "dx", "dw"))
    kr, kc, sr, sc, top, left, bottom, right, dr, dc, groups = (int(n) for n in AUTOGRAD[f"window{case}"])
    window = Window((kr, kc), (sr, sc), (top, left, bottom, right), (dr, dc), groups)
    np.testing.assert_array_equal(forward(x, w, window), y)
    np.testing.assert_array_equal(input_grad(e, w, window, x.shape[2:]), dx)
    np.testing.assert_array_equal(weight_grad(x, e, window), dw)


def test_cases_have_strides_padding_dilation_and_groups() -> None:
    windows = np.stack([AUTOGRAD[f"window{case}"] for case in range(CASES)])
    assert CASES >= 30
    assert all(len(set(column.tolist())) > 1 for column in windows.T)


def test_the_gradients_of_a_residual_network_with_batch_norm_are_those_of_autograd() -> None:
    network = load_network("shapes_residual")
    model = GoldenModel(network, FloatArithmetic(learning_rate=0.0), 0)
    model.parameters = {n: {k: v.astype(np.float64) for k, v in own.items()} for n, own in model.parameters.items()}
    found = model.iterate(AUTOGRAD["samples"], AUTOGRAD["labels"]).gradients
    expected = [name for name in AUTOGRAD.files if name.startswith("gradient ")]
    assert len(expected) == 10
    for name in expected:
        _, layer, parameter = name.split()
        scale = np.abs(AUTOGRAD[name]).max()
        np.testing.assert_allclose(found[layer][parameter] / scale, AUTOGRAD[name] / scale, atol=1e-11, err_msg=name)
