from __future__ import annotations

from importlib import import_module
from inspect import isfunction

import numpy as np
import pytest

import dse as package
from dse.estimate import BOUNDS, RESOURCES
from dse.workload import PHASES
from tests.cli.cli_process import ROOT

LENET = ("estimate", "-n", "lenet10", "-d", "zcu102", "-m", "channel", "-b", "4")
KEYS = {
    "schema_version", "network", "device", "family", "batch_size", "precision", "optimiser", "reading", "point",
    "chosen", "largest_batch", "feasible", "violations", "iteration_cycles", "iteration_s", "samples_per_s",
    "resources", "power_w", "energy_j", "dram_bytes", "dram_capacity_bytes", "dram_bytes_per_s", "layers",
}  # fmt: skip


@pytest.fixture
def lenet(dse):
    """lenet10 on 8 x 8 lanes, its buffers chosen by the command."""
    return dse(*LENET, "--set", "tm=8", "tn=8", "--json").json


def settings(point: dict[str, int]) -> list[str]:
    return ["--set", *(f"{name}={value}" for name, value in point.items())]


def test_json_has_the_documented_keys(lenet):
    assert set(lenet) == KEYS
    assert set(lenet["resources"]) == set(RESOURCES)
    assert lenet["feasible"] is True
    assert lenet["violations"] == {}
    for layer in lenet["layers"]:
        assert set(layer) == {"name", "op", "phases"}
        assert set(layer["phases"]) <= set(PHASES)
        for costs in layer["phases"].values():
            assert set(costs) == {"cycles", "macs", "mac_floor_cycles", "dram_bytes", "bound", "lost_cycles", "tiling"}
            assert costs["cycles"] >= costs["mac_floor_cycles"]
            assert costs["bound"] in BOUNDS
            lost = sum(costs["lost_cycles"].values())
            assert costs["mac_floor_cycles"] + lost == pytest.approx(costs["cycles"], rel=1e-6)


def test_totals_are_those_of_the_layers(lenet):
    costs = [costs for layer in lenet["layers"] for costs in layer["phases"].values()]
    assert lenet["iteration_cycles"] == pytest.approx(sum(c["cycles"] for c in costs))
    assert lenet["dram_bytes"] == pytest.approx(sum(c["dram_bytes"] for c in costs))
    assert lenet["samples_per_s"] == pytest.approx(4 / lenet["iteration_s"])
    assert lenet["energy_j"] == pytest.approx(lenet["power_w"] * lenet["iteration_s"])


def test_small_energies_keep_their_digits(dse, lenet):
    """5 mJ is printed with four digits, not as 0.005 J."""
    assert 0 < lenet["energy_j"] < 0.1
    text = dse(*LENET, *settings(lenet["point"])).out
    line = next(line for line in text.splitlines() if line.startswith("energy per iteration, J"))
    assert float(line.split()[-1]) == pytest.approx(lenet["energy_j"], rel=1e-3)


def test_parameters_that_are_not_set_are_chosen_and_said_so(dse, lenet):
    assert lenet["point"]["tm"] == lenet["point"]["tn"] == 8
    assert set(lenet["chosen"]) == set(lenet["point"]) - {"tm", "tn"}
    assert set(lenet["chosen"].values()) == {"the value of the lowest latency, proven"}
    text = dse(*LENET, "--set", "tm=8", "tn=8").out
    assert "ifm_words was not set: the value of the lowest latency, proven" in text


def test_a_whole_point_is_estimated_as_given(dse, lenet):
    again = dse(*LENET, *settings(lenet["point"]), "--json").json
    assert again == {**lenet, "chosen": {}}


def test_repeated_and_listed_settings_are_the_same(dse, lenet):
    assert dse(*LENET, "--set", "tm=8", "--set", "tn=8", "--json").json == lenet


def test_text_has_layers_totals_and_resources(dse, lenet):
    done = dse(*LENET, "--set", "tm=8", "tn=8")
    first = lenet["layers"][0]["phases"]["forward"]
    assert done.code == 0
    assert "lenet10 on zcu102, channel, batch 4, fp32, reading exact: tm=8, tn=8" in done.out
    assert f"{first['cycles']:,}" in done.out
    assert "2,520" in done.out
    assert done.out.rstrip().endswith("fits on zcu102")


def test_what_does_not_fit_is_shown_with_its_violations_and_exits_1(dse):
    words = ("estimate", "-n", "alexnet", "-d", "pynq_z1", "-m", "channel", "--set", "tm=16", "tn=16")
    text, content = dse(*words), dse(*words, "--json")
    assert text.code == content.code == 1
    assert content.json["feasible"] is False
    assert content.json["violations"]["dsp"] > 0
    assert "does not fit: " in text.out
    assert "dsp" in text.out.splitlines()[-1]
    assert text.err == content.err == ""


def test_an_optimiser_keeps_states_and_the_largest_batch_is_named(dse):
    words = ("estimate", "-n", "vgg16", "-d", "zcu102", "-m", "batch", "-b", "64", "--set", "t_b=64", "t_i=4")
    plain, adam = (dse(*words, "--optimiser", name, "--json").json for name in ("sgd", "adam"))
    assert adam["dram_capacity_bytes"] - plain["dram_capacity_bytes"] == 2 * 4 * 138_357_544
    assert adam["dram_bytes"] - plain["dram_bytes"] == 4 * 4 * 138_357_544
    assert adam["largest_batch"] < plain["largest_batch"] < 64
    text = dse(*words, "--optimiser", "adam")
    assert "fp32, adam, reading exact" in text.out
    assert f"the DRAM holds batches of up to {adam['largest_batch']} samples" in text.out.splitlines()[-1]
    wrong = dse(*words, "--optimiser", "adm")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "--optimiser: unknown value; got 'adm'" in wrong.err


