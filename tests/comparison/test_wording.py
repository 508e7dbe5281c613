"""Names and numbers in the sentences of verdicts, headlines, decisions, plans and fits. No test reads the sentences."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from tests.comparison.tables import verdict_of

import gainwise as gw

X, Y = "ndcg_linear@10", "ndcg_exp@10"


def numbers(text):
    """Return the distinct numbers of a text, except those in names of metrics."""
    return set(re.findall(r"-?\d[\d,.]*(?:e-\d+)?(?<![.,])", re.sub(f"{X}|{Y}|NDCG@10", "", text)))


@pytest.fixture(scope="module")
def verdict():
    """A verdict. Tests replace its fields."""
    rng = np.random.default_rng(0)
    made = verdict_of(rng.random((40, 2)), rng.random((40, 2)), models=["a", "b"], draws=200)
    return dataclasses.replace(
        made,
        queries=1234,
        flags=(),
        winners={X: "a", Y: "b"},
        means={X: {"a": 0.51234, "b": 0.5}, Y: {"a": 0.4, "b": 0.41111}},
        regrets={X: {"a": 0.0, "b": 0.01234}, Y: {"a": 0.01111, "b": 0.0}},
        regrets_upper={X: {"a": 0.02, "b": 0.03}, Y: {"a": 0.0321, "b": 0.05}},
        p_value=0.0123,
        price=0.01111,
        price_lower=0.00456,
        safe_choice="a",
        safe_regret=0.01111,
        safe_regret_upper=0.0321,
        alpha=0.1,
        margin=0.0,
        within_margin=False,
        material=True,
        common_best=("a", "b"),
        detectable=0.00789,
    )


THREE = {X: {"a": 0.0, "b": 0.3, "c": 0.2}, Y: {"a": 0.0, "b": 0.1, "c": 0.4}}
SAME = {X: "a", Y: "a"}
NONE = {X: {"a": 0.0, "b": 0.0}, Y: {"a": 0.0, "b": 0.0}}
LOWER = {X: {"a": 0.0, "b": 0.2345, "c": 0.15}, Y: {"a": 0.0, "b": 0.0712, "c": 0.3}}
GENUINE = "0.012 2 1,234 0.5123 0.4111 0.011 0.012 0.004 90 0.033 7.9"
UNRESOLVED = "2 1,234 0.5123 0.4111 0.011 0.012 0.033 7.9 90 0.008"


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("genuine", {}, GENUINE),
        ("genuine", {"margin": 0.002}, f"{GENUINE} 0.002"),
        ("genuine", {"margin": 0.05, "material": False, "within_margin": True}, f"{GENUINE} 0.05"),
        ("genuine", {"margin": 0.01, "material": False}, f"{GENUINE} 0.01"),
        (
            "agree",
            {"models": ("a", "b", "c"), "winners": SAME, "regrets": THREE, "regrets_lower": LOWER},
            "3 2 1,234 90 0.5123 0.4000 0.200 0.100 0.071",
        ),
        ("immaterial", {"margin": 0.06}, "0.06 2 1,234 90 0.5123 0.4111 0.011 0.012 0.033 7.9"),
        ("immaterial", {"regrets_upper": NONE}, "2 1,234 90 0.5123 0.4111 0.011 0.012 0"),
        ("unresolved", {}, UNRESOLVED),
        ("unresolved", {"common_best": ("b",)}, UNRESOLVED.replace(" 0.008", "")),
        ("unresolved", {"models": ("a", "b", "c")}, UNRESOLVED.replace("2 ", "3 ", 1)),
        (
            "unresolved",
            {"winners": SAME, "common_best": ("a",), "safe_regret": 0.0},
            "2 1,234 0.5123 0.4000 90 0.033 8.1",
        ),
        (
            "unresolved",
            {"queries": 1, "shortage": "At least 30 are required.", "detectable": np.inf},
            "2 1 30 0.5123 0.4111 0.011 0.012",
        ),
    ],
)
def test_verdict_has_all_its_numbers_and_no_others(verdict, kind, fields, expected):
    text = dataclasses.replace(verdict, kind=kind, **fields).text
    assert numbers(text) == set(expected.split())
    assert X in text
    assert Y in text


def values_of(first, second, queries=400, **options):
    """Return values with exactly these means."""
    rng = np.random.default_rng(0)
    tables = []
    for means in (first, second):
        noise = 0.01 * rng.normal(size=(queries, len(means)))
        tables.append(np.asarray(means) + noise - noise.mean(axis=0))
    names = [f"m{place}" for place in range(len(first))]
    return gw.Comparison(dict(zip((X, Y), tables, strict=True)), names, draws=1000, **options)


@pytest.mark.parametrize(
    ("first", "second", "options", "headline", "advice"),
    [
        ([0.6, 0.5, 0.59], [0.5, 0.6, 0.59], {}, "m0 linear m1 exponential Compromise m2 0.012 95", "0.008 0.006"),
        ([0.6, 0.5, 0.4], [0.6, 0.55, 0.3], {}, "m0 better 2 others linear exponential 95", "0.100 0.050"),
        ([0.5, 0.6], [0.5, 0.6], {"baseline": "m0"}, "Ship m1 m0 linear exponential", "m1 +0.100"),
        ([0.6, 0.5], [0.6, 0.5], {"baseline": "m0"}, "not m1 linear exponential", "m0 m1 \u22120.100"),
        ([0.5, 0.6], [0.5, 0.6], {}, "m1 better m0 95", "0.100"),
        ([0.5, 0.6], [0.6, 0.5], {"baseline": "m0"}, "not m1 exponential", "+0.100 \u22120.100"),
        ([0.5, 0.6], [0.5, 0.5001], {"baseline": "m0"}, "Undecided m1 NDCG@10", "m0 +0.100 +0.0001"),
        ([0.5, 0.5001], [0.5, 0.5001], {}, "2 of m1 safest 95", "m0 or m1"),
        ([0.5, 0.6], [0.5, 0.5001], {}, "Safest of 2 m1 at worst 95", "Only m1"),
        ([0.5, 0.5004, 0.3], [0.5004, 0.5, 0.3], {}, "Safest 3 m0 0.003", "m0 or m1"),
        ([0.5, 0.5004], [0.5004, 0.5], {"margin": 0.02}, "Choose m0 0.003 0.02 95", "at most 0.02"),
        ([0.6, 0.5], [0.5, 0.6], {"margin": 0.05}, "m0 linear m1 exponential", "exceeds 0.05 0.006"),
        ([0.6, 0.5], [0.5, 0.6], {"margin": 0.2}, "m0 linear m1 exponential", "at most 0.2"),
        ([0.6, 0.5], [0.6, 0.5], {"queries": 12}, "No choice yet 12 30", "m0"),
        ([0.5, 0.5001, 0.5002], [0.5002, 0.5001, 0.5], {}, "3 of 95", "m0 m1 m2"),
        ([0.5], [0.5], {}, "One model", ""),
    ],
)
def test_headline_and_advice_have_the_names_and_numbers(first, second, options, headline, advice):
    text = values_of(first, second, **options).to_markdown()
    title, rest = text.split("\n", 1)
    assert [word for word in headline.split() if word not in title] == []
    assert [word for word in advice.split() if word not in rest.partition("|")[0]] == []


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
