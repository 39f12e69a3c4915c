"""What users get: one import package with every module and data file, whether from a checkout or from a wheel."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAPPED = ("models", "devices", "networks", "reports", "rtl_templates")
DATA = (".toml", ".csv", ".css", ".html", ".sv", ".h", ".cpp", ".tmpl", ".typed")


def _tracked() -> list[Path]:
    """Files of the packages as git sees them, links not followed."""
    done = subprocess.run(["git", "ls-files", "dse", *MAPPED], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(line) for line in done.stdout.splitlines() if not (ROOT / line).is_symlink()]


def _installed_name(path: Path) -> str:
    return path.as_posix() if path.parts[0] == "dse" else f"dse/{path.as_posix()}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from what git tracks, in a folder of its own."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    subprocess.run(
        f"git ls-files -z | tar --null -T - -cf - | tar -C '{source}' -xf -", shell=True, cwd=ROOT, check=True
    )
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(source)]
    subprocess.run(command, check=True)
    (built,) = out.glob("dse-*.whl")
    return built


def test_listed_packages_are_the_packages_of_the_tree() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {_installed_name(path.parent).replace("/", ".") for path in _tracked() if path.name == "__init__.py"}
    assert listed == found


def test_the_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {_installed_name(path) for path in _tracked() if path.suffix == ".py" or path.suffix in DATA}
    assert held == wanted
    assert {name.split("/")[0] for name in held} == {"dse"}


def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import dse, pathlib; assert 'site' in dse.__file__, dse.__file__;"
        "print(dse.load_network('alexnet').parameters, dse.load_device('zcu102').dsp);"
        "print(float(dse.estimate('cnn_1x', 'zcu102', 'batch', {'t_b': 4, 't_i': 8}).iteration_cycles) > 0)"
    )
    script = f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); {code}"
    done = subprocess.run([sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["62367776", "2520", "True"], done.stderr
