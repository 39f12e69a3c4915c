from __future__ import annotations

from pathlib import Path

import pytest

NETWORKS = {
    "alexnet", "cnn_1x", "lenet10", "mobilenet_v2", "nada_demo", "nada_example", "resnet18", "resnet20_cifar10",
    "resnet50", "vgg16", "vgg16_bn", "vgg_cifar10",
}  # fmt: skip


def test_list_networks_names_each_with_its_source(dse):
    done = dse("list", "networks", "--json")
    entries = {entry["name"]: entry["source"] for entry in done.json["networks"]}
    assert done.code == 0
    assert set(entries) >= NETWORKS
    assert all(entries.values())


def test_list_devices_names_each_with_its_part(dse):
    entries = {entry["name"]: entry["part"] for entry in dse("list", "devices", "--json").json["devices"]}
    assert entries["zcu102"].startswith("XCZU9EG")
    assert len(entries) >= 16
    assert all(entries.values())


def test_list_families_says_precisions_and_readings(dse):
    families = {entry["name"]: entry for entry in dse("list", "families", "--json").json["families"]}
    assert set(families) >= {"batch", "feature_map", "channel"}
    assert "fp32" in families["channel"]["precisions"]
    assert "published" in families["channel"]["readings"]
    assert all(entry["reference"] and entry["title"] for entry in families.values())


def test_list_samplers(dse):
    samplers = dse("list", "samplers", "--json").json["samplers"]
    assert {"tpe", "nsga2", "random", "qmc"} == {entry["name"] for entry in samplers}


@pytest.mark.parametrize("kind", ["networks", "devices", "families", "samplers"])
def test_plain_lists_are_the_json_ones_without_frames(dse, kind):
    plain = dse("list", kind)
    names = [entry["name"] for entry in dse("list", kind, "--json").json[kind]]
    lines = plain.out.splitlines()
    assert plain.code == 0
    assert [line.split()[0] for line in lines] == ["name", *names]
    assert plain.out.isascii()


def test_show_network_has_layers_shapes_and_counts(dse):
    network = dse("show", "network", "alexnet", "--json").json["network"]
    conv2 = next(layer for layer in network["layers"] if layer["name"] == "conv2")
    assert conv2["in_shape"] == [96, 27, 27]
    assert conv2["out_shape"] == [256, 27, 27]
    assert conv2["kernel"] == [5, 5]
    assert network["macs"] == sum(layer["macs"] for layer in network["layers"]) == 1_135_256_096
    assert network["parameters"] == 62_367_776
    assert network["published"]
    assert all(count["ok"] for count in network["published"])
    assert len(network["sha256"]) == 64


def test_show_network_says_what_training_keeps(dse):
    words = ("show", "network", "vgg16_bn", "-b", "8", "--precision", "bf16", "--optimiser", "adam")
    network, text = dse(*words, "--json").json["network"], dse(*words).out
    memory = network["memory"]
    assert (memory["batch_size"], memory["precision"], memory["optimiser"]) == (8, "bf16", "adam")
    assert memory["parameter_bytes"] == 2 * 2 * network["parameters"]
    assert memory["state_bytes"] == 2 * 4 * network["parameters"]
    kept = memory["input_bytes"] + sum(layer["kept_bytes"] for layer in network["layers"])
    assert memory["kept_bytes"] == pytest.approx(kept)
    assert memory["peak_bytes"] >= kept + memory["parameter_bytes"] + memory["state_bytes"]
    norm = next(layer for layer in network["layers"] if layer["op"] == "batch_norm")
    assert norm["kept_bytes"] == 2 * (8 * 64 * 224 * 224 + 64)
    for number in ("peak_bytes", "state_bytes", "parameter_bytes"):
        assert f"{memory[number]:,}" in text
    assert f"{memory['peak_pass']} of {memory['peak_layer']}" in text
    assert dse("show", "network", "lenet10", "-b", "0").code == 2


def test_show_network_in_text(dse):
    text = dse("show", "network", "alexnet").out
    assert "96x27x27" in text
    assert "1,135,256,096" in text
    assert "source: Tang et al." in text


def test_show_device_has_resources_memory_power_and_sources(dse):
    device = dse("show", "device", "zcu102", "--json").json["device"]
    assert device["resources"] == {"lut": 274_080, "ff": 548_160, "dsp": 2520, "bram36": 912, "uram288": 0}
    assert device["dma_restart_cycles"] == 400
    assert device["power"]["measurements"] == len(device["power_measurements"]) == 5
    assert 0 < device["power"]["worst_residual"] < 0.05
    assert "DS891" in device["sources"]["resources.dsp"]


def test_show_device_in_text_says_the_fit_and_its_residual(dse):
    text = dse("show", "device", "zcu102").out
    assert "2,520" in text
    assert "fitted on 5 published measurements, largest residual" in text
    assert "for" in text


def test_power_that_nobody_published_is_unknown_not_zero(dse):
    name = "zcu104"
    assert dse("show", "device", name, "--json").json["device"]["power"]["static_w"] is None
    assert "power: unknown" in dse("show", "device", name).out


def test_show_takes_the_path_of_a_file(dse, tmp_path: Path):
    listed = dse("show", "network", "lenet10", "--json").json["network"]
    copy = tmp_path / "mine.toml"
    copy.write_text(Path(listed["path"]).read_text().replace('name = "lenet10"', 'name = "mine"'))
    shown = dse("show", "network", copy, "--json").json["network"]
    assert shown["name"] == "mine"
    assert shown["layers"] == listed["layers"]
