"""Sentences state the numbers of the tables and attributes of the same result."""

from __future__ import annotations

import numpy as np
import pytest
from tests.comparison.populations import panel_of

import gainwise as gw
from gainwise.evaluation.explain import distinct_numbers


def test_distinct_numbers_decrease():
    judgments = gw.Judgments([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], group=[10])
    by_heading: dict[str, list[float]] = {}
    for number in distinct_numbers(judgments, range(10, 0, -1)):
        by_heading.setdefault(number.heading, []).append(number.value)
    assert max(map(len, by_heading.values())) > 2
    for values in by_heading.values():
        assert values == sorted(values, reverse=True)


def test_equal_models_without_a_range_need_no_number_of_queries():
    """The models do not differ on any query. Without a range, a single query could be a large loss."""
    equal = [SAMPLE[0], SAMPLE[0]]
    for ranges, is_needed in (({}, False), ({"x": (0, 1)}, True)):
        result = compared(*equal, metrics="x", ranges=ranges).against("m0", 0.01, require="no_loss")
        (candidate,) = result.candidates
        assert (candidate.queries_needed is not None) == is_needed
        assert ("To ship with 80 % probability" in result.text) == is_needed


def compared(*columns, metrics="xy", **options):
    values = np.stack(columns, axis=1)
    models = [f"m{number}" for number in range(len(columns))]
    return gw.Comparison(dict.fromkeys(metrics, values), models, **{"draws": 200, **options})


SAMPLE = np.random.default_rng(3).uniform(0.3, 0.6, (4, 40))


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
