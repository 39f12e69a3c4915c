"""A package of somebody else adds a family, a network and a device, without a change to this one."""

from __future__ import annotations

from pathlib import Path

import pytest

FAMILY = """
from dse import ParallelismModel
from dse.models.channel import Channel

class Acme(Channel):
    name = "acme"
    title = "square arrays"
    precisions = ("fp32",)

class Impostor:
    name = "impostor"
"""
ENTRY_POINTS = """
[dse.families]
acme = acme_dse:Acme

[dse.networks]
acme_net = acme_dse.files:NETWORK

[dse.devices]
acme_board = acme_dse.files:device
"""
FILES = """
from pathlib import Path

NETWORK = Path(__file__).with_name("acme_net.toml")

def device():
    return Path(__file__).with_name("acme_board.toml")
"""


@pytest.fixture
def site(dse, tmp_path: Path) -> Path:
    """A folder as pip installs a package into it."""
    package = tmp_path / "site" / "acme_dse"
    info = tmp_path / "site" / "acme_dse-1.0.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (package / "__init__.py").write_text(FAMILY)
    (package / "files.py").write_text(FILES)
    for kind, shipped, name in (("network", "lenet10", "acme_net"), ("device", "zcu102", "acme_board")):
        source = Path(dse("show", kind, shipped, "--json").json[kind]["path"]).read_text()
        (package / f"{name}.toml").write_text(source.replace(f'name = "{shipped}"', f'name = "{name}"'))
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-dse\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (info / "RECORD").write_text("")
    return package.parent


def test_all_three_are_listed(shell, site):
    for kind, name in (("families", "acme"), ("networks", "acme_net"), ("devices", "acme_board")):
        listed = {entry["name"] for entry in shell("list", kind, "--json", path=site).json[kind]}
        assert name in listed
        assert len(listed) > 1


def test_all_three_are_swept(shell, site):
    words = ("sweep", "-n", "acme_net", "-d", "acme_board", "-m", "acme", "--trials", 5, "--no-prove", "--json")
    cell = shell(*words, path=site).json["cells"][0]
    assert (cell["network"], cell["device"], cell["family"]) == ("acme_net", "acme_board", "acme")
    assert cell["best"]["estimate"]["feasible"]


def test_a_precision_that_the_family_lacks_is_refused(shell, site, tmp_path):
    words = ("-n", "acme_net", "-d", "acme_board", "-m", "acme", "--precision", "int8")
    says = "family acme lacks it; got 'int8'; allowed: choices: fp32"
    assert says in shell("sweep", *words, path=site).error
    assert says in shell("estimate", *words, path=site).error
    assert not (tmp_path / "dse-out").exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("acme_dse:Acme", "acme_dse:Acmee", "cannot be loaded: AttributeError"),
        ("acme_dse:Acme", "acme_dse:Impostor", "must be a subclass of dse.ParallelismModel; got 'acme_dse:Impostor'"),
        ("acme = acme_dse:Acme", "acme = dse.models.channel:Channel", "a family of this name exists already"),
    ],
)
def test_a_broken_entry_point_is_an_error_that_names_it(shell, site, old, new, says):
    entry_points = site / "acme_dse-1.0.dist-info" / "entry_points.txt"
    entry_points.write_text(entry_points.read_text().replace(old, new))
    error = shell("list", "families", path=site).error
    assert error.startswith("entry point acme of group dse.families: ")
    assert says in error
