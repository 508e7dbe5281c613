"""Every metric that the package registers is defined in plain Python, documented, and listed by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gainwise as gw
from gainwise.metrics.names import BUILT_IN as OURS

ROOT = Path(__file__).parents[2]
DEFINED_APART = {"judged": "tests/metrics/test_judged.py"}
"""Metrics that need more than labels and scores, and where they are held against a plain definition."""


def page(path):
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", OURS)
def test_there_is_a_definition_in_plain_python(name, definitions):
    """Values, expectations over ties and random queries are compared with it."""
    if name in DEFINED_APART:
        assert "def test_" in page(DEFINED_APART[name])
        return
    assert name in {re.match(r"\w+", defined)[0] for defined in definitions.METRICS}


@pytest.mark.parametrize("metric", sorted({metric.__name__ for metric in OURS.values()}))
def test_the_class_is_public_and_has_an_entry_in_the_reference(metric):
    assert metric in gw.__all__
    assert metric in gw.metrics.__all__
    entries = page("docs/api/index.md").partition("\n## Metrics\n")[2].partition("\n## ")[0]
    assert f"- `{metric}`" in entries.splitlines()
