from collections.abc import Callable
from pathlib import Path

import pytest

from dse.network import Network
from dse.networks import load_network

Load = Callable[..., Network]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a network of the given layers (inline tables without braces), fed with 4 x 8 x 8 samples."""

    def load_layers(*layers: str, channels: int = 4, height: int = 8, width: int = 8) -> Network:
        path = tmp_path / "net.toml"
        size = f"{{ channels = {channels}, height = {height}, width = {width} }}"
        rows = "".join(f"  {{ {layer} }},\n" for layer in layers)
        path.write_text(f'name = "net"\nsource = "a test"\ninput = {size}\nlayer = [\n{rows}]\n')
        return load_network(path)

    return load_layers
