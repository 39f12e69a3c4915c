"""The host's side of the units that do what is no convolution: their commands and cycle counts."""

from dse.vector.elementwise import ELEMENTWISE_FIELDS, Elementwise, elementwise_cycles, elementwise_words

__all__ = ["ELEMENTWISE_FIELDS", "Elementwise", "elementwise_cycles", "elementwise_words"]
