"""Model families by name: those of ``dse.models`` and those of installed packages (entry points ``dse.families``)."""

from __future__ import annotations

from functools import cache
from importlib import import_module, metadata
from typing import TYPE_CHECKING

from dse.errors import InputError, did_you_mean
from dse.models import FAMILIES, FamilyEntry

if TYPE_CHECKING:
    from dse.model import ParallelismModel

__all__ = ["families", "family_entries", "family_named"]

_GROUP = "dse.families"


@cache
def families() -> dict[str, ParallelismModel]:
    """Family name -> model. Raises InputError for an entry point that fails or is no ParallelismModel."""
    from dse.model import ParallelismModel

    found = {name: _built_in(entry.target) for name, entry in FAMILIES.items()}
    for entry in metadata.entry_points(group=_GROUP):
        where = f"entry point {entry.name} of group {_GROUP}"
        try:
            model = entry.load()()
        except Exception as error:
            raise InputError(where, f"cannot be loaded: {type(error).__name__}: {error}", entry.value) from error
        if not isinstance(model, ParallelismModel):
            raise InputError(where, "must be a subclass of dse.ParallelismModel", entry.value)
        if model.name in found:
            raise InputError(where, "a family of this name exists already", model.name)
        found[model.name] = model
    return found


def _built_in(target: str) -> ParallelismModel:
    module, _, name = target.partition(":")
    model: ParallelismModel = getattr(import_module(module), name)()
    return model


def family_entries() -> dict[str, FamilyEntry]:
    """Family name -> what is to be said of it; imports only the families of other packages."""
    if not metadata.entry_points(group=_GROUP):
        return dict(FAMILIES)
    others = {name: FamilyEntry("", model.title, model.reference) for name, model in families().items()}
    return {**others, **FAMILIES}


def family_named(name: str) -> ParallelismModel:
    """The family called ``name``. Raises InputError naming the choices."""
    known = families()
    if name not in known:
        raise InputError("family", "unknown family", name, did_you_mean(name, known))
    return known[name]
