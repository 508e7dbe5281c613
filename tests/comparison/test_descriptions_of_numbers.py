"""Sentences state the numbers of the tables and attributes of the same result."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gainsay as gs
from gainsay.evaluation.explain import distinct_numbers

BASES = [1, 1.2, 1.5, 2, 2.5, 3, 4, 6, 8, 12, 16, 32]


@pytest.fixture(scope="module")
def trade_offs():
    """Seven models that rank by the expected gain given what they observe, each at another base of the gain.

    A document is a certain grade, or a chance of grade 4 with grade 0 otherwise, so the best order depends on the base.
    """
    rng = np.random.default_rng(0)
    queries = 1500
    chance = rng.uniform(0, 0.6, queries * 12)
    certain = rng.random(len(chance)) < 0.4
    grade = rng.integers(1, 4, len(chance))
    labels = np.where(certain, grade, np.where(rng.random(len(chance)) < chance, 4, 0))
    scores = {}
    for base in (1.05, 1.25, 1.5, 1.85, 2.3, 3.5, 8.0):
        scores[f"m{base}"] = np.where(certain, base**grade - 1, chance * (base**4 - 1))
    judgments = gs.Judgments(labels, group=[12] * queries)
    return gs.compare(scores, judgments, ["ndcg_linear@5", "ndcg_exp@5"], draws=400, segments=np.arange(queries) % 2)


def test_attribution_names_the_two_largest_contributions(trade_offs):
    attribution = trade_offs.attribution("m1.05", "m8.0")
    cells = attribution.frame()
    for metric, cells_of_metric in cells.groupby("metric"):
        line = next(line for line in attribution.text.splitlines() if line.strip().startswith(str(metric)))
        largest = cells_of_metric["contribution"].abs().nlargest(2).index
        for at in largest:
            cell = cells_of_metric.loc[at]
            assert f"{cell['contribution']:+.4f} from grade {cell['grade']} at rank {cell['ranks']}" in line


def test_path_counts_the_changes_that_it_leaves_out(trade_offs):
    path = trade_offs.gains(BASES)
    assert len(path.winners) > 6, "the population has too few changes of the best model"
    (left_out,) = re.findall(r"(\d+) further changes", path.text)
    named = re.findall(r"m[\d.]+ to b = ", path.text)
    assert int(left_out) + len(named) == len(path.winners)


def test_verdict_about_the_gain_names_the_best_models_at_both_ends(trade_offs):
    path = trade_offs.gains(BASES)
    assert path.verdict.kind == "genuine"
    sides = re.findall(r"at b = (\d+) it is ([^(]*?)(?:, (?=at)| \()", path.text)
    assert {int(base): tuple(re.findall(r"m[\d.]+\d", names)) for base, names in sides} == {
        base: path.best_sets[base] for base in (BASES[0], BASES[-1])
    }


def test_segment_states_its_bound(trade_offs):
    for part in trade_offs.segments.parts:
        assert part.verdict.kind != "agree"
        assert f"The safe choice is {part.verdict.safe_choice}, at most " in trade_offs.segments.text


def test_distinct_numbers_decrease():
    judgments = gs.Judgments([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], group=[10])
    by_heading: dict[str, list[float]] = {}
    for number in distinct_numbers(judgments, range(10, 0, -1)):
        by_heading.setdefault(number.heading, []).append(number.value)
    assert max(map(len, by_heading.values())) > 2
    for values in by_heading.values():
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(("changed", "is_few"), [(10, True), (60, False)])
def test_gate_mentions_few_differing_queries(changed, is_few):
    rng = np.random.default_rng(1)
    old = rng.uniform(0.3, 0.7, 400)
    new = old.copy()
    new[:changed] += rng.normal(0.02, 0.1, changed)
    comparison = gs.Comparison({"ndcg": np.stack([old, new], axis=1)}, ["old", "new"])
    result = comparison.against("old", margin=0.05)
    assert ("so the share of worse queries bounds the loss" in result.text) == is_few


def test_ranges_of_needed_queries_are_explained():
    rng = np.random.default_rng(2)
    old = rng.uniform(0.3, 0.7, 400)
    texts = {}
    for size in (60, 100, 200, 400):
        values = np.stack([old, old + rng.normal(0.006, 0.08, 400)], axis=1)[:size]
        result = gs.Comparison({"ndcg": values}, ["old", "new"]).against("old", margin=0.01, require="no_loss")
        (candidate,) = result.candidates
        if candidate.decision == "undecided":
            texts[str(candidate.queries_needed or "")] = result.text
    assert any(" to " in needed for needed in texts)
    for needed, text in texts.items():
        assert (f"needs about {needed} queries" in text) == bool(needed)
        assert ("sufficient with 50 % and with 80 % confidence" in text) == (" to " in needed)
