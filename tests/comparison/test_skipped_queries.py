"""Each metric is compared on its own queries, and both together on their common queries."""

import math

import numpy as np
import pytest
from tests.comparison.populations import two_sided, variance_form
from tests.comparison.tables import pairs_table, verdict_of

import gainwise as gw
from gainwise import Comparison

FULL, SKIPPING = "ndcg_linear@5", "map(empty=skip,min_label=3)"
QUERIES, DOCUMENTS = 240, 8


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(5)
    labels = rng.choice(4, size=QUERIES * DOCUMENTS, p=[0.5, 0.3, 0.14, 0.06])
    judgments = gw.Judgments(labels, group=[DOCUMENTS] * QUERIES, weight=rng.integers(0, 4, QUERIES))
    scores = {
        name: labels * slope + rng.normal(size=len(labels)) for name, slope in zip("abc", (0.3, 0.5, 0.6), strict=True)
    }
    return judgments, scores


@pytest.fixture(scope="module")
def comparison(judged):
    judgments, scores = judged
    return gw.compare(scores, judgments, [FULL, SKIPPING, "mrr"], draws=4000)


@pytest.fixture(scope="module")
def has(judged):
    """Return the queries of each metric, from the labels."""
    judgments, _ = judged
    relevant = judgments.labels.reshape(QUERIES, DOCUMENTS).max(axis=1) >= 3
    weighty = judgments.weights > 0
    return {FULL: weighty, SKIPPING: weighty & relevant, "mrr": weighty}


def values(judged, metric, model):
    judgments, scores = judged
    return gw.evaluate(metric, judgments, scores[model]).per_query[:, 0]


def weighted(x, w):
    """Return mean and standard error of a ratio of sums, by the matrix of its quadratic form."""
    shares = w / w.sum()
    return shares @ x, math.sqrt(x @ variance_form(shares) @ x)


class TestMeans:
    @pytest.mark.parametrize("metric", [FULL, SKIPPING, "mrr"])
    def test_means_are_those_of_evaluate_whatever_the_other_metrics_skip(self, judged, comparison, metric):
        judgments, scores = judged
        for model in "abc":
            expected = gw.evaluate(metric, judgments, scores[model]).mean[metric]
            assert comparison.leaderboard.loc[model, metric] == pytest.approx(expected, rel=1e-12)

    def test_queries_are_counted(self, comparison, has):
        counts = {metric: int(own.sum()) for metric, own in has.items()}
        assert 30 < counts[SKIPPING] < counts[FULL] < QUERIES
        assert comparison.counts.by_metric == counts
        assert comparison.counts.any == counts[FULL]
        for metric, count in counts.items():
            assert set(comparison.leaderboard[f"{metric} queries"]) == {count}


class TestIntervals:
    def test_errors_of_means_are_those_of_the_own_queries(self, judged, comparison, has):
        # Simultaneous intervals have one critical value per metric, so widths are proportional to standard errors.
        judgments, _ = judged
        for metric, own in has.items():
            errors = np.array([weighted(values(judged, metric, m)[own], judgments.weights[own])[1] for m in "abc"])
            half = (
                comparison.leaderboard.loc[list("abc"), f"{metric} upper"]
                - comparison.leaderboard.loc[list("abc"), metric]
            )
            ratio = half.to_numpy() / errors
            assert np.ptp(ratio) < 1e-9
            assert 1.96 < ratio[0] < 2.6  # between one normal interval and three by Bonferroni

    @pytest.mark.parametrize("metric", [FULL, SKIPPING, "mrr"])
    def test_pairs_of_each_metric_are_on_its_own_queries(self, judged, comparison, has, metric):
        judgments, _ = judged
        w = judgments.weights[has[metric]].astype(float)
        for row in comparison.pairs.to_dict("records"):
            d = (values(judged, metric, row["model_x"]) - values(judged, metric, row["model_y"]))[has[metric]]
            mean, error = weighted(d, w)
            assert row[f"difference {metric}"] == pytest.approx(mean, abs=1e-12)
            assert row[f"p_value {metric}"] == pytest.approx(two_sided(d, w / w.sum()), rel=1e-7)
            assert row[f"wins {metric}"] == (d > 1e-12).sum()
            half = row[f"upper {metric}"] - row[f"difference {metric}"]
            assert 1.96 < half / error < 2.9  # between one normal interval and six by Bonferroni, with skewness
            assert row[f"ties {metric}"] + row[f"wins {metric}"] + row[f"losses {metric}"] == has[metric].sum()


