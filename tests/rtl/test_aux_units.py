"""Auxiliary units of a training step against the golden model, bit for bit, under random stalls of every stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from dse.golden.operation import SHARED
from dse.golden.product import Array
from dse.golden.rounding import Scaled, limit
from dse.network import Layer
from tests.rtl.rtl_model import AUX_UNITS, RtlModel, pack, signed, unpack, verilate

Beats = Sequence[dict[str, int]]
"""The beats of one stream: the value of each of its ports, by the port's name behind the stream's."""
SIZES = [(1, 8), (5, 16), (16, 8)]
"""Lanes, bits of an element."""
ILLEGAL = [
    ("relu_forward", {"Lanes": 0}),
    ("relu_forward", {"Width": 1}),
    ("relu_backward", {"Lanes": 257}),
    ("relu_backward", {"Width": 65}),
]


def run(
    model: RtlModel, inputs: dict[str, Beats], outputs: dict[str, int], offered: float, taken: float
) -> tuple[dict[str, list[dict[str, int]]], int]:
    """Move all beats of `inputs` in and as many as `outputs` says out; what came out and the cycles it took.

    A beat that is offered stays until it is taken. Where no beat is offered the data ports hold noise.
    """
    rng = np.random.default_rng(len(model.inputs))
    sent, offering = dict.fromkeys(inputs, 0), dict.fromkeys(inputs, False)
    got: dict[str, list[dict[str, int]]] = {name: [] for name in outputs}
    held: dict[str, dict[str, int]] = {}
    width = {port.name: port.width for port in model.inputs}
    idle = {name: 0 for name in width if name in ("clear_i", "load_i", "seed_i")}
    with model.session() as step:
        for cycle in range(20_000):
            if all(sent[name] == len(beats) for name, beats in inputs.items()) and all(
                len(got[name]) == count for name, count in outputs.items()
            ):
                return got, cycle
            ports = dict(idle)
            for name, beats in inputs.items():
                offering[name] = sent[name] < len(beats) and (offering[name] or bool(rng.random() < offered))
                ports[f"{name}_valid_i"] = int(offering[name])
                for port in beats[0]:
                    noise = int.from_bytes(rng.bytes(-(-width[f"{name}_{port}_i"] // 8)), "little")
                    value = beats[sent[name]][port] if offering[name] else noise
                    ports[f"{name}_{port}_i"] = value & ((1 << width[f"{name}_{port}_i"]) - 1)
            ports |= {f"{name}_ready_i": int(rng.random() < taken) for name in outputs}
            out = step(**ports)
            for name in inputs:
                if offering[name] and out[f"{name}_ready_o"]:
                    sent[name], offering[name] = sent[name] + 1, False
            _collect(out, ports, got, held)
    given = {name: len(beats) for name, beats in got.items()}
    raise AssertionError(f"after {cycle} cycles {sent} beats are in and {given} out")


def _collect(
    out: dict[str, int], ports: dict[str, int], got: dict[str, list[dict[str, int]]], held: dict[str, dict[str, int]]
) -> None:
    """Take what is given; a beat that was refused a cycle ago must still be offered, unchanged."""
    for name, beats in got.items():
        start = f"{name}_"
        beat = {
            port.removeprefix(start).removesuffix("_o"): value
            for port, value in out.items()
            if port.startswith(start) and not port.endswith(("_valid_o", "_ready_o"))
        }
        valid = out[f"{name}_valid_o"]
        assert name not in held or (valid and beat == held[name]), f"{name} changed before it was taken"
        held.pop(name, None)
        if valid and ports[f"{name}_ready_i"]:
            beats.append(beat)
        elif valid:
            held[name] = beat


def words(values: Array, width: int) -> list[int]:
    """Rows of a [beats, lanes] array as the values of a packed port."""
    return [int.from_bytes(row.tobytes(), "little") for row in pack(values, width)]


def elements(beats: Beats, port: str, width: int, lanes: int) -> Array:
    """The reverse: int64 [beats, lanes] of unsigned values."""
    size = -(-lanes * width // 32) * 4
    rows = b"".join(beat[port].to_bytes(size, "little") for beat in beats)
    return unpack(np.frombuffer(rows, "<u4").reshape(len(beats), -1), width, lanes).astype(np.int64)


def drawn(rng: np.random.Generator, shape: tuple[int, int], bits: int) -> Array:
    """Numbers of a signed type with its ends, 0 and neighbours far more often than chance has them."""
    most = limit(bits)
    usual = rng.integers(-most, most, shape, endpoint=True)
    special = rng.choice([-most, 1 - most, -1, 0, 1, most - 1, most], shape)
    return np.where(rng.random(shape) < 0.5, usual, special).astype(np.int8 if bits == 8 else np.int16)


def as_signed(values: Array, width: int) -> Array:
    return signed(values.astype(np.uint64), width)


def test_the_units_are_found() -> None:
    assert (AUX_UNITS / "relu_forward.sv").is_file()


@pytest.mark.parametrize("module", sorted(path.stem for path in AUX_UNITS.glob("*.sv")))
def test_no_warnings(module: str, tmp_path: Path) -> None:
    verilate(module, {}, ["--lint-only", "-Wall"], tmp_path)
    verilate(module, {"Lanes": 1, "Width": 16}, ["--lint-only", "-Wall"], tmp_path)


@pytest.mark.parametrize(("module", "parameters"), ILLEGAL, ids=lambda value: str(value))
def test_illegal_parameters_stop_elaboration(module: str, parameters: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=f"{module}: "):
        verilate(module, parameters, ["--lint-only"], tmp_path)


RELU = Layer("relu", "relu", ("x",), (1, 1, 1), (1, 1, 1))


@pytest.mark.parametrize(("lanes", "bits"), SIZES)
@pytest.mark.parametrize(("offered", "taken"), [(0.5, 0.5), (0.9, 0.3), (0.3, 0.9)])
def test_relu(build_model: Callable[..., RtlModel], lanes: int, bits: int, offered: float, taken: float) -> None:
    rng = np.random.default_rng(lanes)
    x, error = drawn(rng, (150, lanes), bits), drawn(rng, (150, lanes), bits)
    y, kept = SHARED["relu"].forward(RELU, {}, [x], True)
    forward = build_model("relu_forward", Lanes=lanes, Width=bits)
    out, _ = run(forward, {"x": [{"data": w} for w in words(x, bits)]}, {"y": 150, "mask": 150}, offered, taken)
    np.testing.assert_array_equal(as_signed(elements(out["y"], "data", bits, lanes), bits), y)
    np.testing.assert_array_equal(elements(out["mask"], "data", 1, lanes), kept)

    backward = build_model("relu_backward", Lanes=lanes, Width=bits)
    errors = [{"data": w} for w in words(error, bits)]
    back, _ = run(backward, {"error": errors, "mask": out["mask"]}, {"gated": 150}, offered, taken)
    (want,), _ = SHARED["relu"].backward(RELU, {}, kept, Scaled(error))
    np.testing.assert_array_equal(as_signed(elements(back["gated"], "data", bits, lanes), bits), want.values)


def test_streams_lose_no_cycle_and_clear_drops_what_is_held(build_model: Callable[..., RtlModel]) -> None:
    rng = np.random.default_rng(1)
    data = [{"data": w} for w in words(drawn(rng, (100, 5), 16), 16)]
    model = build_model("relu_forward", Lanes=5, Width=16)
    _, cycles = run(model, {"x": data}, {"y": 100, "mask": 100}, 1, 1)
    assert cycles == 101
    with model.session() as step:
        held = {"x_valid_i": 1, "x_data_i": 1, "y_ready_i": 0, "mask_ready_i": 1}
        taken = [step(**held, clear_i=0)["x_ready_o"] for _ in range(6)]
        assert sum(taken) == 2
        step(**(held | {"x_valid_i": 0}), clear_i=1)
        after = step(**(held | {"x_valid_i": 0}), clear_i=0)
    assert (after["y_valid_o"], after["mask_valid_o"], after["x_ready_o"]) == (0, 0, 1)
