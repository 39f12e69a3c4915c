"""What every page has around its sections: styles, the script that draws figures, a policy that allows no others."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from importlib import resources
from pathlib import Path
from string import Template

from plotly.offline import get_plotlyjs

from dse.reports.text import escape

__all__ = ["fill_page", "read_part", "write_page"]


def fill_page(*, title: str, head: str, answers: str, panels: str, notes: str, version: str) -> str:
    """A whole page. ``title`` and ``version`` are text; the others are HTML, ``answers`` list items."""
    template = read_part("page.html")
    plotly = get_plotlyjs()
    scripts = [plotly, *re.findall(r"<script>(\n.*?)</script>", template, re.DOTALL)]
    return Template(template).substitute(
        title=escape(title),
        hashes=" ".join(f"'sha256-{_digest(text)}'" for text in scripts),
        css=read_part("page.css"),
        plotly=plotly,
        head=head,
        answers=answers,
        panels=panels,
        notes=notes,
        version=escape(version),
    )


def read_part(name: str) -> str:
    """A file of this package."""
    return (resources.files("dse.reports") / name).read_text(encoding="utf-8")


def write_page(text: str, path: Path) -> None:
    """Write a page to ``path``, whole or not at all. Raises OSError where the file cannot be written."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
