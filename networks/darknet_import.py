"""Darknet import: the layers of a .cfg file as a training network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dse.errors import InputError, did_you_mean
from dse.network import Shape
from dse.networks.graph import INPUT
from dse.networks.imported import MAX_LAYERS, Builder, Description, clean_name
from dse.networks.layer_spec import MAX_DIMENSION

__all__ = ["ACTIVATIONS", "SECTIONS", "read_darknet"]

_MAX_BYTES = 2**24

ACTIVATIONS: Mapping[str, str] = {
    "linear": "", "relu": "relu", "relu6": "relu6", "leaky": "leaky_relu", "logistic": "sigmoid", "tanh": "tanh",
    "swish": "swish", "elu": "elu", "selu": "elu", "gelu": "gelu", "hardtan": "clip",
}  # fmt: skip
"""Activation of a section -> operation; none for ``linear``."""


@dataclass
class _Section:
    """One ``[kind]`` and its options, with the line it begins on."""

    kind: str
    where: str
    options: dict[str, str] = field(default_factory=dict)

    def error(self, key: str, rule: str, got: object = None, allowed: object = None) -> InputError:
        return InputError(f"{self.where}: {key}", rule, got, allowed)

    def integer(self, key: str, default: int | None, low: int = 1, high: int = MAX_DIMENSION) -> int:
        text = self.options.get(key)
        if text is None:
            if default is None:
                raise self.error(key, "required option is missing")
            return default
        return self._whole(key, text, low, high)

    def integers(self, key: str, low: int, high: int) -> list[int]:
        return [self._whole(key, text, low, high) for text in self.options.get(key, "").split(",") if text.strip()]

    def _whole(self, key: str, text: str, low: int, high: int) -> int:
        try:
            value = int(text) if len(text) < 20 else None
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise self.error(key, "must be a whole number in range", text, f"{low} to {high}")
        return value

    def choice(self, key: str, default: str, choices: Mapping[str, str]) -> str:
        value = self.options.get(key, default)
        if value not in choices:
            raise self.error(key, "unknown value", value, did_you_mean(value, choices))
        return choices[value]


class _State:
    """The layers so far; ``outputs`` has the layer that ends each section."""

    def __init__(self, path: Path) -> None:
        self.builder = Builder(path)
        self.outputs: list[str] = []

    @property
    def last(self) -> str:
        return self.outputs[-1] if self.outputs else INPUT

    def shape(self, layer: str) -> Shape:
        return self.builder.shapes[layer]

    def emit(self, section: _Section, op: str, *inputs: str, **attributes: object) -> str:
        name = f"{op}{len(self.outputs)}"
        return self.builder.emit(name, op, inputs or (self.last,), section.where, **attributes)

    def earlier(self, section: _Section, key: str) -> list[str]:
        """The layers that ``key`` counts from the first section, or, below 0, back from this one."""
        count = len(self.outputs)
        numbers = section.integers(key, -count, count - 1)
        if not numbers:
            raise section.error(key, "names no layer", section.options.get(key), "numbers of earlier sections")
        return [self.outputs[number] for number in numbers]


def read_darknet(path: Path) -> Description:
    """The network in the Darknet .cfg file at ``path``.

    Raises InputError, in one line naming file, line, section and option, for what is wrong or not supported.
    """
    sections = _sections(path)
    head = sections[0]
    if head.kind not in ("net", "network"):
        raise InputError(head.where, "the first section must describe the input", head.kind, "net")
    state = _State(path)
    sizes = [head.integer(key, None) for key in ("channels", "height", "width")]
    state.builder.set_input((sizes[0], sizes[1], sizes[2]), head.where)
    for section in sections[1:]:
        handler = SECTIONS.get(section.kind)
        if handler is None:
            raise InputError(section.where, "section is not supported", section.kind, ", ".join(sorted(SECTIONS)))
        state.outputs.append(handler(section, state))
    read = {source for spec in state.builder.specs.values() for source in spec.inputs}
    ends = [name for name in state.outputs if name not in read and name != INPUT]
    state.builder.finish([name for name in ends if name == state.last] or ends[-1:], str(path))
    return state.builder.description(clean_name(path.stem, "network"), f"{path.name}, Darknet configuration")


def _sections(path: Path) -> list[_Section]:
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1).decode("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(text) > _MAX_BYTES:
        raise InputError(str(path), "is too large for a .cfg file", allowed=f"up to {_MAX_BYTES} bytes")
    sections: list[_Section] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.split("#")[0].split(";")[0].strip()
        where = f"{path}: line {number}"
        if line.startswith("["):
            kind = line.strip("[] \t")
            sections.append(_Section(kind, f"{where}: [{kind[:60]}]"))
        elif line:
            key, equals, value = line.partition("=")
            if not equals or not sections:
                raise InputError(where, "is neither a [section] nor an option of one", line, "key=value")
            sections[-1].options[key.strip()] = value.strip()
    if not 1 < len(sections) <= MAX_LAYERS:
        raise InputError(str(path), "number of sections out of range", len(sections), f"2 to {MAX_LAYERS}")
    return sections


def _activated(section: _Section, state: _State, layer: str) -> str:
    op = section.choice("activation", "logistic" if section.kind != "shortcut" else "linear", ACTIVATIONS)
    return state.emit(section, op, layer) if op else layer


def _convolutional(section: _Section, state: _State) -> str:
    size, stride = section.integer("size", 1), section.integer("stride", 1)
    steps = (section.integer("stride_y", stride), section.integer("stride_x", stride))
    dilation = section.integer("dilation", 1)
    padding = section.integer("padding", 0, 0)
    if section.integer("pad", 0, 0):
        padding = size // 2 * dilation
    norm = section.integer("batch_normalize", 0, 0)
    layer = state.emit(
        section, "conv", out_channels=section.integer("filters", 1), kernel=(size, size), stride=steps,
        padding=(padding,) * 4, dilation=(dilation, dilation), groups=section.integer("groups", 1), bias=not norm,
    )  # fmt: skip
    if norm:
        layer = state.emit(section, "batch_norm", layer)
    return _activated(section, state, layer)


def _connected(section: _Section, state: _State) -> str:
    norm = section.integer("batch_normalize", 0, 0)
    layer = state.emit(section, "fc", out_channels=section.integer("output", 1), bias=not norm)
    if norm:
        layer = state.emit(section, "batch_norm", layer)
    return _activated(section, state, layer)


def _maxpool(section: _Section, state: _State) -> str:
    """Darknet pads by size - 1 pixels in all unless told otherwise, half of them (rounded down) in front."""
    stride = section.integer("stride", 1)
    size = section.integer("size", stride)
    padding = section.integer("padding", size - 1, 0)
    _, height, width = state.shape(state.last)
    front = padding // 2
    sides = []
    for pixels in (height, width):
        # floor((pixels + padding - size) / stride) + 1 outputs; pixels that no window reaches need no padding
        if pixels + padding < size:
            raise section.error("size", "is larger than the padded map", size, f"up to {pixels + padding}")
        reach = (pixels + padding - size) // stride * stride + size
        sides.append(max(reach - front - pixels, 0))
    pads = (front, front, sides[0], sides[1])
    return state.emit(section, "max_pool", kernel=(size, size), stride=(stride, stride), padding=pads)


def _avgpool(section: _Section, state: _State) -> str:
    return state.emit(section, "global_avg_pool")


def _route(section: _Section, state: _State) -> str:
    layers = state.earlier(section, "layers")
    layer = state.emit(section, "concat", *layers) if len(layers) > 1 else layers[0]
    groups = section.integer("groups", 1)
    if groups == 1:
        return layer
    channels, height, width = state.shape(layer)
    part = section.integer("group_id", 0, 0, groups - 1)
    if channels % groups:
        raise section.error("groups", "must divide the channels", groups, f"divisors of {channels}")
    size = channels // groups
    return state.emit(section, "slice", layer, shape=(size, height, width), start=(part * size, 0, 0))


def _shortcut(section: _Section, state: _State) -> str:
    return _activated(section, state, state.emit(section, "add", state.last, *state.earlier(section, "from")))


def _upsample(section: _Section, state: _State) -> str:
    channels, height, width = state.shape(state.last)
    factor = section.integer("stride", 2)
    return state.emit(section, "upsample", shape=(channels, height * factor, width * factor))


def _dropout(section: _Section, state: _State) -> str:
    return state.emit(section, "dropout")


def _softmax(section: _Section, state: _State) -> str:
    if section.integer("groups", 1) != 1:
        raise section.error("groups", "softmax over groups is not supported", section.options["groups"], "1")
    return state.emit(section, "softmax")


def _activation(section: _Section, state: _State) -> str:
    return _activated(section, state, state.last)


def _batch_norm(section: _Section, state: _State) -> str:
    return state.emit(section, "batch_norm")


def _cost(section: _Section, state: _State) -> str:
    """The loss: after a softmax its cross entropy, which is one operation with it, else the sum of squares."""
    last = state.builder.specs.get(state.last)
    if last is not None and last.op == "softmax" and state.shape(last.name)[1:] == (1, 1):
        del state.builder.specs[last.name]
        return state.emit(section, "softmax_cross_entropy", *last.inputs)
    flat = state.last if state.shape(state.last)[1:] == (1, 1) else state.emit(section, "flatten")
    return state.emit(section, "sum_square_error", flat)


SECTIONS: Mapping[str, Callable[[_Section, _State], str]] = {
    "convolutional": _convolutional, "conv": _convolutional, "connected": _connected, "conn": _connected,
    "maxpool": _maxpool, "max": _maxpool, "avgpool": _avgpool, "avg": _avgpool, "route": _route,
    "shortcut": _shortcut, "upsample": _upsample, "dropout": _dropout, "softmax": _softmax, "soft": _softmax,
    "cost": _cost, "activation": _activation, "batchnorm": _batch_norm,
}  # fmt: skip
"""Kind of a section -> how it becomes layers."""
