"""What is in an emitted folder: golden texts of the rendered files, properties of the others."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dse.emit import emit, load_design
from dse.emit.files import emitted_files
from dse.errors import InputError
from tests.emit.conftest import DesignMaker

GOLDEN = Path(__file__).with_name("golden")
DESIGNS: dict[str, dict[str, Any]] = {
    "channel_zcu102": {
        "family": "channel",
        "point": {"tm": 12, "tn": 8, "ifm_words": 2048, "ofm_words": 1024, "wei_words": 1024},
    },
    "feature_map_pynq_z1": {
        "family": "feature_map",
        "point": {"tf_rows": 3, "tf_cols": 4, "tm": 2, "ifm_words": 1024, "ofm_words": 1024, "wei_words": 4096},
        "precision": "int16",
        "device": "pynq_z1",
    },
    "batch_arria10": {"family": "batch", "point": {"t_b": 4, "t_i": 16}, "device": "arria10_gx1150"},
}
COPIED = (".sv", ".h", ".cpp")


@pytest.mark.parametrize("name", DESIGNS)
def test_rendered_files_are_golden(name: str, make_design: DesignMaker, request: pytest.FixtureRequest) -> None:
    content = emitted_files(make_design(**DESIGNS[name]))
    texts = {file: data for file, data in content.items() if not file.endswith((*COPIED, "design.json"))}
    if request.config.getoption("--regenerate"):
        for file, data in texts.items():
            (GOLDEN / name / file).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / name / file).write_bytes(data)
    found = {path.relative_to(GOLDEN / name).as_posix(): path for path in (GOLDEN / name).rglob("*") if path.is_file()}
    assert sorted(found) == sorted(texts), "pytest --regenerate writes them"
    for file, path in found.items():
        assert path.read_text() == texts[file].decode(), f"{path}: pytest --regenerate writes it"


@pytest.mark.parametrize("name", DESIGNS)
def test_the_design_file_says_all_and_reads_back(name: str, make_design: DesignMaker, tmp_path: Path) -> None:
    design = make_design(**DESIGNS[name])
    emit(design, tmp_path)
    read, hashes = load_design(tmp_path)
    assert read.content() == design.content()
    assert read.engine == design.engine
    assert read.workload.network.layers == design.workload.network.layers
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert set(hashes) == files - {"design.json"}
    for file, digest in hashes.items():
        assert hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() == digest
    content = json.loads((tmp_path / "design.json").read_text())
    assert content["prediction"]["iteration_cycles"] > 0
    assert content["lanes"] == design.engine.lanes
    listed = (tmp_path / "filelist.f").read_text().split()
    assert set(listed) == {file for file in files if file.startswith("rtl/")}
    assert not {"rtl/fp_add.sv", "rtl/mac_lane.sv"} & set(listed)  # blocks that the accelerator has no use for


def test_regions_of_the_address_map_do_not_overlap(make_design: DesignMaker) -> None:
    content = make_design(**DESIGNS["channel_zcu102"]).content()
    everything = content["address_map"]["regions"]
    regions = [region for region in everything if region["space"] == "tensors"]
    ends = [region["base"] + region["bytes"] for region in regions]
    for region, end, after in zip(regions, ends, [*regions[1:], None], strict=True):
        assert region["base"] % 4096 == 0
        assert after is None or end <= after["base"]
    names = {(region["kind"], region["name"]) for region in everything}
    assert len(names) == len(everything)
    assert ("activation", "input") in names
    assert ("error", "input") not in names  # nobody reads the gradient of the network's input
    assert {("weight", "conv1"), ("gradient", "fc2"), ("error", "conv3")} <= names


def test_only_what_changed_is_written(make_design: DesignMaker, tmp_path: Path) -> None:
    design = make_design(**DESIGNS["channel_zcu102"])
    assert all(emit(design, tmp_path).values())
    assert not any(emit(design, tmp_path).values())
    (tmp_path / "filelist.f").write_text("")
    assert [file for file, new in emit(design, tmp_path).items() if new] == ["filelist.f"]
    other = make_design("channel", {**DESIGNS["channel_zcu102"]["point"], "tm": 4})
    changed = [file for file, new in emit(other, tmp_path).items() if new]
    assert not any(file.endswith(COPIED) for file in changed)
    assert "rtl/dse_accelerator.v" in changed


def test_files_that_are_no_longer_part_of_it_go(make_design: DesignMaker, tmp_path: Path) -> None:
    emit(make_design(**DESIGNS["channel_zcu102"]), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    emit(make_design(**DESIGNS["batch_arria10"]), tmp_path)
    assert not (tmp_path / "constraints" / "clock.xdc").exists()
    assert (tmp_path / "constraints" / "clock.sdc").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_somebody_elses_folder_is_refused(make_design: DesignMaker, tmp_path: Path) -> None:
    design = make_design(**DESIGNS["channel_zcu102"])
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="the folder holds other files"):
        emit(design, tmp_path)
    with pytest.raises(InputError, match="is a file"):
        emit(design, tmp_path / "thesis.tex")
    assert emit(design, tmp_path, force=True)["design.json"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is no design of dse emit"), ('{"format": 99}', "has another format; got 99"), ("[]", "is no design")],
)
def test_a_damaged_design_file_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_design(tmp_path)
    (tmp_path / "design.json").write_text(text)
    with pytest.raises(InputError, match=message):
        load_design(tmp_path)
