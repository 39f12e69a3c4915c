"""A small engine through Yosys: what it infers is what the geometry says."""

from __future__ import annotations

from dse.engine import EngineParameters
from tests.rtl.engine_synthesis import buffer_kibit, faults, synthesise

SMALL = EngineParameters(um=2, un=2, channel_block=2, feature_depth=1024, operand_depth=1024, sum_depth=512)


def test_lanes_are_dsp_blocks_and_buffers_block_ram() -> None:
    cells = synthesise(SMALL, "xc7", logic=False)
    assert not faults(SMALL, cells)
    spoilt = {**cells, "$dlatch": 1, "DSP48E1": 5, "RAMB36E1": cells.get("RAMB36E1", 0) + buffer_kibit(SMALL) // 36}
    assert len(faults(SMALL, spoilt)) == 3
