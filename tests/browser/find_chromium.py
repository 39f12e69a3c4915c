"""Where Chromium is; a test that needs it fails where it is not, and says how to get it."""

from __future__ import annotations

import os
import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_HELP = (
    "no Chromium found: install it (Debian and Ubuntu: apt-get install --no-install-recommends chromium) "
    "or set DSE_CHROMIUM to the path of a Chromium or Chrome binary"
)


def chromium_path() -> str:
    """DSE_CHROMIUM, or a Chromium on the path; fails the test where there is none."""
    named = os.environ.get("DSE_CHROMIUM", "")
    found = named if named else next(filter(None, map(shutil.which, _NAMES)), "")
    if not found or not os.access(found, os.X_OK):
        pytest.fail(f"{_HELP}{f' (DSE_CHROMIUM is {named})' if named else ''}", pytrace=False)
    return found
