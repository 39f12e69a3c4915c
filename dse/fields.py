"""Reading TOML tables key by key, so that each wrong key is one line naming file, key, rule, value and choices."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.errors import InputError, did_you_mean

__all__ = ["Fields", "read_toml"]

_REQUIRED: Any = object()


def read_toml(path: Path) -> Fields:
    """The table of a TOML file. Raises InputError for an unreadable file or a syntax error (with line and column)."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise InputError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        return Fields(str(path), tomllib.loads(raw.decode("utf-8")))
    except (ValueError, RecursionError) as error:  # syntax, encoding, an integer of thousands of digits, deep nesting
        raise InputError(str(path), f"is not valid TOML: {error}") from error


class Fields:
    """One TOML table. Each ``take`` checks a key and marks it read; ``close`` refuses the keys nobody took."""

    def __init__(self, where: str, table: Mapping[str, Any]) -> None:
        """``where`` is the file, with the table's path behind it for a nested table."""
        self.where = where
        self._table = dict(table)
        self._known: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def keys(self) -> list[str]:
        """Keys present, in file order."""
        return list(self._table)

    def error(self, key: str, rule: str, got: object = None, allowed: object = None) -> InputError:
        """An InputError that names this table and ``key``."""
        return InputError(f"{self.where}: {key}", rule, got, allowed)

    def _take(self, key: str, default: Any) -> Any:
        self._known.append(key)
        if key in self._table:
            return self._table[key]
        if default is _REQUIRED:
            near = [k for k in self._table if k not in self._known]
            raise self.error(key, "required key is missing", allowed=f"found keys: {', '.join(near) or 'none'}")
        return default

    def raw(self, key: str, default: Any = _REQUIRED) -> Any:
        """The value of ``key`` unchecked, for a key whose form the caller checks."""
        return self._take(key, default)

    def string(self, key: str, default: Any = _REQUIRED, choices: Sequence[str] | None = None) -> str:
        """A string that is not empty, one of ``choices`` where given."""
        value = self._take(key, default)
        if value is default and key not in self._table:
            return value  # type: ignore[no-any-return]
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, "must be a string that is not empty", value)
        if choices is not None and value not in choices:
            raise self.error(key, "unknown value", value, did_you_mean(value, choices))
        return value

    def boolean(self, key: str, default: Any = _REQUIRED) -> bool:
        """true or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "must be true or false", value)
        return value

    def integer(self, key: str, default: Any = _REQUIRED, minimum: int = 0, maximum: int | None = None) -> int:
        """A whole number from ``minimum`` to ``maximum``."""
        value = self._take(key, default)
        if value is default and key not in self._table:
            return value  # type: ignore[no-any-return]
        return self._integer(key, value, minimum, maximum)

    def _integer(self, key: str, value: object, minimum: int, maximum: int | None) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, "must be a whole number", value)
        if value < minimum or (maximum is not None and value > maximum):
            span = f">= {minimum}" if maximum is None else f"{minimum} to {maximum}"
            raise self.error(key, "is out of range", value, span)
        return value

    def integers(
        self, key: str, count: int, default: Any = _REQUIRED, minimum: int = 0, maximum: int | None = None
    ) -> tuple[int, ...]:
        """``count`` whole numbers: a list of that length, or one number that stands for all."""
        value = self._take(key, default)
        items = value if isinstance(value, list | tuple) else [value] * count
        if len(items) != count:
            raise self.error(key, f"must be one whole number or a list of {count}", value)
        return tuple(self._integer(key, item, minimum, maximum) for item in items)

    def number(self, key: str, default: Any = _REQUIRED, minimum: float = 0.0, positive: bool = False) -> float:
        """A finite number >= ``minimum`` (> 0 where ``positive``)."""
        value = self._take(key, default)
        if value is default and key not in self._table:
            return value  # type: ignore[no-any-return]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, "must be a number", value)
        try:
            finite = math.isfinite(value)
        except OverflowError:  # an integer beyond the largest float
            finite = False
        if not finite or value < minimum or (positive and value <= 0):
            raise self.error(
                key, "is out of range", value, "finite and > 0" if positive else f"finite and >= {minimum}"
            )
        return float(value)

    def strings(self, key: str, default: Any = _REQUIRED) -> tuple[str, ...]:
        """A list of strings, or one string."""
        value = self._take(key, default)
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list | tuple) or not all(isinstance(i, str) and i for i in items):
            raise self.error(key, "must be a string or a list of strings", value)
        return tuple(items)

    def table(self, key: str, required: bool = True) -> Fields:
        """A nested table; an empty one where absent and not ``required``."""
        value = self._take(key, _REQUIRED if required else {})
        if not isinstance(value, dict):
            raise self.error(key, "must be a table", value)
        return Fields(f"{self.where}: {key}", value)

    def tables(self, key: str, required: bool = True) -> list[Fields]:
        """An array of tables ``[[key]]``; each is named by its ``name`` key, else by its position."""
        value = self._take(key, _REQUIRED if required else [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(key, f"must be an array of tables, written [[{key}]]", type(value).__name__)
        names = [item.get("name") for item in value]
        labels = [name if isinstance(name, str) and name else number for number, name in enumerate(names, 1)]
        return [Fields(f"{self.where}: {key} {label}", item) for label, item in zip(labels, value, strict=True)]

    def close(self) -> None:
        """Raise InputError for the first key that was never taken."""
        for key in self._table:
            if key not in self._known:
                raise InputError(self.where, f"unexpected key {key!r}", allowed=did_you_mean(key, self._known))
