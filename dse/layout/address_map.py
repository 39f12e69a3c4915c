"""Where every tensor of a training iteration lies in DRAM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dse.errors import InputError
from dse.layout.blocked import Array, BlockedLayout
from dse.network import Layer, Network, Shape

__all__ = ["ALIASES", "KINDS", "AddressMap", "Region", "address_map"]

KINDS = ("activation", "error", "weight", "bias", "gradient", "bias_gradient", "index")
"""What a region holds: ``error`` is that of the activation of the same name, gradients are sums before the update."""
ALIASES = ("flatten", "dropout")
"""Operations whose output is their input as stored, so that it has no region of its own."""
ACCUMULATOR_BYTES = 4
"""Bytes of a gradient before it is scaled: the int32 accumulator of DarkFPGA (Luo et al., FCCM 2019, section III)."""


@dataclass(frozen=True, slots=True)
class Region:
    """One tensor in DRAM: ``base`` in bytes, its ``layout`` and the type of its elements (numpy, little endian).

    ``name`` is the layer that writes it, or owns the weights; ``"input"`` is the network's input.
    """

    kind: str
    name: str
    base: int
    layout: BlockedLayout
    dtype: str

    @property
    def size_bytes(self) -> int:
        """Bytes stored, filling of the blocks included."""
        return self.layout.elements * np.dtype(self.dtype).itemsize

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.base + self.size_bytes

    def image(self, tensor: Array) -> bytes:
        """The bytes of ``tensor`` at ``base``. Raises ValueError for another shape or values beyond the type."""
        limits = np.iinfo(self.dtype)
        if tensor.size and not (limits.min <= tensor.min() and tensor.max() <= limits.max):
            raise ValueError(f"{self.kind} {self.name}: values reach beyond {self.dtype}")
        return self.layout.pack(tensor).astype(self.dtype).tobytes()

    def tensor(self, image: bytes) -> Array:
        """The tensor whose bytes are ``image``, as many as the region has."""
        return self.layout.unpack(np.frombuffer(image, self.dtype))


@dataclass(frozen=True)
class AddressMap:
    """Regions in order of address; they do not overlap and each begins at a multiple of ``alignment`` bytes."""

    regions: tuple[Region, ...]
    alignment: int
    aliases: Mapping[str, str]
    """Layer without a region of its own -> the one whose activation and error it shares."""

    @property
    def end(self) -> int:
        """The first byte behind the last region."""
        return max(region.end for region in self.regions)

    def __getitem__(self, key: tuple[str, str]) -> Region:
        """The region of (kind, name), following aliases. Raises KeyError."""
        kind, name = key
        name = self.aliases.get(name, name)
        for region in self.regions:
            if (region.kind, region.name) == (kind, name):
                return region
        raise KeyError(key)

    def plain(self) -> dict[str, Any]:
        """The map in JSON types: what a host and a design file need."""
        rows = [
            {
                "kind": region.kind, "name": region.name, "base": region.base, "bytes": region.size_bytes,
                "dtype": region.dtype, "shape": list(region.layout.shape), "block": list(region.layout.block),
            }
            for region in self.regions
        ]  # fmt: skip
        return {"alignment_bytes": self.alignment, "bytes": self.end, "regions": rows, "aliases": dict(self.aliases)}


def address_map(
    network: Network,
    batch_size: int,
    *,
    dtype: str = "<i1",
    feature_block: tuple[int, int] = (1, 1),
    weight_block: tuple[int, int] = (1, 1),
    base: int = 0,
    alignment: int = 4096,
) -> AddressMap:
    """The address map of training ``network``; blocks are (bb, nb) of features and (mb, nb) of weights.

    ``dtype`` is that of activations, errors and weights (``<i1`` or ``<i2``). A fully connected layer behind a
    ``flatten`` keeps its weights as kernels that cover the unflattened map, so that both are stored alike. The default
    alignment is the 4 KiB that no AXI4 burst may cross (AMBA AXI and ACE, ARM IHI 0022, section A3.4.1). Raises
    InputError for an alignment that is no power of two, and a base that is not aligned.
    """
    if alignment < 1 or alignment & (alignment - 1):
        raise InputError("alignment", "must be a power of two", alignment, "for example 4096 bytes")
    if base < 0 or base % alignment:
        raise InputError("base address", "is not aligned", base, f"multiples of {alignment} bytes")
    aliases, regions = _aliases(network), []
    for kind, name, shape, element in _tensors(network, batch_size, dtype, aliases):
        block = weight_block if kind in ("weight", "gradient") else feature_block
        block = (1, 1) if kind in ("bias", "bias_gradient") else block
        regions.append(Region(kind, name, base, BlockedLayout(shape, block), element))
        base = -(-regions[-1].end // alignment) * alignment
    return AddressMap(tuple(regions), alignment, aliases)


def _aliases(network: Network) -> dict[str, str]:
    aliases: dict[str, str] = {}
    for layer in network.layers:
        if layer.op in ALIASES:
            source = layer.inputs[0]
            aliases[layer.name] = aliases.get(source, source)
    return aliases


def _tensors(
    network: Network, batch_size: int, dtype: str, aliases: Mapping[str, str]
) -> Iterator[tuple[str, str, tuple[int, int, int, int], str]]:
    """(kind, name, shape, type of the elements) of everything stored: activations, errors, then parameters."""
    shapes: dict[str, Shape] = {
        "input": network.input_shape,
        **{layer.name: layer.out_shape for layer in network.layers},
    }
    trained = {"input": False}
    yield "activation", "input", (batch_size, *network.input_shape), dtype
    for layer in network.layers:
        trained[layer.name] = layer.needs_input_grad or layer.parameters > 0
        if layer.name in aliases:
            continue
        yield "activation", layer.name, (batch_size, *layer.out_shape), dtype
        if trained[layer.name]:
            yield "error", layer.name, (batch_size, *layer.out_shape), dtype
        if layer.op == "max_pool":
            yield "index", layer.name, (batch_size, *layer.out_shape), "<u1"
    for layer in network.layers:
        source = layer.inputs[0] if layer.inputs else layer.name  # a learned map reads nothing
        yield from _parameters(layer, shapes[aliases.get(source, source)], dtype)


def _parameters(layer: Layer, stored: Shape, dtype: str) -> Iterator[tuple[str, str, tuple[int, int, int, int], str]]:
    """Weights and bias of one layer; ``stored`` is the shape of its input as it lies in DRAM."""
    wide = f"<i{ACCUMULATOR_BYTES}"
    channels = layer.out_shape[0]
    if layer.op in ("conv", "fc"):
        kernel = (stored[0], stored[1], stored[2])
        if layer.op == "conv":
            kernel = (layer.in_shape[0] // layer.groups, *layer.kernel)
        yield "weight", layer.name, (channels, *kernel), dtype
        yield "gradient", layer.name, (channels, *kernel), wide
    elif layer.op == "batch_norm":
        yield "weight", layer.name, (channels, 1, 1, 1), dtype
        yield "gradient", layer.name, (channels, 1, 1, 1), wide
    elif layer.parameters and layer.op != "bias":
        yield "weight", layer.name, (layer.parameters, 1, 1, 1), dtype
        yield "gradient", layer.name, (layer.parameters, 1, 1, 1), wide
        return
    if layer.bias or layer.op in ("bias", "batch_norm"):
        yield "bias", layer.name, (channels, 1, 1, 1), dtype
        yield "bias_gradient", layer.name, (channels, 1, 1, 1), wide
