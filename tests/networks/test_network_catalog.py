"""Names, paths and the networks that other packages publish."""

from importlib import metadata
from pathlib import Path

import pytest

from dse.errors import InputError
from dse.networks import list_networks, load_network, published_counts

TEXT = """
name = "tiny"
source = "a test"
input = { channels = 2, height = 3, width = 3 }
[[layer]]
name = "conv"
op = "conv"
out_channels = 5
kernel = 2
"""


def _publish(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, code: str) -> None:
    """An installed package with one entry point ``name`` whose object is ``network`` of a module with ``code``."""
    module = f"third_party_{abs(hash(code))}"
    (folder / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    entry = metadata.EntryPoint(name, f"{module}:network", "dse.networks")

    def entry_points(*, group: str) -> list[metadata.EntryPoint]:
        return [entry] if group == "dse.networks" else []

    monkeypatch.setattr(metadata, "entry_points", entry_points)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TEXT)
    return path


def test_shipped_names_are_sorted_files() -> None:
    shipped = list_networks()
    assert list(shipped) == sorted(shipped)
    assert all(path.is_file() and path.stem == name for name, path in shipped.items())
    assert len(shipped) == 17


def test_a_file_by_path_and_by_string(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_network(tiny) == load_network(str(tiny))
    assert load_network(tiny)["conv"].out_shape == (5, 2, 2)
    monkeypatch.chdir(tiny.parent)
    assert load_network("tiny.toml").name == "tiny"
    assert published_counts("./tiny.toml") == ()


def test_a_path_needs_no_suffix(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.rename(tiny.with_suffix(""))
    monkeypatch.chdir(tiny.parent)
    assert load_network("./tiny").name == "tiny"
    assert load_network(Path("tiny")).name == "tiny"
    with pytest.raises(InputError, match="unknown name"):
        load_network("tiny")


@pytest.mark.parametrize(
    ("name", "hint"), [("vgg-16", "did you mean 'vgg16'"), ("resnet-50", "did you mean 'resnet50'"), ("", "choices: ")]
)
def test_unknown_name(name: str, hint: str) -> None:
    with pytest.raises(InputError, match="network: unknown name") as caught:
        load_network(name)
    assert hint in str(caught.value)
    assert repr(name) in str(caught.value)
    assert ".toml" in str(caught.value)


@pytest.mark.parametrize("path", ["no/such/file.toml", "nul\0.toml", "/"])
def test_paths_that_cannot_be_read(path: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_network(path)


@pytest.mark.parametrize(
    "code",
    [
        "network = {path!r}",
        "from pathlib import Path\nnetwork = Path({path!r})",
        "def network():\n    return {path!r}",
    ],
)
def test_entry_point(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny: Path, code: str) -> None:
    _publish(monkeypatch, tmp_path, "elsewhere", code.format(path=str(tiny)))
    assert list_networks()["elsewhere"] == tiny
    assert load_network("elsewhere").name == "tiny"
    assert load_network("lenet10").name == "lenet10"
    with pytest.raises(InputError, match="did you mean 'elsewhere'"):
        load_network("elsewere")


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("import no_such_module", "failed to load: ModuleNotFoundError"),
        ("other = 1", "failed to load: AttributeError"),
        ("def network():\n    raise RuntimeError('broken')", "failed to load: RuntimeError: broken"),
        ("network = 3", "gives no file; got 3"),
        ("network = '/no/such/file.toml'", "gives no file; got '/no/such/file.toml'"),
    ],
)
def test_failing_entry_point_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, part: str
) -> None:
    _publish(monkeypatch, tmp_path, "elsewhere", code)
    with pytest.raises(InputError) as caught:
        list_networks()
    assert part in str(caught.value)
    assert "entry point 'elsewhere' = 'third_party_" in str(caught.value)


def test_entry_point_may_not_replace_a_shipped_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny: Path
) -> None:
    _publish(monkeypatch, tmp_path, "vgg16", f"network = {str(tiny)!r}")
    with pytest.raises(InputError, match="already in use"):
        list_networks()
