"""A network as the models see it: a directed acyclic graph of layers with every shape known."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MAC_OPERATIONS", "Layer", "Network", "Shape"]

Shape = tuple[int, int, int]
"""(channels, height, width) of one sample."""

MAC_OPERATIONS = ("conv", "conv_transpose", "fc", "matmul")
"""Operations that run on the multiplier array; every other operation is auxiliary."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One operation with its shapes for one sample (batch size 1).

    ``padding`` is (top, left, bottom, right) in pixels; ``kernel``, ``stride`` and ``dilation`` are (rows, columns).
    ``inputs`` names the producing layers, ``"input"`` being the network's input. ``parameters`` counts trainable
    scalars. ``needs_input_grad`` is False where no layer before this one has parameters, so that nobody reads the
    gradient of its (for a ``matmul``: first) input. A ``matmul`` has no weights: its second input takes their place,
    other ones for every sample, and ``needs_weight_grad`` is False where nobody reads that input's gradient.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    in_shape: Shape
    out_shape: Shape
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    bias: bool = False
    parameters: int = 0
    needs_input_grad: bool = True
    needs_weight_grad: bool = True

    @property
    def in_elements(self) -> int:
        """Elements read per sample, over all inputs (an add of two maps reads both)."""
        c, h, w = self.in_shape
        return c * h * w * (len(self.inputs) if self.op in ("add", "sub", "mul") else 1)

    @property
    def out_elements(self) -> int:
        """Elements written per sample."""
        c, h, w = self.out_shape
        return c * h * w

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the forward pass of one sample (0 for an auxiliary operation)."""
        if self.op not in MAC_OPERATIONS:
            return 0
        taps = self.kernel[0] * self.kernel[1]
        if self.op == "conv_transpose":
            return self.in_elements * (self.out_shape[0] // self.groups) * taps
        return self.out_elements * (self.in_shape[0] // self.groups) * taps

    @property
    def training_macs(self) -> int:
        """MACs of forward and, where needed, input and weight gradient of one sample."""
        return self.macs * (1 + self.needs_input_grad + self.needs_weight_grad)


@dataclass(frozen=True)
class Network:
    """Layers in topological order. Build one with ``dse.load_network``; the constructor checks nothing."""

    name: str
    source: str
    input_shape: Shape
    layers: tuple[Layer, ...]
    path: str = ""
    digest: str = field(default="", compare=False)
    """SHA-256 of the file it was read from."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What an importer assumed or found, a sentence each."""

    @property
    def macs(self) -> int:
        """Forward MACs per sample."""
        return sum(layer.macs for layer in self.layers)

    @property
    def training_flop(self) -> int:
        """Operations of one training step per sample, 1 MAC = 2 operations, multiplier-array layers only."""
        return 2 * sum(layer.training_macs for layer in self.layers)

    @property
    def parameters(self) -> int:
        """Trainable scalars."""
        return sum(layer.parameters for layer in self.layers)

    @cached_property
    def table(self) -> dict[str, NDArray[np.int64]]:
        """Columns of length L (int64): the loop bounds and sizes of every layer, in layer order.

        ``m``/``n`` output/input channels, ``r``/``c`` output rows/columns, ``h``/``w`` input rows/columns,
        ``kr``/``kc`` kernel, ``sr``/``sc`` stride, ``dr``/``dc`` dilation, ``groups``, ``macs`` (forward, one sample),
        ``parameters``, ``in_elements``, ``out_elements``, ``is_mac``, ``needs_input_grad`` and ``needs_weight_grad``
        (0 or 1).
        """
        import numpy as np  # here, so that listing networks does not wait for it

        return {key: np.array([row[key] for row in map(_row, self.layers)], dtype=np.int64) for key in _COLUMNS}

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.source, self.input_shape, self.layers, self.path))

    def __hash__(self) -> int:
        """Computed once: networks are keys of the models' caches."""
        return self._hash

    def __getitem__(self, name: str) -> Layer:
        """The layer called ``name``. Raises KeyError."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)


_COLUMNS = (
    "m", "n", "r", "c", "h", "w", "kr", "kc", "sr", "sc", "dr", "dc", "groups", "macs", "parameters",
    "in_elements", "out_elements", "is_mac", "needs_input_grad", "needs_weight_grad",
)  # fmt: skip


def _row(layer: Layer) -> dict[str, Any]:
    (n, h, w), (m, r, c) = layer.in_shape, layer.out_shape
    return {
        "m": m, "n": n, "r": r, "c": c, "h": h, "w": w,
        "kr": layer.kernel[0], "kc": layer.kernel[1], "sr": layer.stride[0], "sc": layer.stride[1],
        "dr": layer.dilation[0], "dc": layer.dilation[1], "groups": layer.groups, "macs": layer.macs,
        "parameters": layer.parameters, "in_elements": layer.in_elements, "out_elements": layer.out_elements,
        "is_mac": int(layer.op in MAC_OPERATIONS), "needs_input_grad": int(layer.needs_input_grad),
        "needs_weight_grad": int(layer.needs_weight_grad),
    }  # fmt: skip
