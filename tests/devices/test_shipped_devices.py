"""The shipped boards: they load, every number has a source, and their figures agree with published ones."""

import hashlib
import tomllib
from pathlib import Path

import pytest

from dse.device import Device
from dse.devices import PRECISIONS, list_devices, load_device

SHIPPED = list_devices()
EF_TRAIN = "EF-Train, ACM TODAES 2022"


def leaves(table: dict, prefix: str = "") -> dict[str, float]:
    """Dotted key -> number, for every number of a TOML table."""
    found = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= leaves(value, f"{prefix}{key}.")
        elif isinstance(value, int | float):
            found[prefix + key] = value
    return found


@pytest.fixture(params=sorted(SHIPPED))
def board(request: pytest.FixtureRequest) -> Device:
    return load_device(request.param)


def test_there_are_at_least_sixteen() -> None:
    assert len(SHIPPED) >= 16
    assert list(SHIPPED) == sorted(SHIPPED)


def test_name_is_the_file_name(board: Device) -> None:
    assert board.name == Path(board.path).stem
    assert load_device(Path(board.path)) == board
    assert load_device(board.path) == board


def test_digest_is_that_of_the_file(board: Device) -> None:
    assert board.digest == hashlib.sha256(Path(board.path).read_bytes()).hexdigest()


def test_every_number_has_a_source(board: Device) -> None:
    numbers = leaves(tomllib.loads(Path(board.path).read_text(encoding="utf-8")))
    assert set(board.sources) == set(numbers)
    assert all(len(text) > 20 for text in board.sources.values())
    assert all(m.source for m in board.power)


def test_figures_are_plausible(board: Device) -> None:
    assert set(board.dsp_cost) == set(PRECISIONS)
    assert board.usable == {"lut": 0.8, "ff": 0.8, "dsp": 1.0, "bram36": 1.0, "uram288": 1.0}
    assert set(board.capacity) == set(board.usable)
    assert board.ff == 2 * board.lut
    assert 50e6 <= board.clock_hz <= 500e6
    assert 2**29 <= board.dram_bytes <= 2**37
    assert 1e9 <= board.dram_bytes_per_s <= 1e12
    assert board.dma_port_bits in {32, 64, 128, 256, 512}
    assert board.dma_restart_cycles == 400
    assert 0 < board.dram_bytes_per_cycle <= board.dma_ports * board.dma_port_bits / 8


def test_restart_cycles_are_measured_on_two_boards_only(board: Device) -> None:
    measured = not board.sources["dma.restart_cycles"].startswith("assumed:")
    assert measured == (board.name in {"pynq_z1", "zcu102"})


KNOWN = [
    # board, attribute, published figure, where it is printed
    ("max5", "lut", 1_182_240, "DarkFPGA, FCCM 2019, Table III, available"),
    ("max5", "dsp", 6_840, "DarkFPGA, FCCM 2019, Table III, available"),
    ("max5", "bram36", 4_320 / 2, "DarkFPGA, FCCM 2019, Table III, available BRAM18"),
    ("max5", "uram288", 960, "DarkFPGA, FCCM 2019, Table III, available"),
    ("max5", "dram_bytes_per_s", 63.9e9, "DarkFPGA, FCCM 2019, section VI"),
    ("max5", "clock_hz", 200e6, "DarkFPGA, FCCM 2019, Table IV"),
    ("arria10_gx1150", "dsp", 1_518, "NADA 2023, Table IV"),
    ("arria10_gx1150", "bram36", 2_713 / 2, "NADA 2023, section V, M20K blocks"),
    ("arria10_gx1150", "clock_hz", 100e6, "NADA 2023, Table IV"),
    ("arria10_gx1150", "dram_bytes_per_s", 2 * 50e9 / 8, "NADA 2023, Table IV, full duplex"),
    ("zcu102", "dma_port_bits", 128, f"{EF_TRAIN}, section 6.3"),
    ("pynq_z1", "dma_port_bits", 32, f"{EF_TRAIN}, section 6.3"),
    ("zu19eg", "clock_hz", 200e6, f"{EF_TRAIN}, Table 9"),
    ("stratix10_gx2800", "clock_hz", 240e6, f"{EF_TRAIN}, Table 7"),
    ("stratix10_mx2100", "clock_hz", 185e6, f"{EF_TRAIN}, Table 9"),
    # total logic registers in vendor tables, four to an ALM
    ("stratix10_gx2800", "ff", 3_732_480, "Stratix 10 GX development kit user guide, section 4.1"),
    ("stratix10_mx2100", "ff", 2_810_880, "Stratix 10 MX development kit user guide, section 4.1"),
    # totals that a Vitis platform reports for an Alveo card are of the same chip
    ("u280", "dram_bytes_per_s", 32 * 14.375e9, "Vitis documentation UG1393, HBM configuration"),
]


