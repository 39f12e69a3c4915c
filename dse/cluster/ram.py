"""On-chip RAM of one layer's engine in bits: weights with their gradients, line buffers, lines of gradients."""

from __future__ import annotations

from dse.cluster.reading import Reading
from dse.network import MAC_OPERATIONS, Layer
from dse.workload import Precision

__all__ = ["layer_ram_bits", "second_operand_words"]


def layer_ram_bits(layer: Layer, precision: Precision, reading: Reading, frames: float = 0.0) -> float:
    """Bits that ``layer`` takes with its weights on chip, or in DRAM where one load serves ``frames`` frames (> 0).

    With the constants of ``costs.toml`` a convolution on chip takes NADA's Table III within 0.2 %. A layer whose
    weights come from DRAM holds its maps for the frames that share them instead, in both directions, double-buffered. A
    product of two activations holds its second one, which every pixel of the first meets, and that one's gradient for a
    frame, double-buffered (assumed); the first streams.
    """
    bits, backward = precision.bits, 1 + int(layer.needs_input_grad)
    own = 0.0 if frames else 2.0 * bits * layer.parameters
    if layer.op in MAC_OPERATIONS:
        if layer.op == "matmul":
            channels = layer.in_shape[0] + layer.out_shape[0]
            second = 2.0 * (1 + int(layer.needs_weight_grad)) * second_operand_words(layer)
            return bits * (second + reading.pointwise_words * channels) + reading.pointwise_fixed_bits
        if frames or layer.op not in ("conv", "fc"):
            held = frames if frames and reading.buffer_micro_batch else 1.0
            maps = layer.in_elements + layer.out_elements
            return own + 2.0 * backward * bits * held * maps + reading.pointwise_fixed_bits
        if layer.op == "fc" or layer.kernel == (1, 1):
            channels = layer.in_shape[0] + layer.out_shape[0]
            return own + bits * reading.pointwise_words * channels + reading.pointwise_fixed_bits
        return own + bits * _line_words(layer, reading) + reading.fixed_bits
    return own + bits * _window_words(layer, reading)


def _line_words(layer: Layer, reading: Reading) -> float:
    """Words of a convolution's input lines, output lines and, with an input gradient, its gradient lines."""
    (kv, _), (sv, _), (oc, _, ow) = layer.kernel, layer.stride, layer.out_shape
    forward = _window_words(layer, reading) + reading.output_lines * ow * oc
    back = (-(-kv // sv) + 1) * ow * oc if layer.needs_input_grad else 0
    return forward + back


def _window_words(layer: Layer, reading: Reading) -> float:
    """Words of the input lines that a window and the next rows take; none where there is no window."""
    if layer.kernel == (1, 1):
        return 0
    (kv, _), (sv, _), (ic, _, iw) = layer.kernel, layer.stride, layer.in_shape
    return reading.line_buffer * (kv + sv) * (iw + layer.padding[1] + layer.padding[3]) * ic


def second_operand_words(layer: Layer) -> int:
    """Elements a frame of the second input of a product of two activations."""
    _, rows, columns = layer.out_shape
    return layer.macs // (rows * columns)
