"""LightGBM's built-in ndcg and map against ours under `convention="lightgbm"`.

A Booster that has grown no tree evaluates the initial scores of its dataset, in 64 bits, so any ranking can be given.
"""

from __future__ import annotations

import numpy as np
import pytest

import gainsay as gs

lgb = pytest.importorskip("lightgbm")

CUTOFFS = (1, 2, 3, 5, 10, 40)
NAMES = [f"{name}@{k}" for name in ("ndcg", "map") for k in CUTOFFS]


def built_in(labels, sizes, scores, weight=None):
    """The values of LightGBM's metrics, by name, and the scores that it saw."""
    quiet = {"verbose": -1, "num_threads": 1}
    dataset = lgb.Dataset(
        np.zeros((len(labels), 1)), labels, group=sizes, weight=weight, init_score=scores, params=quiet
    )
    options = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": CUTOFFS}
    seen = []

    def look(preds, _):
        seen.append(preds.copy())
        return "looked", 0.0, True

    results = lgb.Booster({**options, **quiet}, dataset).eval_train(feval=look)
    return {name: value for _, name, value, _ in results if name != "looked"}, seen[0]


def ours(labels, sizes, scores, weight=None):
    metrics = gs.parse_metrics(NAMES, convention="lightgbm")
    result = gs.evaluate(metrics, gs.Judgments(labels, group=sizes, weight=weight), scores)
    return dict(zip(NAMES, result.mean.values(), strict=True))


def test_library_evaluates_exactly_the_scores_given(grouped):
    data = grouped(1)
    _, seen = built_in(data.labels, data.sizes, data.scores)
    assert np.array_equal(seen, data.scores)


@pytest.mark.parametrize("seed", range(8))
def test_means_over_queries_with_ties_and_empty_queries(grouped, seed):
    data = grouped(seed)
    expected, _ = built_in(data.labels, data.sizes, data.scores)
    assert ours(data.labels, data.sizes, data.scores) == pytest.approx(expected, rel=1e-12, abs=0)


def test_each_query_alone(grouped):
    data = grouped(31, queries=40)
    metrics = gs.parse_metrics(NAMES, convention="lightgbm")
    per_query = gs.evaluate(metrics, data.judgments, data.scores).per_query
    expected = [list(built_in(labels, [len(labels)], scores)[0].values()) for labels, scores in data.queries()]
    np.testing.assert_allclose(per_query, expected, rtol=1e-12)


def test_scores_that_differ_in_the_last_bit_only(grouped):
    data = grouped(9)
    rng = np.random.default_rng(9)
    scores = np.where(rng.random(len(data.scores)) < 0.5, data.scores, np.nextafter(data.scores, 9))
    expected, _ = built_in(data.labels, data.sizes, scores)
    assert ours(data.labels, data.sizes, scores) == pytest.approx(expected, rel=1e-12, abs=0)


def test_labels_up_to_the_end_of_its_gain_table(grouped):
    data = grouped(3, grades=31)
    expected, _ = built_in(data.labels, data.sizes, data.scores)
    assert ours(data.labels, data.sizes, data.scores) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("seed", range(4))
def test_document_weights(grouped, seed):
    data = grouped(seed + 100, every_nth_empty=None)
    data.labels[np.cumsum(data.sizes) - 1] = 1  # no empty query, where the library slips
    weight = np.random.default_rng(seed).uniform(0.1, 3, len(data.labels))
    expected, _ = built_in(data.labels, data.sizes, data.scores, weight)
    assert ours(data.labels, data.sizes, data.scores, weight) == pytest.approx(expected, rel=1e-12, abs=0)


def test_weighted_map_with_empty_queries(grouped):
    data = grouped(5)
    weight = np.random.default_rng(5).uniform(0.1, 3, len(data.labels))
    expected, _ = built_in(data.labels, data.sizes, data.scores, weight)
    found = ours(data.labels, data.sizes, data.scores, weight)
    for k in CUTOFFS:
        assert found[f"map@{k}"] == pytest.approx(expected[f"map@{k}"], rel=1e-12, abs=0)


class TestWeightOfEmptyQueries:
    """Weights 0.25 and 0.75: one query ranked 0 1, one without relevant documents, which counts as 1."""

    labels, sizes, scores, weight = [0.0, 1.0, 0.0, 0.0], [2, 2], [2.0, 1.0, 2.0, 1.0], [0.25, 0.25, 0.75, 0.75]
    worst_order = 1 / np.log2(3)

    def test_ours_is_the_weighted_mean(self):
        found = ours(self.labels, self.sizes, self.scores, self.weight)["ndcg@2"]
        assert found == pytest.approx((0.25 * self.worst_order + 0.75 * 1) / (0.25 + 0.75), rel=1e-15, abs=0)

    def test_the_library_adds_one_instead_of_the_weight(self):
        expected, _ = built_in(self.labels, self.sizes, self.scores, self.weight)
        assert expected["ndcg@2"] == pytest.approx((0.25 * self.worst_order + 1) / (0.25 + 0.75), rel=1e-12, abs=0)


def test_the_library_rewards_the_order_of_the_file_where_all_scores_are_equal():
    labels, sizes, scores = [3.0, 2.0, 1.0, 0.0], [4], [0.0, 0.0, 0.0, 0.0]
    expected, _ = built_in(labels, sizes, scores)
    assert expected["ndcg@10"] == 1.0
