"""Memories and a small engine through Yosys: what it infers is what dse.engine.resources counts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dse.devices import load_device
from dse.engine import EngineParameters
from dse.engine.resources import BufferRam, engine_resources, product_dsp
from dse.models.memory import bank_bram36
from tests.rtl.engine_synthesis import PRODUCTS, RAMS, faults, ram_faults, synthesise, synthesise_products

BOARD = load_device("zcu102")
SMALL = EngineParameters(um=2, un=2, channel_block=2, feature_depth=32, operand_depth=1452, sum_depth=600)


def test_memories_are_the_slices_that_are_counted() -> None:
    assert not ram_faults(RAMS[2:15:3], "xcup")


def test_wide_products_are_cut_as_counted() -> None:
    assert synthesise_products(PRODUCTS, "xc7") == [product_dsp(*bits, "xc7") for bits in PRODUCTS]


def test_lanes_are_dsp_blocks_and_buffers_block_ram() -> None:
    cells = synthesise(SMALL, "xc7", logic=False)
    assert not faults(SMALL, cells, "xc7")
    spoilt = {**cells, "$dlatch": 1, "DSP48E1": 5, "RAMB36E1": cells.get("RAMB36E1", 0) + 1, "RAM64M": 1, "URAM288": 1}
    assert len(faults(SMALL, spoilt, "xc7")) == 5


def test_buffers_of_few_words_are_lut_ram() -> None:
    said = engine_resources(SMALL, "xc7")
    assert (said.dsp, said.uram) == (4, 0)
    assert said.lut_ram == 4 * 6  # a lane of 16 bits in RAM64M of 3
    assert said.bram36 == said.ramb36 + said.ramb18 / 2 > 0


@given(bits=st.integers(1, 4096), depth=st.integers(65, 65536))
def test_a_memory_written_whole_takes_what_the_families_count(bits: int, depth: int) -> None:
    ram = BufferRam("any", 1, 1, bits, depth)
    assert ram.ramb36 + ram.ramb18 / 2 == bank_bram36(BOARD, np.array(depth), np.array(bits))


@given(lanes=st.integers(2, 512), bytes_=st.integers(1, 8), depth=st.integers(65, 65536))
def test_lanes_of_their_own_cost_at_most_a_ninth_bit(lanes: int, bytes_: int, depth: int) -> None:
    apart, whole = BufferRam("any", 1, lanes, 8 * bytes_, depth), BufferRam("any", 1, 1, 9 * bytes_ * lanes, depth)
    together = BufferRam("any", 1, 1, 8 * bytes_ * lanes, depth)
    halves = [2 * ram.ramb36 + ram.ramb18 for ram in (together, apart, whole)]
    assert halves == sorted(halves)
