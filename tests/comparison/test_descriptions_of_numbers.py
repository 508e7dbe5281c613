"""Sentences state the numbers of the tables and attributes of the same result."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.comparison.populations import panel_of

import gainwise as gw
from gainwise.evaluation.explain import distinct_numbers

BASES = [1, 1.2, 1.5, 2, 2.5, 3, 4, 6, 8, 12, 16, 32]


@pytest.fixture(scope="module")
def trade_offs():
    """Seven models that rank by the expected gain of an observation, each for another base of the gain.

    A document has a certain grade, or grade 4 with a given probability and grade 0 otherwise. The best order
    depends on the base.
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
    judgments = gw.Judgments(labels, group=[12] * queries)
    return gw.compare(scores, judgments, ["ndcg_linear@5", "ndcg_exp@5"], draws=400, segments=np.arange(queries) % 2)


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
    judgments = gw.Judgments([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], group=[10])
    by_heading: dict[str, list[float]] = {}
    for number in distinct_numbers(judgments, range(10, 0, -1)):
        by_heading.setdefault(number.heading, []).append(number.value)
    assert max(map(len, by_heading.values())) > 2
    for values in by_heading.values():
        assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("changed", "ranges", "bound"),
    [
        (10, {"ndcg": (0, 1)}, "their share bounds"),
        (10, {}, "only a range of the metric (ranges=) could bound"),
        (60, {}, None),
    ],
)
def test_gate_mentions_few_differing_queries(changed, ranges, bound):
    rng = np.random.default_rng(1)
    old = rng.uniform(0.3, 0.7, 400)
    new = old.copy()
    new[:changed] += rng.normal(0.02, 0.1, changed)
    comparison = gw.Comparison({"ndcg": np.stack([old, new], axis=1)}, ["old", "new"], ranges=ranges)
    result = comparison.against("old", margin=0.05)
    assert ("Fewer than 30 queries differ under ndcg" in result.text) == (bound is not None)
    assert bound is None or f"under ndcg, so {bound} the loss." in result.text
    assert ("not bounded" in result.text) == ("ranges=" in result.text) == (bound is not None and "only" in bound)


def test_equal_models_without_a_range_need_no_number_of_queries():
    """The models do not differ on any query. Without a range, a single query could be a large loss."""
    equal = [SAMPLE[0], SAMPLE[0]]
    for ranges, is_needed in (({}, False), ({"x": (0, 1)}, True)):
        result = compared(*equal, metrics="x", ranges=ranges).against("m0", 0.01, require="no_loss")
        (candidate,) = result.candidates
        assert (candidate.queries_needed is not None) == is_needed
        assert ("To ship with 80 % probability" in result.text) == is_needed


def test_ranges_of_needed_queries_are_explained():
    rng = np.random.default_rng(2)
    old = rng.uniform(0.3, 0.7, 400)
    texts = {}
    for size in (60, 100, 200, 400):
        values = np.stack([old, old + rng.normal(0.006, 0.08, 400)], axis=1)[:size]
        result = gw.Comparison({"ndcg": values}, ["old", "new"]).against("old", margin=0.01, require="no_loss")
        (candidate,) = result.candidates
        if candidate.decision == "undecided":
            texts[str(candidate.queries_needed or "")] = result.text
    assert any(" to " in needed for needed in texts)
    for needed, text in texts.items():
        assert (f"needs about {needed} queries" in text) == bool(needed)
        assert ("sufficient with 50 % and with 80 % confidence" in text) == (" to " in needed)


def compared(*columns, metrics="xy", **options):
    values = np.stack(columns, axis=1)
    models = [f"m{number}" for number in range(len(columns))]
    return gw.Comparison(dict.fromkeys(metrics, values), models, **{"draws": 200, **options})


SAMPLE = np.random.default_rng(3).uniform(0.3, 0.6, (4, 40))


def test_no_look_follows_the_last_planned_one():
    for looks, stated in (((20, 40), "This was the last planned"), ((20, 60), "The next look is planned at 60")):
        assert stated in compared(*SAMPLE[:2]).against("m0", looks=looks).sentence("m1")


def test_repeats_that_no_number_of_queries_replaces():
    """The error of the mean of 3 repeats is 0.4 for any number of queries."""
    result = gw.plan(0.01, query=0.1, repeat=0.5, repeats=[3])
    assert result.options[0].queries is None


def test_one_model_and_equal_models_have_no_change_along_the_gain():
    judgments, scores = gw.Judgments([2, 1, 0, 1] * 40, group=[4] * 40), np.random.default_rng(0).random(160)
    alone, same = (gw.compare(dict.fromkeys(names, scores), judgments).gains() for names in ("A", "AB"))
    assert alone.text.endswith("A is the only model.")
    assert (same.regret == 0).all()
    assert set(same.best_sets.values()) == {("A", "B")}


def test_segments_beyond_the_first_are_counted():
    """A is best in every other segment and B in the rest, so each segment has one contrast."""
    segments, first = np.repeat(np.arange(10), 45), np.random.default_rng(0).uniform(0.3, 0.6, 450)
    second = first + np.where(segments % 2, 0.2, -0.2) + np.random.default_rng(1).normal(0, 0.01, 450)
    text = compared(first, second, ranges={}, segments=segments).segments.text
    assert text.count("Under both metrics, ") == text.count("Where segment is ") == 8
    assert "There are 2 more such contrasts." in text
    assert "The table contains 2 more segments." in text
    text = compared(first[:405], second[:405], ranges={}, segments=segments[:405]).segments.text
    assert "There is 1 more such contrast." in text
    assert "The table contains 1 more segment." in text


def test_models_with_bad_repeats_are_quoted():
    values, partial = np.ones((40, 3)), np.ones((40, 3))
    partial[5, 0] = np.nan
    for second in (partial, values[:30], values[None]):
        with pytest.raises(ValueError, match="'B'"):
            panel_of({"x": [values, second]}, ["A", "B"])


def test_attribution_names_close_labels_exactly_and_counts_queries_left_out():
    labels = 1e6 + 0.01 * np.tile(np.arange(40), 10)
    judgments = gw.Judgments(np.concatenate([np.zeros(100), labels]), group=[20] * 25)
    models = {name: np.random.default_rng(ord(name)).random(500) for name in "AB"}
    attribution = gw.compare(models, judgments, ["ndcg_linear(empty=skip)@5", "ndcg_linear@10"]).attribution("A", "B")
    assert "over 20 queries (5 more without a value" in attribution.text
    assert "1000000.04 to 1000000.07" in attribution.grades_by_ranks.index.get_level_values("grade")
