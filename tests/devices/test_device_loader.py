"""The loader: names, paths, entry points, and one line for each thing that can be wrong with a file."""

import re
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from dse.devices import ENTRY_POINT_GROUP, list_devices, load_device
from dse.errors import InputError

XILINX = Path(list_devices()["zcu102"]).read_text(encoding="utf-8")
INTEL = Path(list_devices()["stratix10_gx2800"]).read_text(encoding="utf-8")


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def error(tmp_path: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load_device(write(tmp_path, text))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(tmp_path))
    return message


def swap(text: str, pattern: str, new: str) -> str:
    changed, count = re.subn(pattern, lambda _: new, text, count=1, flags=re.MULTILINE)
    assert count == 1, pattern
    return changed


# ---------------------------------------------------------------------------------------------------- names and paths


def test_custom_file_by_path_object_and_by_text(tmp_path: Path) -> None:
    path = write(tmp_path, swap(XILINX, r'^name = ".*"', 'name = "mine"'))
    assert load_device(path).name == "mine"
    assert load_device(str(path)) == load_device(path)


def test_relative_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, XILINX)
    monkeypatch.chdir(tmp_path)
    assert load_device("mine.toml").dsp == 2520
    assert load_device("./mine.toml").path == "mine.toml"


def test_unknown_name_suggests() -> None:
    with pytest.raises(InputError, match=r"unknown device; got 'zcu12'.*did you mean 'zcu102'\?.*pynq_z1"):
        load_device("zcu12")


@pytest.mark.parametrize("name", ["", "ZCU102 ", "..", "a\0b"])
def test_odd_names_are_unknown(name: str) -> None:
    with pytest.raises(InputError, match="unknown device"):
        load_device(name)


@pytest.mark.parametrize("name", ["nowhere.toml", "no/such/board", "/", "a\0b.toml", "x" * 5000 + ".toml"])
def test_missing_file(name: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_device(name)


def test_directory_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        load_device(tmp_path)


@pytest.mark.parametrize("value", [None, 3, b"zcu102"])
def test_wrong_type_of_name(value: object) -> None:
    with pytest.raises(InputError, match="must be a name or a path"):
        load_device(value)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- entry points


def install(monkeypatch: pytest.MonkeyPatch, **targets: object) -> None:
    """Pretend that distributions offer these boards; an exception is raised on loading."""

    def load(target: object) -> object:
        if isinstance(target, Exception):
            raise target
        return target

    def entry_points(*, group: str) -> list[SimpleNamespace]:
        assert group == ENTRY_POINT_GROUP
        return [SimpleNamespace(name=n, load=lambda t=t: load(t)) for n, t in targets.items()]

    monkeypatch.setattr(metadata, "entry_points", entry_points)


@pytest.mark.parametrize("wrap", [str, Path, lambda path: lambda: path, lambda path: lambda: str(path)])
def test_entry_point_adds_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrap: object) -> None:
    path = write(tmp_path, swap(XILINX, r'^name = ".*"', 'name = "mine"'))
    install(monkeypatch, mine=wrap(path))  # type: ignore[operator]
    assert list_devices()["mine"] == path
    assert "zcu102" in list_devices()
    assert load_device("mine").path == str(path)


def fail() -> str:
    raise RuntimeError("two\nlines")


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (ModuleNotFoundError("No module named 'gone'"), "failed: ModuleNotFoundError: No module named 'gone'"),
        (fail, "failed: RuntimeError: two lines"),
        (lambda needs: needs, "failed: TypeError"),
        (42, "must give the path of a TOML file; got 42"),
        (lambda: None, "must give the path of a TOML file"),
        ("nowhere.toml", "names a file that does not exist; got 'nowhere.toml'"),
        ("a\0b", "names a file that does not exist"),
    ],
)
def test_failing_entry_point_is_named(monkeypatch: pytest.MonkeyPatch, target: object, rule: str) -> None:
    install(monkeypatch, broken=target)
    with pytest.raises(InputError) as caught:
        load_device("zcu102")
    assert str(caught.value).startswith(f"entry point 'broken' of group 'dse.devices': {rule}")
    assert "\n" not in str(caught.value)


def test_entry_point_cannot_replace_a_board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, zcu102=write(tmp_path, XILINX))
    with pytest.raises(InputError, match=r"'zcu102'.* repeats the name of another device"):
        list_devices()


# -------------------------------------------------------------------------------------------------- rules of the file

