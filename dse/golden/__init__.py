"""Golden model: training in numpy, in the arithmetic of the accelerator, bit for bit what its RTL has to compute."""

from dse.golden.arithmetic import Arithmetic
from dse.golden.convolution import Window, forward, input_grad, weight_grad
from dse.golden.dataset import DataSet, load_npz
from dse.golden.floating import FloatArithmetic
from dse.golden.integer import IntegerArithmetic
from dse.golden.model import GoldenModel, Iteration
from dse.golden.rounding import Scaled, normalise, requantise, shift_round
from dse.golden.shapes import draw_shapes
from dse.golden.training import Epoch, Schedule, accuracy, train
from dse.golden.update import stochastic_step, updated
from dse.golden.xorshift import Xorshift32

__all__ = [
    "Arithmetic",
    "DataSet",
    "Epoch",
    "FloatArithmetic",
    "GoldenModel",
    "IntegerArithmetic",
    "Iteration",
    "Scaled",
    "Schedule",
    "Window",
    "Xorshift32",
    "accuracy",
    "draw_shapes",
    "forward",
    "input_grad",
    "load_npz",
    "normalise",
    "requantise",
    "shift_round",
    "stochastic_step",
    "train",
    "updated",
    "weight_grad",
]
