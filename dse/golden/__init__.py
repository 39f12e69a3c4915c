"""Golden model: training in numpy, in the arithmetic of the accelerator, bit for bit what its RTL has to compute."""

from dse.golden.convolution import Window, forward, input_grad, weight_grad

__all__ = ["Window", "forward", "input_grad", "weight_grad"]
