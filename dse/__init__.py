"""Explore FPGA accelerators that train neural networks.

``dse.sweep`` searches a grid of networks, devices and families for the best accelerator and proves it, ``dse.estimate``
predicts one design, ``dse.validate`` compares the models with published tables. Names are loaded when first used, so
that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse._version import __version__
    from dse.api import estimate
    from dse.device import Device
    from dse.devices import load_device
    from dse.errors import InputError
    from dse.estimate import Estimate
    from dse.model import ParallelismModel
    from dse.network import Layer, Network
    from dse.networks import load_network
    from dse.results import ResultSet
    from dse.space import SearchSpace
    from dse.sweep import sweep
    from dse.validation import validate
    from dse.workload import Workload

__all__ = [
    "Device",
    "Estimate",
    "InputError",
    "Layer",
    "Network",
    "ParallelismModel",
    "ResultSet",
    "SearchSpace",
    "Workload",
    "__version__",
    "estimate",
    "load_device",
    "load_network",
    "sweep",
    "validate",
]

_HOME = {
    "Device": "dse.device",
    "Estimate": "dse.estimate",
    "InputError": "dse.errors",
    "Layer": "dse.network",
    "Network": "dse.network",
    "ParallelismModel": "dse.model",
    "ResultSet": "dse.results",
    "SearchSpace": "dse.space",
    "Workload": "dse.workload",
    "__version__": "dse._version",
    "estimate": "dse.api",
    "load_device": "dse.devices",
    "load_network": "dse.networks",
    "sweep": "dse.sweep",
    "validate": "dse.validation",
}
"""Public name -> the module that defines it."""


class _Package(ModuleType):
    """This package. ``dse.estimate`` and ``dse.sweep`` stay functions when the modules of those names are loaded."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
