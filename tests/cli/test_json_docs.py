"""docs/json.md shows what the commands print: every example is run again and its keys are compared."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import pytest

from tests.cli.cli_process import ROOT

EXAMPLES = re.findall(
    r"^`dse ([^`]+ --json)`[^\n]*\n\n```json\n(.*?)^```$",
    (ROOT / "docs" / "json.md").read_text("utf-8"),
    re.MULTILINE | re.DOTALL,
)
TABLES = {"inputs", "chosen", "sources", "dsp_cost", "violations", "phases", "tiling", "lost_cycles"}
"""Objects whose keys are names of the user's things, cut in the examples."""
BRIEF = {"pareto", "papers"}
"""Lists whose estimates are cut in the examples."""


def check(shown: object, real: object, where: str) -> None:
    """``shown`` has the keys of ``real`` and values of the same JSON types."""
    if isinstance(shown, dict):
        assert isinstance(real, dict), where
        cut = where.rsplit(".", 1)[-1] in TABLES or any(f".{name}[].estimate" in where for name in BRIEF)
        assert set(shown) <= set(real) if cut else set(shown) == set(real), where
        for key, value in shown.items():
            check(value, real[key], f"{where}.{key}")
    elif isinstance(shown, list):
        assert isinstance(real, list), where
        for one, other in zip(shown, real, strict=False):
            check(one, other, f"{where}[]")
        assert len(shown) <= len(real), where
    else:
        number = isinstance(shown, int | float) and not isinstance(shown, bool)
        assert isinstance(real, int | float if number else type(shown)), where


def test_every_verb_has_an_example():
    assert {words.split()[0] for words, _ in EXAMPLES} == {
        "estimate",
        "sweep",
        "validate",
        "list",
        "show",
        "import",
        "offload",
        "train",
    }


@pytest.mark.parametrize(("words", "shown"), EXAMPLES)
def test_an_example_has_the_keys_of_the_real_output(dse, tmp_path, monkeypatch, words, shown):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "tests" / "fixtures" / "onnx" / "mlp.onnx", tmp_path)
    check(json.loads(shown), dse(*shlex.split(words)).json, "")
