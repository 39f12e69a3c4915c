"""The version of the installed package."""

from __future__ import annotations

from importlib import metadata

__all__ = ["__version__"]


def _installed() -> str:
    try:
        return metadata.version("dse")
    except metadata.PackageNotFoundError:  # a checkout on the path that was never installed
        return "0+unknown"


__version__ = _installed()
