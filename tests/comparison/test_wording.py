"""Names and numbers in the sentences of verdicts, headlines, decisions, plans and fits. No test reads the sentences."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import gainwise as gw

X, Y = "ndcg_linear@10", "ndcg_exp@10"


def values_of(first, second, queries=400, **options):
    """Return values with exactly these means."""
    rng = np.random.default_rng(0)
    tables = []
    for means in (first, second):
        noise = 0.01 * rng.normal(size=(queries, len(means)))
        tables.append(np.asarray(means) + noise - noise.mean(axis=0))
    names = [f"m{place}" for place in range(len(first))]
    return gw.Comparison(dict(zip((X, Y), tables, strict=True)), names, draws=1000, **options)


WITHOUT_OBJECT = re.compile(
    r"\bproven\b|\b(by|than|as|not) chance\b|\bdoes not matter\b|\bcannot matter\b|\bnegligible\b", re.I
)
"""Words that state more than a test shows, or leave out of what."""


def texts_of(path):
    """Yield the strings of a module that people read: all but docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def test_no_sentence_claims_more_than_a_test_shows():
    assert WITHOUT_OBJECT.search("This is not proven.")
    root = Path(gw.__file__).parent
    modules = [path for name in ("comparison", "report", "experiment", "cli") for path in (root / name).rglob("*.py")]
    assert len(modules) > 40
    found = {path.name: text for path in modules for text in texts_of(path) if WITHOUT_OBJECT.search(text)}
    assert found == {}


def test_bounds_in_the_advice_are_rounded_to_the_safe_side():
    found = values_of([0.6, 0.5, 0.59], [0.5, 0.6, 0.59])
    text = found.to_markdown().replace("\u00a0", " ")
    most, least = (float(re.search(rf"at {word} (0\.\d+)", text)[1]) for word in ("worst", "least"))
    assert 0 <= most - found.verdict.safe_regret_upper < 0.001
    assert 0 <= found.verdict.price_lower - least < 0.001


@pytest.mark.parametrize("unit", [0.1, 100.0])
def test_each_of_two_unlike_metrics_has_its_own_bound(unit):
    values = np.random.default_rng(0).random((200, 3))
    verdict = gw.Comparison({"ndcg": values, "revenue": unit * values}, ["a", "b", "c"], draws=200).verdict
    stated = re.search(r"up to (\S+) ndcg(?: \(.*?\))? and (\S+) revenue(?: \(.*?\))? behind", verdict.text)
    for metric, bound in zip(verdict.metrics, stated.groups(), strict=True):
        assert float(bound) == pytest.approx(verdict.regrets_upper[metric][verdict.safe_choice], abs=0.001)
        assert float(bound) >= verdict.regrets_upper[metric][verdict.safe_choice]


@pytest.mark.parametrize(("size", "percentages"), [(0.01, 2), (0.9, 1)])
def test_a_percentage_before_the_confidence_is_a_small_share(size, percentages):
    """A bound of half the best mean or more has no share, which would look like the confidence, "(95 %)"."""
    rng = np.random.default_rng(0)
    old = rng.uniform(0.3, 0.6, 40)
    table = np.stack([old, old + rng.choice([-1, 1], 40) * size], axis=1)
    verdict = gw.Comparison({"ndcg_linear@10": table, "ndcg_exp@10": table}, ["A", "B"], margin=0.001).verdict
    share = verdict.safe_regret_upper / max(verdict.means["ndcg_linear@10"].values())
    assert (share < 0.5) == (percentages == 2)
    headline = verdict.text.partition(" behind (95 %)")[0]
    assert "may be up to" in headline
    assert headline.count("%") + 1 == percentages
