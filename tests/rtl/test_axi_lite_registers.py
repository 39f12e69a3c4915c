"""The register file against a dictionary, with an AXI4-Lite master that stalls on every channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests.rtl.rtl_model import RtlModel

OKAY, SLVERR = 0, 2
Step = Callable[..., dict[str, int]]


@dataclass
class Master:
    """One transaction at a time in each direction; every signal waits for a random time."""

    step: Step
    rng: np.random.Generator
    status: int
    stall: float
    written: list[int] = field(default_factory=list)
    control: int = 0

    def _cycle(self, **driven: int) -> dict[str, int]:
        idle = dict.fromkeys(
            ("awvalid", "awaddr", "wvalid", "wdata", "wstrb", "bready", "arvalid", "araddr", "rready"), 0
        )
        out = self.step(status_i=self.status, **{f"axil_{name}_i": value for name, value in {**idle, **driven}.items()})
        self.control = out["control_o"]
        if out["written_o"]:
            self.written.append(out["written_o"])
        return {name.removeprefix("axil_").removesuffix("_o"): value for name, value in out.items()}

    def _go(self) -> bool:
        return bool(self.rng.random() >= self.stall)

    def write(self, address: int, data: int, strobe: int = 15) -> int:
        """The response."""
        address_left, data_left, aw, w = True, True, False, False
        for _ in range(500):
            aw, w = address_left and (aw or self._go()), data_left and (w or self._go())
            ready = self._go()
            driven = {"awvalid": aw, "awaddr": address if aw else 0, "wvalid": w, "bready": ready}
            out = self._cycle(**driven, wdata=data if w else 0, wstrb=strobe if w else 0)
            if out["bvalid"] and ready:
                assert not address_left
                assert not data_left
                self._cycle()  # written_o follows the write by a cycle
                return out["bresp"]
            address_left, data_left = (
                address_left and not (aw and out["awready"]),
                data_left and not (w and out["wready"]),
            )
        raise AssertionError("no response")

    def read(self, address: int) -> tuple[int, int]:
        """Data and response."""
        left, ar = True, False
        for _ in range(500):
            ar, ready = left and (ar or self._go()), self._go()
            out = self._cycle(arvalid=ar, araddr=address if ar else 0, rready=ready)
            if out["rvalid"] and ready:
                assert not left
                return out["rdata"], out["rresp"]
            left = left and not (ar and out["arready"])
        raise AssertionError("no data")


@pytest.mark.parametrize(("control", "status"), [(1, 1), (4, 3), (9, 20)])
@pytest.mark.parametrize("stall", [0.0, 0.6])
def test_registers(build_model: Callable[..., RtlModel], control: int, status: int, stall: float) -> None:
    rng = np.random.default_rng(control)
    words = [int(word) for word in rng.integers(0, 1 << 32, status)]
    model = build_model("axi_lite_registers", NumControl=control, NumStatus=status)
    held = [0] * control
    with model.session() as step:
        master = Master(step, rng, sum(word << 32 * i for i, word in enumerate(words)), stall)
        for _ in range(150):
            index = int(rng.integers(0, control + status + 3))
            if rng.random() < 0.5:
                data, strobe = int(rng.integers(0, 1 << 32)), int(rng.integers(0, 16))
                master.written.clear()
                known = index < control
                assert master.write(4 * index, data, strobe) == (OKAY if known else SLVERR)
                assert master.written == ([1 << index] if known else [])
                if known:
                    mask = sum(0xFF << 8 * b for b in range(4) if strobe >> b & 1)
                    held[index] = (held[index] & ~mask) | (data & mask)
                assert master.control == sum(word << 32 * i for i, word in enumerate(held))
            elif index < control + status:
                assert master.read(4 * index) == ((held + words)[index], OKAY)
            else:
                assert master.read(4 * index) == (0, SLVERR)