class TestTogether:
    def test_the_verdict_is_that_of_the_common_queries(self, judged, comparison, has):
        judgments, _ = judged
        own = has[SKIPPING]
        tables = {m: np.stack([values(judged, m, model)[own] for model in "abc"], axis=1) for m in (FULL, SKIPPING)}
        expected = verdict_of(
            *tables.values(),
            ["a", "b", "c"],
            judgments.weights[own],
            draws=4000,
            names=(FULL, SKIPPING),
            ranges=dict.fromkeys((FULL, SKIPPING), (0, 1)),
        )
        found = comparison.verdict
        for field in ("kind", "winners", "common_best", "best_sets", "safe_choice", "queries"):
            assert getattr(found, field) == getattr(expected, field)
        for field in ("p_value", "price", "price_lower", "safe_regret", "safe_regret_upper", "detectable"):
            assert getattr(found, field) == pytest.approx(getattr(expected, field), rel=1e-9)
        for field in ("means", "regrets", "regrets_upper"):
            for metric in (FULL, SKIPPING):
                assert getattr(found, field)[metric] == pytest.approx(getattr(expected, field)[metric], rel=1e-9)
        assert comparison.verdict.queries == own.sum()
        assert comparison.verdict.left_out == {FULL: int((has[FULL] & ~own).sum()), SKIPPING: 0}

    def test_conflicts_go_by_the_common_queries(self):
        # Under "a", the second model is better only because of the queries that "b" skips.
        rng = np.random.default_rng(0)
        noise = 0.01 * rng.normal(size=(80, 2))
        a = np.where(np.arange(80)[:, None] < 40, [1.0, 0.9], [0.0, 0.9]) + noise
        b = np.where(np.arange(80)[:, None] < 40, [0.5, 0.6], np.nan) + noise
        (row,) = pairs_table({"a": a, "b": b}, ["x", "y"], draws=400).to_dict("records")
        assert row["difference a"] == pytest.approx((a[:, 0] - a[:, 1]).mean())
        assert row["difference a"] < 0
        assert row["common difference a"] == pytest.approx((a[:40, 0] - a[:40, 1]).mean())
        assert row["common difference a"] > 0 > row["common difference b"] == row["difference b"]
        assert row["conflict"]
        assert row["p_adjusted"] < 0.01
        assert row["differing"] == 40

    def test_contradictory_queries_are_common_ones(self, judged, comparison, has):
        judgments, _ = judged
        table = comparison.queries("a", "b", most=QUERIES)
        own = has[SKIPPING]
        one, other = (values(judged, m, "a") - values(judged, m, "b") for m in (FULL, SKIPPING))
        with np.errstate(invalid="ignore"):
            expected = np.flatnonzero(own & (one * other < 0))
        assert sorted(table["query"]) == expected.tolist()
        relative = judgments.weights / judgments.weights[(judgments.weights >= 0) & ~np.isnan(other)].mean()
        pull = {q: np.sign(one[q]) * min(abs(one[q]), abs(other[q])) * relative[q] for q in expected}
        assert dict(zip(table["query"], table["contradiction strength"], strict=True)) == pytest.approx(pull)

    def test_attribution_between_both_is_on_the_common_queries(self, judged):
        judgments, scores = judged
        skipping = "ndcg_exp(empty=skip)@5"
        labels = judgments.labels.reshape(QUERIES, DOCUMENTS).copy()
        labels[:60] = 0
        judgments = gw.Judgments(labels.ravel(), group=[DOCUMENTS] * QUERIES)
        why = gw.compare(scores, judgments, [FULL, skipping]).attribution("a", "b")
        own = labels.max(axis=1) > 0
        for metric in (FULL, skipping):
            one, other = (gw.evaluate(metric, judgments, scores[name]).per_query[own, 0] for name in "ab")
            assert why.difference[metric] == pytest.approx((one - other).mean(), abs=1e-12)
            assert why.grades_by_ranks.loc[metric].to_numpy().sum() == pytest.approx(why.difference[metric], abs=1e-12)
        assert (why.queries, why.left_out) == (own.sum(), (~own).sum())


class TestReversedOrder:
    """Under "a", the order of the models is reversed on the queries that "b" skips."""

    def test_results_are_those_of_the_own_and_of_the_common_queries(self):
        rng = np.random.default_rng(0)
        common = np.arange(80)[:, None] < 40
        a = np.where(common, [1.0, 0.9, 0.8], [0.0, 0.9, 1.0]) + 0.01 * rng.normal(size=(80, 3))
        b = np.where(common, [0.9, 0.6, 0.7], np.nan) + 0.01 * rng.normal(size=(80, 3))
        turned = Comparison({"a": a, "b": b}, ["x", "y", "z"], draws=400)
        assert turned.winners == {"a": "z", "b": "x"}
        assert turned.verdict.winners == {"a": "x", "b": "x"}
        assert turned.pairs.query("conflict")[["model_x", "model_y"]].to_numpy().tolist() == [["y", "z"]]
        assert turned.verdict.left_out == {"a": 40, "b": 0}
        assert turned.verdict.flags[0].code == "left-out queries"
        for metric, means in turned.verdict.means.items():
            assert means["x"] != turned.leaderboard.loc["x", metric] or not turned.verdict.left_out[metric]
