"""Cluster files: what they mean, and that each mistake is one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.cluster import list_clusters, load_cluster
from dse.cluster.cluster_file import RAM_SHARE
from dse.errors import InputError

GOOD = """
name = "good"
source = "test"
host = "b1"
[switch]
latency_s = 1e-6
[[node]]
name = "a"
device = "zcu102"
link_bits_per_s = 1e10
connections = 4
source = "test"
[[node]]
name = "b"
count = 2
device = "arria10_gx1150"
clock_hz = 1.5e8
dsp = 1000
ram_bits = 2e7
dram_full_duplex = true
link_bits_per_s = 4e10
connections = 6
source = "test"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "cluster.toml"
    path.write_text(text)
    return path


def test_a_mixed_cluster(tmp_path: Path) -> None:
    cluster = load_cluster(write(tmp_path, GOOD))
    assert [node.name for node in cluster.nodes] == ["b1", "a", "b0"], "the host's node comes first"
    host, other, _ = cluster.nodes
    assert (host.clock_hz, host.dsp, host.ram_bits) == (1.5e8, 1000, 2e7)
    assert host.dram_read_bits_per_s == 50e9
    assert host.dram_bits_per_s == 100e9
    assert other.dram_bits_per_s == other.dram_read_bits_per_s == other.device.dram_bytes_per_s * 8
    assert other.ram_bits == pytest.approx(other.device.bram36 * 36 * 1024 * RAM_SHARE)
    assert host.kind == cluster.nodes[2].kind != other.kind


@pytest.mark.parametrize("name", list_clusters())
def test_shipped_clusters_load(name: str) -> None:
    cluster = load_cluster(name)
    assert cluster.name == name
    assert cluster.first(1).nodes == cluster.nodes[:1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "good"', "", "name: required key is missing"),
        ('host = "b1"', 'host = "b7"', "host: is no node of the file; got 'b7'; allowed: choices: a, b0, b1"),
        ('device = "zcu102"', 'device = "zcu12"', "node a: device: device: unknown device; got 'zcu12'"),
        ("count = 2", "count = 0", "node b: count: is out of range; got 0; allowed: 1 to 64"),
        ("count = 2", "count = 64", "has too many nodes; got 65"),
        ("dsp = 1000", "dsp = 1600", "node b: dsp: is more than the board has (DSP blocks); got 1600.0"),
        ("ram_bits = 2e7", "ram_bits = 9e7", "ram_bits: is more than the board has"),
        ("connections = 6", "connections = 0", "connections: is out of range"),
        ("link_bits_per_s = 4e10", "link_bits_per_s = -1", "link_bits_per_s: is out of range"),
        ("link_bits_per_s = 4e10", "link_bits_per_s = nan", "link_bits_per_s: is out of range"),
        ("clock_hz = 1.5e8", "clock = 1.5e8", "unexpected key 'clock'; allowed: did you mean 'clock_hz'"),
        ("dram_full_duplex = true", "dram_full_duplex = 1", "must be true or false"),
        ("dram_full_duplex = true", "dram_bits_per_s = 2e11", "bits per second of the board's DRAM"),
        ("latency_s = 1e-6", "latency = 1e-6", "switch: unexpected key 'latency'"),
        ('name = "b"', 'name = "a"', "is used twice"),
        ('name = "b"', 'name = "b 1"', "must be letters, digits"),
        ("[switch]", "[switch", "is not valid TOML"),
        ("[[node]]", "[node]", "TOML"),
    ],
)
def test_mistakes_are_one_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as error:
        load_cluster(write(tmp_path, GOOD.replace(old, new)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_names_and_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"did you mean 'nada'"):
        load_cluster("nadda")
    with pytest.raises(InputError, match="cannot be read"):
        load_cluster(tmp_path / "missing.toml")
    with pytest.raises(InputError, match="has not so many nodes; got 17; allowed: 1 to 16"):
        load_cluster("nada").first(17)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_files_are_refused_or_read(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any line lost, doubled or overwritten: a cluster or one line, never anything else."""
    lines = GOOD.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    junk = data.draw(st.sampled_from(["", "x = 1", "dsp = 'many'", "count = 1e3", "[[node]]", "device = 5", lines[at]]))
    lines[at : at + 1] = [junk, lines[at]] if data.draw(st.booleans()) else [junk]
    path = tmp_path_factory.mktemp("damaged") / "cluster.toml"
    path.write_text("\n".join(lines))
    try:
        cluster = load_cluster(path)
    except InputError as refusal:
        text = str(refusal)
    else:
        text = cluster.nodes[0].name
    assert text
    assert "\n" not in text