def test_batch_precision_and_reading_are_used(dse, lenet):
    point = settings(lenet["point"])
    more = dse(*LENET, "-b", "8", *point, "--json").json
    other = dse(*LENET, "--reading", "published", *point, "--json").json
    assert more["batch_size"] == 8
    assert more["iteration_cycles"] > lenet["iteration_cycles"]
    assert other["reading"] == "published"
    assert other["iteration_cycles"] != lenet["iteration_cycles"]
    narrow = dse(*LENET, "--precision", "int8", "--set", "tm=8", "tn=8", "--json").json
    assert narrow["resources"]["dsp"] < lenet["resources"]["dsp"]


def test_a_tiling_file_fixes_tiles_and_sizes_the_buffers(dse, tmp_path):
    path = tmp_path / "tiling.toml"
    path.write_text('["conv1".forward]\ntr = 4\nm_on = 16\n\n[conv2.weight_grad]\ntr = 2\nm_on = 8\n')
    content = dse(*LENET, "--set", "tm=8", "tn=8", "--tiling", path, "--json").json
    phases = {layer["name"]: layer["phases"] for layer in content["layers"]}
    assert phases["conv1"]["forward"]["tiling"].items() >= {"tr": 4, "m_on": 16}.items()
    assert phases["conv2"]["weight_grad"]["tiling"].items() >= {"tr": 2, "m_on": 8}.items()
    assert set(content["chosen"].values()) == {"the smallest that holds the given tiles"}


def test_other_families(dse):
    for family in ("batch", "feature_map"):
        content = dse("estimate", "-n", "lenet10", "-d", "zcu102", "-m", family, "-b", "16", "--json").json
        assert content["feasible"]
        assert content["family"] == family


def test_the_library_gives_the_same_figures(lenet):
    estimate = package.estimate("lenet10", "zcu102", "channel", lenet["point"], batch_size=4)
    assert isinstance(estimate, package.Estimate)
    assert float(estimate.iteration_cycles) == lenet["iteration_cycles"]
    assert estimate.layers is not None


def test_the_library_takes_arrays_of_points(lenet):
    point = {**lenet["point"], "tm": np.array([4, 8])}
    network, device = package.load_network("lenet10"), package.load_device("zcu102")
    estimate = package.estimate(network, device, "channel", point, batch_size=4, detail=False)
    assert estimate.iteration_s.shape == estimate.feasible.shape == (2,)
    assert float(estimate.iteration_cycles[1]) == lenet["iteration_cycles"]
    assert estimate.layers is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tm": 0}, "parameter tm: is not a legal value; got 0; allowed: "),
        ({"tm": 2.5}, "parameter tm: is not a legal value; got 2.5"),
        ({"tm": float("nan")}, "parameter tm: is not a legal value; got nan"),
        ({"tmm": 1}, "parameter tmm: unknown parameter; allowed: "),
        ({"tm": None}, "parameter tm: must be a whole number or an array of them"),
        ({"tm": "8"}, "parameter tm: must be a whole number or an array of them; got '8'"),
    ],
)
def test_the_library_refuses_a_wrong_point_in_one_line(lenet, changes, says):
    with pytest.raises(package.InputError, match=r"^[^\n]*$") as caught:
        package.estimate("lenet10", "zcu102", "channel", {**lenet["point"], **changes})
    assert str(caught.value).startswith(says)


def test_functions_stay_functions_when_the_modules_of_their_names_are_loaded():
    for name in ("estimate", "sweep"):
        import_module(f"dse.{name}")
        assert isfunction(getattr(package, name))


def test_every_public_name_is_there():
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="no attribute 'swep'"):
        _ = package.swep


def test_the_shipped_tiling_gives_table_6_to_the_cycle(dse):
    words = ("estimate", "-n", "alexnet", "-d", "zcu102", "-m", "channel", "-b", "4", "--reading", "published")
    file = ROOT / "examples" / "table6_tiling.toml"
    content = dse(*words, "--set", "tm=16", "tn=16", "--tiling", file, "--json").json
    convolutions = {layer["name"]: layer["phases"] for layer in content["layers"] if layer["op"] == "conv"}
    assert convolutions["conv1"]["forward"]["cycles"] == 11_504_640
    assert convolutions["conv5"]["input_grad"]["cycles"] == 2_618_372
    assert sum(costs["cycles"] for phases in convolutions.values() for costs in phases.values()) == 69_295_691


def test_parameter_names_may_be_written_as_in_the_papers(dse):
    words = (
        "estimate -n vgg_cifar10 -d max5 -m batch --precision int8 --reading published --set TB=128 --set ti=48 --json"
    )
    content = dse(*words.split()).json
    assert content["point"] == {"t_b": 128, "t_i": 48}
    assert content["iteration_s"] == pytest.approx(0.29066, abs=1e-5)


def test_one_parameter_under_two_names_is_refused(dse):
    done = dse(*LENET, "--set", "tm=8", "TM=9")
    assert done.code == 2
    assert done.err == "error: parameter tm: is given twice; got 'TM'\n"
