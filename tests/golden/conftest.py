from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dse.network import Network
from dse.networks import load_network

Load = Callable[..., Network]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a network of the given layers (inline tables without braces)."""

    def load_layers(*layers: str, channels: int = 2, size: int = 8) -> Network:
        path = tmp_path / "net.toml"
        shape = f"{{ channels = {channels}, height = {size}, width = {size} }}"
        rows = "".join(f"  {{ {layer} }},\n" for layer in layers)
        path.write_text(f'name = "net"\nsource = "a test"\ninput = {shape}\nlayer = [\n{rows}]\n')
        return load_network(path)

    return load_layers