RULES = [
    # pattern in the ZCU102 file, replacement, what the message must say
    (r"^lut = 274_080", "lut = ", "is not valid TOML: Invalid value (at line 9, column 7)"),
    (r"^lut = 274_080", "LUT = 274_080", "resources: lut: required key is missing; allowed: found keys: LUT"),
    (r"^lut = 274_080", "lut = -1", "resources: lut: is out of range; got -1"),
    (r"^lut = 274_080", "lut = 0", "resources: lut: is out of range; got 0"),
    (r"^lut = 274_080", "lut = 1e5", "resources: lut: must be a whole number; got 100000.0"),
    (r"^lut = 274_080", 'lut = "274080"', "resources: lut: must be a whole number; got '274080'"),
    (r"^lut = 274_080", "lut = true", "resources: lut: must be a whole number; got True"),
    (r"^lut = 274_080", f"lut = {10**400}", "resources: lut: is out of range"),
    (r"^lut = 274_080", f"lut = {'9' * 5000}", "is not valid TOML"),
    (r"^lut = 274_080", f"lut = 0x{'f' * 5000}", "resources: lut: is out of range"),
    (r"^lut = 274_080", "lut = 274_080\nslices = 34_260", "resources: unexpected key 'slices'"),
    (r"^uram288 = 0", "", "resources: uram288: required key is missing"),
    (r"^lut = 274_080", "alm = 5\nlut = 274_080", "resources: alm: is not a resource of vendor 'xilinx'"),
    (r'^vendor = "xilinx"', 'vendor = "intel"', "resources: lut: is not a resource of vendor 'intel'"),
    (r'^vendor = "xilinx"', 'vendor = "xlinx"', "vendor: unknown value; got 'xlinx'; allowed: did you mean 'xilinx'?"),
    (r'^name = "zcu102"', 'name = "zcu 102"', "name: must be letters, digits"),
    (r'^name = "zcu102"', "", "name: required key is missing"),
    (r'^part = ".*"', 'part = ""', "part: must be a string that is not empty"),
    (r'^part = ".*"', 'part = "x"\nboard = "y"', "unexpected key 'board'"),
    (r"^hz = 100_000_000", "hz = 0", "clock: hz: is out of range"),
    (r"^hz = 100_000_000", "hz = nan", "clock: hz: is out of range; got nan"),
    (r"^hz = 100_000_000", "hz = inf", "clock: hz: is out of range; got inf"),
    (r"^hz = 100_000_000", f"hz = {10**400}", "clock: hz: is out of range"),
    (r"^hz = 100_000_000", 'hz = "fast"', "clock: hz: must be a number; got 'fast'"),
    (r"^\[clock\]", "[clocks]", "clock: required key is missing"),
    (r"^bytes = .*", "bytes = 4.5", "dram: bytes: must be a whole number"),
    (r"^bytes_per_s = .*", "bytes_per_s = -1.0", "dram: bytes_per_s: is out of range; got -1.0"),
    (r"^port_bits = 128", "port_bits = 12", "dma: port_bits: must be a multiple of 8; got 12"),
    (r"^port_bits = 128", "port_bits = 0", "dma: port_bits: is out of range"),
    (r"^restart_cycles = 400", "restart_cycles = -400", "dma: restart_cycles: is out of range"),
    (r"^\[dsp_cost.int8\]", "[dsp_cost.int4]", "dsp_cost: int4: unknown precision; allowed: did you mean 'int"),
    (r"^multiplier = 1", "multiplier = -1", "dsp_cost: int8: multiplier: is out of range"),
    (r"^multiplier = 1", "multipliers = 1", "dsp_cost: int8: multiplier: required key is missing"),
    (r"^adder = 0", "adder = 0\nlut = 3", "dsp_cost: int8: unexpected key 'lut'"),
    (r"^dsp = 1\.0", "dsp = 1.01", "usable: dsp: is a share of the chip; got 1.01; allowed: 0 to 1"),
    (r"^ff = 0\.8", "ff = 80", "usable: ff: is a share of the chip; got 80.0"),
    (r"^ff = 0\.8", "ff = -0.1", "usable: ff: is out of range"),
    (r"^ff = 0\.8", "", "usable: ff: required key is missing"),
    (r"^watts = 6.89", "watts = 0", "power 1: watts: is out of range"),
    (r"^watts = 6.89", "watts = nan", "power 1: watts: is out of range"),
    (r"^watts = 6.89", "", "power 1: watts: required key is missing"),
    (r"^watts = 7.14", "watts = 7.14\namps = 1", "power 2: unexpected key 'amps'"),
    (r"^dsp = 1_513", "dsp = 2_521", "power 3: dsp: is more than the chip has; got 2521.0; allowed: 0 to 2520"),
    (r'^source = ".*"', "", "power 1: source: required key is missing"),
    (r'^source = ".*"', 'source = "  "', "power 1: source: must be a string that is not empty"),
    (r"^\[sources\]", "[source]", "sources: required key is missing"),
    (
        r'^"clock.hz" = .*',
        "",
        'sources: "clock.hz": required source is missing; allowed: a source for clock.hz',
    ),
    (r'^"dsp_cost.fp32" = .*', "", "a source for dsp_cost.fp32.multiplier or dsp_cost.fp32 or dsp_cost"),
    (r"^resources = .*", "", 'sources: "resources.lut": required source is missing'),
    (r"^resources = .*", 'resources = ""', "sources: resources: must be a string that is not empty"),
    (r"^resources = .*", "resources = 891", "sources: resources: must be a string that is not empty; got 891"),
    (r'^"clock.hz" = .*', "clock.hz = 'a'", "sources: clock: must be a string that is not empty; got {'hz': 'a'}"),
    (r'^"clock.hz" = .*', '"clock.hz" = "assumed: "', "sources: clock.hz: must say on what basis"),
    (r'^"clock.hz" = .*', '"clock.mhz" = "a"', "sources: clock.mhz: is a source for a key that the file does not have"),
    (r"^resources = .*", 'resource = "a"', "sources: resource: is a source for a key that the file does not have"),
]


