"""The data behind every section of the report, on figures made up by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from dse.devices import load_device
from dse.reports.diagnosis import diagnoses
from dse.reports.families import family_caption, family_data
from dse.reports.layers import layer_data
from dse.reports.panels import Panel, boards_of, make_panels, proof_sentence, winner_sentence
from dse.reports.resources import resource_data
from dse.reports.winners import best_paper, winners
from dse.results import Proof, ResultSet
from tests.reports import made_up

MACS = made_up.BATCH * sum(macs * (3 if back else 2) for _, _, macs, back in made_up.LAYERS)


def test_panels_hold_what_may_be_compared(panels: tuple[Panel, ...]) -> None:
    assert [p.title for p in panels] == ["alexnet on zcu102, batch 4, fp32", "alexnet on mute, batch 4, fp32"]
    assert [c.family for c in panels[0].cells] == ["channel", "batch", "feature_map"]
    assert panels[0].winner is panels[0].cells[0]


def test_batch_sizes_are_not_compared() -> None:
    small = made_up.channel_cell()
    large = dataclasses.replace(small, batch_size=8)
    assert [p.batch_size for p in make_panels(made_up.made_up(small, large), made_up.BOARDS)] == [4, 8]


def test_the_winners_sentence(panels: tuple[Panel, ...]) -> None:
    sentence = winner_sentence(panels[0])
    assert sentence.startswith("channel wins with tm=48, tn=8: 429.0 ms an iteration, 9.324 samples/s, 2.07 times as ")
    assert sentence.endswith("a bound; the search alone (500 points) came within 0.12\N{NO-BREAK SPACE}%.")
    nothing = make_panels(made_up.made_up(made_up.infeasible_cell()), made_up.BOARDS)[0]
    assert winner_sentence(nothing) == "Nothing fits: no family has a feasible point (proven for every family)."


def test_proof_sentences() -> None:
    cell = made_up.channel_cell()
    assert cell.best is not None
    assert proof_sentence(made_up.batch_cell()) == "not proven: the best of 500 evaluated points"
    exhaustive = dataclasses.replace(
        cell, method="exhaustive", proof=Proof("exhaustive", 0.0, 65_536, 65_536, 1.0, cell.best.objectives)
    )
    assert proof_sentence(exhaustive) == "proven optimum: every one of the 65,536 points was evaluated"
    fitting = dataclasses.replace(exhaustive, proof=dataclasses.replace(exhaustive.proof, evaluated=1919))
    assert "all 1,919 of 65,536 points whose resources fit were evaluated" in proof_sentence(fitting)
    nothing = dataclasses.replace(cell, proof=dataclasses.replace(cell.proof, gap=math.inf))
    assert proof_sentence(nothing).endswith("the search alone (500 points) found nothing that fits")
    missed = dataclasses.replace(cell, proof=Proof("bound", 0.1, 9, 65_536, 1.0, (cell.best.objectives[0] / 1.1,)))
    assert proof_sentence(missed).startswith("10\N{NO-BREAK SPACE}% above the proven optimum")
    two = dataclasses.replace(cell, objectives=("latency", "dsp"), proof=Proof("bound", 0.02, 9, 65_536, 1.0, (1, 2)))
    assert proof_sentence(two).endswith("missed 2.00\N{NO-BREAK SPACE}% of the exact front's hypervolume")


def test_a_winners_figures(panels: tuple[Panel, ...]) -> None:
    channel, batch, nothing = winners(panels[0])
    assert channel is not None
    assert batch is not None
    assert nothing is None
    estimate = panels[0].cells[0].best.estimate  # type: ignore[union-attr]
    assert channel.gops == pytest.approx(2 * MACS / estimate["iteration_s"] / 1e9)
    assert channel.mac_utilisation == pytest.approx(MACS / 384 / estimate["iteration_cycles"])
    assert channel.resources["dsp"].share == pytest.approx(1920 / 2520)
    assert math.isnan(channel.resources["uram288"].share)
    assert channel.energy_j == pytest.approx(7.5 * estimate["iteration_s"])
    paper = best_paper(panels[0].cells[0])
    assert paper is not None
    assert paper.point == {"tm": 16, "tn": 16}, "the large one is faster but does not fit"
    assert channel.speedup_over_paper == pytest.approx(paper.estimate["iteration_s"] / estimate["iteration_s"])
    assert math.isnan(batch.speedup_over_paper)


def test_unknown_power_stays_unknown(panels: tuple[Panel, ...]) -> None:
    (mute,) = winners(panels[1])
    assert mute is not None
    assert math.isnan(mute.power_w)
    assert math.isnan(mute.energy_j)
    assert family_data(panels[1])["energy_per_sample_j"].isna().all()


def test_families_beside_their_papers(panels: tuple[Panel, ...]) -> None:
    data = family_data(panels[0]).set_index(["family", "design"])
    assert list(data.index) == [("channel", "best"), ("channel", "paper"), ("batch", "best"), ("batch", "paper")]
    assert data["feasible"].to_list() == [True, True, True, False]
    assert data.loc[("channel", "paper"), "origin"] == "EF-Train"
    best = panels[0].cells[0].best
    assert best is not None
    assert data.loc[("channel", "best"), "energy_per_sample_j"] == pytest.approx(best.estimate["energy_j"] / 4)
    caption = family_caption(panels[0], family_data(panels[0]), "samples_per_s")
    assert "DarkFPGA, tb=128, ti=48, does not fit zcu102 and is off the scale" in caption


def test_layers_add_up_to_the_iteration(panels: tuple[Panel, ...]) -> None:
    cell = panels[0].cells[0]
    data = layer_data(cell)
    assert data is not None
    assert cell.best is not None
    assert data.grouped == 0
    assert data.floor["layer"].to_list() == [layer[0] for layer in made_up.LAYERS]
    assert data.frame["seconds"].sum() == pytest.approx(cell.best.estimate["iteration_s"])
    assert data.frame["share"].sum() == pytest.approx(1)
    conv1 = data.floor.set_index("layer").loc["conv1"]
    assert conv1["mac_floor_cycles"] == pytest.approx(2 * 4 * 105_415_200 / 384)
    assert conv1["floor_s"] == pytest.approx(conv1["mac_floor_cycles"] / made_up.CLOCK_HZ)
    assert set(data.frame[data.frame["layer"] == "conv1"]["phase"]) == {"forward", "weight_grad", "update"}
    assert layer_data(made_up.infeasible_cell()) is None


def test_quick_auxiliary_layers_of_deep_networks_are_summed_and_nothing_is_lost() -> None:
    cell = made_up.deep_cell(54)
    data = layer_data(cell)
    assert data is not None
    assert cell.best is not None
    assert data.grouped == 108
    assert len(data.floor) == 55
    last = data.floor.iloc[-1]
    assert (last["layer"], last["cycles"]) == ("108 other auxiliary layers", 108 * 2 * 100_000)
    assert data.frame["cycles"].sum() == pytest.approx(cell.best.estimate["iteration_cycles"])


def test_resources_as_shares_of_the_board(panels: tuple[Panel, ...]) -> None:
    data = resource_data(panels[0]).set_index(["family", "resource"])
    assert data.loc[("channel", "bram36"), "share"] == pytest.approx(672 / 912)
    assert data.loc[("batch", "dsp"), "share"] == pytest.approx(2000 / 2520)
    assert np.isnan(data.loc[("batch", "uram288"), "share"])
    assert "feature_map" not in data.index.get_level_values(0)
    on_mute = resource_data(panels[1]).set_index("resource")
    assert on_mute.loc["uram288", "share"] == 0


def test_what_is_short_where_nothing_fits(panels: tuple[Panel, ...]) -> None:
    (found,) = diagnoses(panels[0])
    assert list(found.short) == ["uram288", "dsp"], "worst first"
    assert found.nearest == "tr=51, tc=51"
    assert found.smallest_board == "vcu1525"
    assert "URAM288 (the board has none); DSP: 8.6\N{NO-BREAK SPACE}% over its limit (2,601 needed, 2,394" in found.text
    assert "is vcu1525." in found.text
    assert found.command.endswith("-m feature_map -b 4 --precision fp32 --reading exact --set tr=51 --set tc=51")
    cell = made_up.infeasible_cell()
    assert cell.diagnosis is not None
    other = dataclasses.replace(cell.diagnosis, short={"dram_bytes": 0.25, "wei_words": math.nan, "lut": 0.1})
    (odd,) = diagnoses(make_panels(made_up.made_up(dataclasses.replace(cell, diagnosis=other)), made_up.BOARDS)[0])
    assert "wei_words (its use is unknown); DRAM capacity: 25.0" in odd.text
    assert "(1 GB needed, 4 GB on the board)" in odd.text
    for most, words in ((7, "holds batches of up to 7."), (0, "holds not even one sample.")):
        short = dataclasses.replace(cell.diagnosis, short={"dram_bytes": 0.25}, largest_batch=most)
        (held,) = diagnoses(make_panels(made_up.made_up(dataclasses.replace(cell, diagnosis=short)), made_up.BOARDS)[0])
        assert held.text.endswith(words)
    nowhere = dataclasses.replace(cell, diagnosis=dataclasses.replace(cell.diagnosis, smallest_board=""))
    (none,) = diagnoses(make_panels(made_up.made_up(nowhere), made_up.BOARDS)[0])
    assert none.text.endswith("No shipped board fits a design of this family.")


def test_a_board_whose_file_is_not_the_runs_is_not_used(result: ResultSet) -> None:
    shipped = load_device("zcu102")
    assert boards_of(result) == {"zcu102": shipped}, "mute is not shipped"
    same = dataclasses.replace(result, run=made_up.run_info(inputs={"zcu102": shipped.digest}))
    assert boards_of(same) == {"zcu102": shipped}
    other = dataclasses.replace(result, run=made_up.run_info(inputs={"zcu102": "0" * 64}))
    assert boards_of(other) == {}
    assert boards_of(other, made_up.BOARDS) == made_up.BOARDS
