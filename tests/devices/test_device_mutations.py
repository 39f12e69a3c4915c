"""Whatever is done to a device file, it is read as a device or refused in one line."""

import random
from pathlib import Path

from dse.device import Device
from dse.devices import list_devices, load_device
from dse.errors import InputError

VALUES = ["-1", "0", "nan", "inf", "1e400", '"7"', "''", "true", "[]", "[1]", "{}", "{a = 1}", "1979-05-27", "07"]
KEYS = ["x", "dsp", '"a.b"', ""]
CHARACTERS = "\n\t \"'[]{}=.,#\\_-+0189aex\u0000é"


def mutate(text: str, random_: random.Random) -> str:
    """``text`` with one to three small edits: of a character, of a line, of a value."""
    for _ in range(random_.randint(1, 3)):
        lines = text.split("\n")
        at = random_.randrange(len(lines))
        match random_.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(random_.randrange(len(lines)), lines[at])
            case 2:
                other = random_.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 3 if "=" in lines[at]:
                lines[at] = f"{lines[at].split('=')[0]}= {random_.choice(VALUES)}"
            case 4 if "=" in lines[at]:
                lines[at] = f"{random_.choice(KEYS)} = {lines[at].split('=', 1)[1]}"
            case _:
                column = random_.randint(0, len(lines[at]))
                cut = column + random_.randrange(2)
                lines[at] = lines[at][:column] + random_.choice(CHARACTERS) + lines[at][cut:]
        text = "\n".join(lines)
    return text


def test_mutations_of_shipped_files_load_or_are_refused(tmp_path: Path) -> None:
    random_ = random.Random(20190428)
    texts = [path.read_text(encoding="utf-8") for path in list_devices().values()]
    path = tmp_path / "mine.toml"
    loaded, refused = [], []
    for number in range(3000):
        path.write_text(mutate(texts[number % len(texts)], random_), encoding="utf-8")
        try:
            loaded.append(load_device(path))
        except InputError as refusal:
            refused.append(str(refusal))
    assert len(loaded) > 100
    assert len(refused) > 1000
    assert all(isinstance(device, Device) for device in loaded)
    assert all(text.startswith(str(path)) and "\n" not in text for text in refused)