@pytest.mark.parametrize(("pattern", "new", "rule"), RULES)
def test_rules(tmp_path: Path, pattern: str, new: str, rule: str) -> None:
    assert rule in error(tmp_path, swap(XILINX, pattern, new))


INTEL_RULES = [
    (r"^alm = .*", "alm = 0", "resources: alm: is out of range"),
    (
        r"^m20k = .*",
        "bram36 = 5_860",
        "bram36: is not a resource of vendor 'intel'; allowed: alm, m20k, dsp",
    ),
    (r"^bram36 = 1.0", "bram36 = 1.0\nuram288 = 1.0", "usable: uram288: is not a resource of vendor 'intel'"),
    (r'^vendor = "intel"', 'vendor = "xilinx"', "resources: alm: is not a resource of vendor 'xilinx'"),
]


@pytest.mark.parametrize(("pattern", "new", "rule"), INTEL_RULES)
def test_intel_rules(tmp_path: Path, pattern: str, new: str, rule: str) -> None:
    assert rule in error(tmp_path, swap(INTEL, pattern, new))


def test_no_precision_at_all(tmp_path: Path) -> None:
    text = re.sub(r"\[dsp_cost\.\w+\]\nmultiplier = .*\nadder = .*\n", "", XILINX)
    text = swap(text, r"^\[usable\]", "[dsp_cost]\n\n[usable]")
    assert "dsp_cost: needs at least one precision" in error(tmp_path, text)


def test_precisions_and_power_may_be_absent(tmp_path: Path) -> None:
    text = re.sub(r"\[dsp_cost\.(int16|bf16)\]\nmultiplier = .*\nadder = .*\n", "", XILINX)
    text = re.sub(r'^"dsp_cost.(int16|bf16)" = .*\n', "", text, flags=re.MULTILINE)
    text = re.sub(r"\[\[power\]\]\n(.*\n){6}", "", text)
    device = load_device(write(tmp_path, text))
    assert list(device.dsp_cost) == ["int8", "fp32"]
    assert device.power == ()


def test_own_source_wins_over_that_of_its_table(tmp_path: Path) -> None:
    device = load_device(write(tmp_path, XILINX + '"resources.dsp" = "counted by hand"\n'))
    assert device.sources["resources.dsp"] == "counted by hand"
    assert "DS891" in device.sources["resources.lut"]


@pytest.mark.parametrize(
    "raw", [b"", b"\xff\xfe", b"name = 'a'\r", b"a = " + b"[" * 10**5, b"\0", b"[[power]]\n[power]"]
)
def test_files_that_are_not_devices(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        load_device(path)
    assert "\n" not in str(caught.value)