@pytest.mark.parametrize(("name", "attribute", "published", "where"), KNOWN)
def test_published_totals(name: str, attribute: str, published: float, where: str) -> None:
    assert getattr(load_device(name), attribute) == published, where


SHARES = [
    # board, resource, used, percentage printed beside it, decimals printed, where
    ("zcu102", "dsp", 1_315, 52.2, 1, f"{EF_TRAIN}, Table 7"),
    ("zcu102", "bram36", 324, 35.5, 1, f"{EF_TRAIN}, Table 7"),
    ("zcu102", "bram36", 340, 37.3, 1, f"{EF_TRAIN}, Table 10"),
    ("zcu102", "dsp", 1_513, 60.0, 1, f"{EF_TRAIN}, Table 8"),
    ("zcu102", "bram36", 857, 94.0, 1, f"{EF_TRAIN}, Table 8"),
    ("zcu102", "dsp", 1_508, 59.8, 1, f"{EF_TRAIN}, Table 8"),
    ("zcu102", "bram36", 787, 86.3, 1, f"{EF_TRAIN}, Table 8"),
    ("zcu102", "dsp", 1_680, 66.7, 1, f"{EF_TRAIN}, Table 8"),
    ("zcu102", "bram36", 812, 89.0, 1, f"{EF_TRAIN}, Table 8"),
    ("pynq_z1", "dsp", 212, 96.4, 1, f"{EF_TRAIN}, Table 7"),
    ("pynq_z1", "bram36", 123, 87.9, 1, f"{EF_TRAIN}, Table 7"),
    ("zu19eg", "dsp", 1_500, 76.2, 1, f"{EF_TRAIN}, Tables 9 and 10"),
    ("zu19eg", "bram36", 174, 17.7, 1, f"{EF_TRAIN}, Table 10"),
    ("stratix10_gx2800", "dsp", 1_796, 31.2, 1, f"{EF_TRAIN}, Table 11"),
    ("stratix10_gx2800", "bram36", 258.8, 4.4, 1, f"{EF_TRAIN}, Table 7"),
    ("max5", "lut", 678_716, 57.41, 2, "DarkFPGA, FCCM 2019, Table III"),
    ("max5", "dsp", 6_241, 91.24, 2, "DarkFPGA, FCCM 2019, Table III"),
    ("max5", "bram36", 616, 28.52, 2, "DarkFPGA, FCCM 2019, Table III"),
    ("max5", "uram288", 131, 13.65, 2, "DarkFPGA, FCCM 2019, Table III"),
]


@pytest.mark.parametrize(("name", "resource", "used", "percent", "decimals", "where"), SHARES)
def test_published_shares(name: str, resource: str, used: float, percent: float, decimals: int, where: str) -> None:
    share = 100 * used / load_device(name).capacity[resource]
    assert abs(share - percent) <= 0.51 * 10**-decimals, where


def test_stratix_and_arria_memory_in_megabits() -> None:
    m20k_bits = 20_480
    assert 2 * load_device("arria10_gx1150").bram36 * m20k_bits == pytest.approx(55e6, rel=0.02)  # NADA Table IV
    assert 2 * load_device("stratix10_gx2800").bram36 * m20k_bits == 240_046_080  # Quartus fitter report of the chip
    (measured,) = load_device("stratix10_gx2800").power
    assert 2 * measured.bram36 * m20k_bits == pytest.approx(10.6e6, rel=0.001)  # EF-Train Table 7


def test_1699_is_thirty_percent_of_stratix_10() -> None:
    assert round(1_699 / load_device("stratix10_gx2800").dsp, 1) == 0.3  # EF-Train Table 7


POWER = {
    "zcu102": [(1315, 324, 6.89), (1315, 340, 7.14), (1513, 857, 7.736), (1508, 787, 7.712), (1680, 812, 8.208)],
    "pynq_z1": [(212, 123, 1.85)],
    "max5": [(6241, 616, 12.4)],
    "zu19eg": [(1500, 174, 14.24)],
    "stratix10_gx2800": [(1699, 258.8, 20.6)],
}


def test_power_measurements(board: Device) -> None:
    assert [(m.dsp, m.bram36, m.watts) for m in board.power] == POWER.get(board.name, [])
    assert all(m.clock_hz == board.clock_hz for m in board.power)


def test_operator_costs() -> None:
    xilinx, intel = load_device("zcu102").dsp_cost, load_device("arria10_gx1150").dsp_cost
    assert xilinx["fp32"].multiplier_dsp + xilinx["fp32"].adder_dsp == 5  # EF-Train section 6.4
    assert (xilinx["int8"].multiplier_dsp, xilinx["int8"].adder_dsp) == (1, 0)  # DarkFPGA: 128 x 48 lanes, 6241 DSPs
    assert (intel["fp32"].multiplier_dsp, intel["fp32"].adder_dsp) == (1, 0)
    assert intel["int16"].multiplier_dsp == 0.5
