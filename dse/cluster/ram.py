"""On-chip RAM of one layer's engine in bits: weights with their gradients, line buffers, lines of gradients."""

from __future__ import annotations

from dse.cluster.reading import Reading
from dse.network import MAC_OPERATIONS, Layer
from dse.workload import Precision

__all__ = ["layer_ram_bits", "second_operand_words"]


def layer_ram_bits(
    layer: Layer, precision: Precision, reading: Reading, *, on_chip: bool = True, rows: int = 1, frames: float = 0.0
) -> float:
    """Bits that ``layer`` takes with its weights ``on_chip`` or in DRAM.

    Its maps stream with lines for ``rows`` rows of lanes, or ``frames`` frames (> 0) of them are held, in both
    directions, double-buffered; what is no convolution holds one at least. With the constants of ``costs.toml`` a
    convolution on chip takes NADA's Table III within 0.2 %. A product of two activations holds its second one, which
    every pixel of the first meets, and that one's gradient for a frame, double-buffered (assumed); the first streams.
    """
    bits = precision.bits
    own = 2.0 * bits * layer.parameters if on_chip else 0.0
    if layer.op not in MAC_OPERATIONS:
        return own + bits * _window_words(layer, reading, 1)
    if layer.op == "matmul":
        second = 2.0 * (1 + int(layer.needs_weight_grad)) * second_operand_words(layer)
        return bits * (second + _pointwise_words(layer, reading)) + reading.pointwise_fixed_bits
    if layer.op not in ("conv", "fc"):
        frames = max(frames, 1.0)
    if frames:
        backward = 1 + int(layer.needs_input_grad)
        maps = layer.in_elements + layer.out_elements
        return own + 2.0 * backward * bits * frames * maps + reading.pointwise_fixed_bits
    if rows == 1 and (layer.op == "fc" or layer.kernel == (1, 1)):
        return own + bits * _pointwise_words(layer, reading) + reading.pointwise_fixed_bits
    fixed = reading.pointwise_fixed_bits if layer.kernel == (1, 1) else reading.fixed_bits
    return own + bits * _line_words(layer, reading, rows) + fixed


def _pointwise_words(layer: Layer, reading: Reading) -> int:
    """Words of a layer that needs one pixel at a time."""
    return reading.pointwise_words * (layer.in_shape[0] + layer.out_shape[0])


def _line_words(layer: Layer, reading: Reading, rows: int) -> float:
    """Words of a convolution's input lines, output lines and, with an input gradient, its gradient lines.

    ``rows`` rows of lanes take as many windows, one below the other, and as many rows that come in meanwhile.
    """
    (kv, _), (sv, _), (oc, _, ow) = layer.kernel, layer.stride, layer.out_shape
    forward = _window_words(layer, reading, rows) + reading.output_lines * rows * ow * oc
    back = (-(-(kv + rows - 1) // sv) + -(-rows // sv)) * ow * oc if layer.needs_input_grad else 0
    return forward + back


def _window_words(layer: Layer, reading: Reading, rows: int) -> float:
    """Words of the input lines that windows and the next rows take; none for one pixel at a time."""
    if layer.kernel == (1, 1) and rows == 1:
        return 0
    (kv, _), (sv, _), (ic, _, iw) = layer.kernel, layer.stride, layer.in_shape
    lines = kv + (2 * rows - 1) * sv
    return reading.line_buffer * lines * (iw + layer.padding[1] + layer.padding[3]) * ic


def second_operand_words(layer: Layer) -> int:
    """Elements a frame of the second input of a product of two activations."""
    _, rows, columns = layer.out_shape
    return layer.macs // (rows * columns)
