"""The host's side of the units that do what is no convolution: their commands and cycle counts."""

from dse.vector.channel import CHANNEL_FIELDS, CHANNEL_KINDS, ChannelOperation, channel_vector, channel_words
from dse.vector.channel_waits import channel_cycles
from dse.vector.elementwise import ELEMENTWISE_FIELDS, Elementwise, elementwise_cycles, elementwise_words
from dse.vector.pool import POOL_FIELDS, Pooling, pool_words
from dse.vector.pool_hardware import PoolParameters
from dse.vector.pool_timing import pool_cycles

__all__ = [
    "CHANNEL_FIELDS",
    "CHANNEL_KINDS",
    "ELEMENTWISE_FIELDS",
    "POOL_FIELDS",
    "ChannelOperation",
    "Elementwise",
    "PoolParameters",
    "Pooling",
    "channel_cycles",
    "channel_vector",
    "channel_words",
    "elementwise_cycles",
    "elementwise_words",
    "pool_cycles",
    "pool_words",
]
