"""The emitted top in simulation: bit-exact, under stalls, after errors, and not blind to a mistake in the RTL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.emit import Design, emit
from dse.emit.files import sha256
from dse.engine.layers import engine_layers
from dse.errors import InputError
from dse.host import Registers
from dse.verify import toolchain
from dse.verify.case import BASE, Case, Prepared, begin, prepare, run
from dse.verify.dram import DECERR, SLVERR, Dram
from dse.verify.lint import slang_messages
from dse.verify.run import REPORT, Settings, verify
from dse.verify.scaling import estimated_cycles, scaled
from dse.verify.simulator import Simulator, build_simulator
from tests.emit.conftest import DesignMaker

pytestmark = pytest.mark.usefixtures("quick_builds")
SMALL = 1500
"""Cycles that a phase may take in these tests."""
Open = Callable[[Prepared, Dram], Simulator]


@pytest.fixture
def opened(folder: Path) -> Iterator[Open]:
    library, made = build_simulator(folder), []

    def build(prepared: Prepared, dram: Dram) -> Simulator:
        made.append(Simulator(library, replace(dram, base=BASE, size=len(prepared.before)), 128))
        return made[-1]

    yield build
    for simulator in made:
        simulator.close()


def small_case(design: Design, layer: str, phase: str, dram: Dram | None = None, seed: int = 3) -> Case:
    (item,) = (i for i in engine_layers(design.workload.network, 4) if i.layer.name == layer)
    return Case(scaled(design.engine, item.conv, item.phases, SMALL), phase, seed, dram or Dram())


@pytest.mark.parametrize(
    "dram",
    [Dram(), Dram(stall=0.5, latency=9), Dram(bytes_per_kcycle=7000, latency=60)],
    ids=["ideal", "stalls", "slow"],
)
def test_every_layer_and_phase_is_bit_exact(channel: Design, folder: Path, dram: Dram) -> None:
    steps: list[str] = []
    result = verify(folder, Settings(max_cycles=SMALL, dram=dram), lambda step, done, total: steps.append(step))
    assert [row.outcome.difference for row in result.rows] == [""] * 14
    assert result.exact
    assert steps[:2] == ["lint", "build"]
    for row in result.rows:
        assert row.outcome.steps <= row.outcome.cycles
        assert 0 < row.utilisation <= 1
        assert row.model_cycles > 0
    if dram == Dram():
        off = [row.outcome.predicted_cycles / row.outcome.cycles - 1 for row in result.rows]
        total = (
            sum(row.outcome.predicted_cycles for row in result.rows) / sum(r.outcome.cycles for r in result.rows) - 1
        )
        assert max(map(abs, off)) <= 0.0391, off  # what EF-Train's own model reaches on its board, worst layer ...
        assert abs(total) <= 0.0105, total  # ... and in total
    written = json.loads((folder / REPORT).read_text())
    assert written["exact"]
    assert [row["simulated_cycles"] for row in written["phases"]] == [row.outcome.cycles for row in result.rows]


def test_lanes_on_rows_and_columns_at_16_bits_in_a_folder_named_relative_to_where_one_is(
    make_design: DesignMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"ifm_words": 512, "ofm_words": 512, "wei_words": 1024}
    point = {"tf_rows": 2, "tf_cols": 3, "tm": 2, **words}
    emit(make_design("feature_map", point, "int16", "pynq_z1"), tmp_path / "rtl")
    monkeypatch.chdir(tmp_path)
    result = verify(Path("rtl"), Settings(max_cycles=SMALL, dram=Dram(stall=0.2), layers=("conv1", "fc2")))
    assert [(row.layer, row.phase) for row in result.rows if row.outcome.exact] == [
        (layer, phase)
        for layer in ("conv1", "fc2")
        for phase in ("forward", "input_grad", "weight_grad")
        if (layer, phase) != ("conv1", "input_grad")
    ]
    library = build_simulator(Path("rtl"))
    assert library.is_absolute()
    assert library.is_file()


def test_a_mistake_in_the_rtl_is_found(make_design: DesignMaker, tmp_path: Path) -> None:
    emit(make_design("batch", {"t_b": 2, "t_i": 3}), tmp_path)
    source, design = tmp_path / "rtl" / "requantise.sv", tmp_path / "design.json"
    wrong = source.read_text().replace("(WideWidth'(shifted[0]))", "(WideWidth'(shifted[1]))")
    assert wrong != source.read_text()
    source.write_text(wrong)
    with pytest.raises(InputError, match=r"requantise\.sv: is not the file that dse emit wrote"):
        verify(tmp_path, Settings())
    content = json.loads(design.read_text())
    content["files"]["rtl/requantise.sv"] = sha256(wrong.encode())
    design.write_text(json.dumps(content))
    result = verify(tmp_path, Settings(max_cycles=SMALL, layers=("conv2",)))
    exact = {row.phase: row.outcome.exact for row in result.rows}
    assert exact == {"forward": False, "input_grad": False, "weight_grad": True}  # which stores sums as they are
    assert "bytes differ, byte" in result.rows[0].outcome.difference


@pytest.mark.parametrize("response", [SLVERR, DECERR])
@pytest.mark.parametrize(
    ("operand", "flag"), [(0, "read error of master 0"), (1, "read error of master 1"), (2, "write error")]
)
def test_a_bus_error_is_a_flag_and_clear_recovers(
    channel: Design, opened: Open, operand: int, flag: str, response: int
) -> None:
    prepared = prepare(channel.engine, small_case(channel, "conv2", "forward"))
    place = prepared.places[operand]
    broken = BASE + place[len(place) // 2]
    simulator = opened(prepared, Dram(fault=(broken, broken + 1), fault_response=response, stall=0.1))
    outcome = run(simulator, prepared)
    assert flag in outcome.difference
    simulator.behave(Dram())
    Registers(simulator).clear()
    simulator.run(200)
    assert Registers(simulator).status == 0
    assert run(simulator, prepared).exact


def test_a_reset_or_clear_at_any_time_is_followed_by_a_clean_run(channel: Design, opened: Open) -> None:
    prepared = prepare(channel.engine, small_case(channel, "conv3", "weight_grad"))
    simulator = opened(prepared, Dram(stall=0.3, latency=12))
    for cycles in (1, 40, 333, 1000):
        for stop in ("reset", "clear"):
            registers = begin(simulator, prepared)
            simulator.run(cycles)
            if stop == "reset":
                simulator.reset()
            else:
                registers.clear()
                simulator.run(500)
            outcome = run(simulator, prepared)
            assert outcome.exact, (stop, cycles, outcome.difference)


def test_iterations_are_counted_and_a_start_while_busy_is_ignored(channel: Design, opened: Open) -> None:
    prepared = prepare(channel.engine, small_case(channel, "conv2", "input_grad"))
    simulator = opened(prepared, Dram())
    cycles = [run(simulator, prepared).cycles for _ in range(3)]
    assert len(set(cycles)) == 1
    registers = begin(simulator, prepared)
    assert registers.busy
    assert not registers.ignored
    simulator.write(0, 1)
    assert registers.busy
    assert registers.ignored
    assert registers.error is None
    while registers.busy:
        simulator.run(100)
    assert registers.done
    assert registers.iteration == 1
    registers.start(3)
    while registers.busy:
        simulator.run(100)
    assert registers.iteration == 3
    assert registers.cycles > 3 * cycles[0] - 300
    assert (simulator.memory == prepared.expected).all()


def test_a_schedule_longer_than_its_memory_is_refused(channel: Design, opened: Open) -> None:
    prepared = prepare(channel.engine, small_case(channel, "conv2", "forward"))
    with pytest.raises(ValueError, match="5000 words for a memory of 2048"):
        Registers(opened(prepared, Dram())).load(np.zeros(5000, np.uint32))


def test_layers_are_scaled_down_only_as_far_as_needed(channel: Design) -> None:
    for item in engine_layers(channel.workload.network, 4):
        whole = estimated_cycles(channel.engine, item.conv, item.phases)
        assert scaled(channel.engine, item.conv, item.phases, whole) == item.conv
        small = scaled(channel.engine, item.conv, item.phases, SMALL)
        assert estimated_cycles(channel.engine, small, item.phases) <= SMALL
        assert small.window.kernel == item.conv.window.kernel


def test_unknown_layers_and_missing_tools_are_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"--layer: the engine runs no layer .* did you mean 'conv1'"):
        verify(folder, Settings(layers=("conv11",)))
    with pytest.raises(InputError, match=r"design\.json: cannot be read"):
        verify(folder.parent, Settings())
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.MissingToolError, match=r"pip install '\.\[rtl\]'"):
        verify(folder, Settings())
    with pytest.raises(toolchain.MissingToolError, match=r"pyslang: .*pip install '\.\[rtl\]'"):
        slang_messages(folder, "dse_accelerator", ["-f", "filelist.f"])


def test_slang_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.sv").write_text("module a; logic x; assign x = missing; endmodule\n")
    assert "a.sv:1:" in slang_messages(tmp_path, "a", ["a.sv"])
