"""Evaluation: scores, infinities, means, and invariances."""

import math
import pickle
import tracemalloc
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.metrics.one_query import value as one

import gainwise as gw
from gainwise._common.arrays import compute_means
from gainwise.evaluation import groups
from gainwise.evaluation.evaluator import weighted
from gainwise.ranking import compiled

INF = np.inf


class TestScores:
    judgments = gw.Judgments([0, 1, 2, 0, 1], qid=["a", "a", "b", "b", "b"])

    @pytest.mark.parametrize("make", [tuple, np.float32, np.int8, np.float16, lambda values: np.array(values, object)])
    def test_types_of_scores(self, make):
        found = gw.evaluate("mrr", self.judgments, make([5, 1, 1, 9, 0])).per_query
        assert found.tolist() == [[1 / 2], [1 / 2]]  # the first relevant documents have scores 1 and 1

    def test_scores_are_not_changed(self):
        scores = np.array([5.0, -INF, 0.0, 9.0, 3.0])
        before = scores.copy()
        scores.flags.writeable = False
        gw.evaluate(["mrr", "ndcg_exp(ties=order,scores=float32)"], self.judgments, scores)
        assert np.array_equal(scores, before)


class TestInfinities:
    @pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
    @pytest.mark.parametrize(
        "name", ["ndcg_exp", "map", "mrr", "precision", "recall", "hit", "rbp", "err(max_label=3)"]
    )
    def test_nothing_retrieved_is_zero(self, name, ties):
        metric = replace(gw.parse_metrics(name)[0], ties=ties)
        assert one(metric, [3, 0, 1], [-INF] * 3) == 0.0

    def test_minus_infinity_is_not_retrieved_but_counts_for_the_ideal(self):
        assert one("ndcg_linear", [1, 1], [1, -INF]) == pytest.approx(1 / (1 + 1 / math.log2(3)), rel=1e-15, abs=0)
        assert one("recall", [1, 1], [-INF, np.finfo(np.float64).min]) == 1 / 2

    def test_plus_infinity_ranks_first_and_ties(self):
        assert one("mrr", [0, 1, 0], [np.finfo(np.float64).max, INF, 0]) == 1.0
        assert one("mrr", [0, 1], [INF, INF]) == (1 + 1 / 2) / 2


class TestFloat32Scores:
    @pytest.mark.parametrize("scores", [(1.0, 1.0 + 2.0**-40), (1e300, 1e200)])
    def test_scores_that_are_equal_in_32_bits_are_ties(self, scores):
        assert one("mrr(scores=float32)", [0, 1], scores) == (1 + 1 / 2) / 2
        assert one("mrr", [0, 1], sorted(scores)) == 1.0

    def test_finite_scores_out_of_range_of_32_bits_are_retrieved(self):
        assert one("recall(scores=float32,ties=worst)@1", [1, 0, 0], [-3.5e38, -INF, -INF]) == 1

    @pytest.mark.parametrize("beside", [0.0, -INF])
    def test_too_low_for_32_bits_does_not_depend_on_other_queries(self, beside):
        judgments = gw.Judgments([1, 0, 1], group=[2, 1])
        found = gw.evaluate("recall(scores=float32)", judgments, [-1e300, 1, beside])
        assert found.per_query[0, 0] == one("recall(scores=float32)", [1, 0], [-1e300, 1])


class TestMean:
    @pytest.mark.parametrize("weight", [[2, 2, 2], [2, 2, 2, 2]], ids=["queries", "documents"])
    @pytest.mark.parametrize("convention", [None, "lightgbm", "xgboost", "trec_eval"])
    def test_equal_weights_change_nothing_for_a_query_without_documents(self, convention, weight):
        with_weights, without = (
            gw.evaluate(
                "map@2", gw.Judgments([1, 0, 0, 1], group=[2, 0, 2], weight=given), [1, 2, 2, 1], convention=convention
            )
            for given in (weight, None)
        )
        assert list(with_weights.mean.values()) == list(without.mean.values())

    @pytest.mark.parametrize("queries", [1, 3, 1000])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("empty", [0, 1, "skip"])
    def test_against_exact_sums(self, queries, weighted, empty):
        rng = np.random.default_rng(queries)
        weight = rng.lognormal(0, 2, queries) if weighted else None
        judgments = gw.Judgments(rng.integers(0, 3, 4 * queries), group=[4] * queries, weight=weight)
        found = gw.evaluate([gw.AP(empty=empty), gw.RR(k=2)], judgments, rng.random(4 * queries))
        for metric, values in zip(found.metrics, found.per_query.T, strict=True):
            counted = ~np.isnan(values)
            weights = np.ones(queries) if weight is None else weight
            expected = math.fsum((weights * values)[counted]) / math.fsum(weights[counted])
            assert found.mean[str(metric)] == pytest.approx(expected, rel=1e-15, abs=0)

    @pytest.mark.parametrize(("labels", "weight"), [([0, 0], None), ([0, 1], [1, 0])], ids=["queries", "weight"])
    def test_mean_is_nan_if_all_queries_are_skipped(self, labels, weight):
        judgments = gw.Judgments(labels, group=[1, 1], weight=weight)
        assert math.isnan(gw.evaluate("map(empty=skip)", judgments, [1, 2]).mean["map(empty=skip)"])

    @pytest.mark.parametrize(("empty", "value"), [(0, 0.0), (1, 1.0), ("skip", np.nan)])
    def test_query_without_documents_is_empty(self, empty, value):
        metrics = [make(empty=empty) for make in (gw.AP, gw.RR, gw.Precision, gw.Recall, gw.Hit, gw.RBP)]
        found = gw.evaluate(metrics, gw.Judgments([1, 0], group=[0, 2]), [2, 1]).per_query[0]
        np.testing.assert_equal(found, [value] * 6)


@pytest.fixture(scope="module")
def mixed(grouped):
    """Short and long queries with ties, near ties and documents that were not retrieved."""
    data = grouped(77, queries=48, longest=24, not_retrieved=True)
    rng = np.random.default_rng(77)
    long = [130, 257, 700]
    labels = rng.integers(0, 5, sum(long)).astype(float)
    scores = rng.integers(0, 40, sum(long)) / 7
    close = np.nextafter(scores, np.where(rng.random(len(scores)) < 0.3, INF, scores))
    return type(data)(
        np.concatenate([data.labels, labels]), np.concatenate([data.scores, close]), np.concatenate([data.sizes, long])
    )


@pytest.fixture(scope="module")
def together(mixed, every_metric):
    return gw.evaluate(every_metric, mixed.judgments, mixed.scores, n_jobs=1).per_query


class TestNothingElseMatters:
    """The value of a query has the same bits, whatever else is evaluated."""

    def test_other_metrics_and_their_order(self, mixed, every_metric, together):
        judgments = mixed.judgments
        alone = [gw.evaluate([metric], judgments, mixed.scores, n_jobs=1).per_query[:, 0] for metric in every_metric]
        assert np.array_equal(together, np.transpose(alone))
        found = gw.evaluate(every_metric[::-1], judgments, mixed.scores, n_jobs=1).per_query
        assert np.array_equal(together, found[:, ::-1])

    @pytest.mark.parametrize("n_jobs", [2, 3, 4])
    def test_threads(self, mixed, every_metric, together, monkeypatch, n_jobs):
        monkeypatch.setattr(groups, "DOCUMENTS_PER_THREAD", 1)
        monkeypatch.setattr(groups, "COMPILED_PER_THREAD", 1)
        found = gw.evaluate(every_metric, mixed.judgments, mixed.scores, n_jobs=n_jobs).per_query
        assert np.array_equal(together, found)


class TestAgain:
    """A second evaluation of the same judgments uses the cache, which does not grow."""

    names = ("ndcg_exp@10", "map")
    scores = (3.0, 1.0, 2.0)

    @pytest.fixture
    def judgments(self):
        return gw.Judgments([2, 0, 1], group=[3])

    @pytest.fixture
    def bindings(self, monkeypatch):
        """The lists of metrics in the order in which they are bound."""
        bound = []
        build_groups = groups.build_groups
        monkeypatch.setattr(groups, "build_groups", lambda *given: bound.append(given[0]) or build_groups(*given))
        return bound

    def test_binds_once_per_metrics_and_judgments(self, judgments, bindings):
        values = [gw.evaluate(self.names, judgments, self.scores).mean for _ in range(3)]
        gw.Evaluator(self.names, judgments, n_jobs=1)
        assert len(bindings) == 1
        assert values == [values[0]] * 3
        gw.evaluate(self.names[::-1], judgments, self.scores)
        gw.evaluate(self.names, gw.Judgments([2, 0, 1], group=[3]), self.scores)
        assert len(bindings) == 3

    def test_only_the_last_few_lists_of_metrics_are_kept(self, judgments, bindings):
        for k in range(1, 10):
            gw.evaluate([f"map@{k}"], judgments, self.scores)
            gw.evaluate("mrr", judgments, self.scores)
        assert len(judgments.bound) == groups.MAX_BOUND
        assert len(bindings) == 10  # A reused list remains in the cache.

    def test_judgments_are_not_kept_alive(self):
        judgments = gw.Judgments([2, 0, 1], group=[3])
        gw.evaluate(self.names, judgments, self.scores)
        reference = weakref.ref(judgments)
        del judgments
        assert reference() is None


class TestSizes:
    @pytest.mark.parametrize("distinct", [255, 256, 65_535, 65_536])
    @pytest.mark.parametrize("ties", ["order", "average"])
    def test_many_distinct_labels(self, distinct, ties):
        rng = np.random.default_rng(distinct)
        labels = rng.permutation(rng.random(distinct))
        scores = np.arange(distinct) // 2 if ties == "average" else rng.permutation(distinct)
        ranked = labels[np.argsort(-scores, kind="stable")]
        if ties == "average":
            odd = distinct % 2  # the highest score then has no tie
            pairs = ranked[odd:].reshape(-1, 2)
            ranked = np.concatenate((ranked[:odd], np.repeat(pairs.mean(axis=1), 2)))
        discount = 1 / np.log2(np.arange(2, distinct + 2))
        expected = (ranked * discount).sum() / (np.sort(labels)[::-1] * discount).sum()
        assert one(f"ndcg_linear(ties={ties})", labels, scores) == pytest.approx(expected, rel=1e-12, abs=0)

    def test_one_query_of_200_000_documents(self):
        rng = np.random.default_rng(1)
        n = 200_000
        labels = rng.integers(0, 5, n)
        scores = np.nextafter(np.round(rng.normal(size=n), 3), rng.choice([-INF, INF], n))
        ranked = labels[np.argsort(-scores, kind="stable")]
        discount = 1 / np.log2(np.arange(2, n + 2))
        expected = (ranked * discount).sum() / (np.sort(labels)[::-1] * discount).sum()
        assert one("ndcg_linear(ties=order)", labels, scores) == pytest.approx(expected, rel=1e-12, abs=0)
        judgments = gw.Judgments(np.arange(n) % 2, group=[n])
        found = gw.evaluate(["precision@10", "recall@1000", "hit"], judgments, np.zeros(n)).per_query[0]
        np.testing.assert_allclose(found, [1 / 2, 1000 / n, 1], rtol=1e-12)


class TestEvaluation:
    judgments = gw.Judgments([0, 1, 1, 0], qid=["a", "a", "b", "b"])
    result = gw.evaluate(["mrr", "map@1"], judgments, [2, 1, 2, 1])

    def test_frame_and_mean(self):
        index = pd.Index(np.array(["a", "b"]), name="query")
        expected = pd.DataFrame({"mrr": [0.5, 1.0], "map@1": [0.0, 1.0]}, index=index)
        pd.testing.assert_frame_equal(self.result.frame(), expected)
        assert list(self.result.mean) == ["mrr", "map@1"]
        assert {type(value) for value in self.result.mean.values()} == {float}
        assert pickle.loads(pickle.dumps(self.result)).mean == self.result.mean

    def test_repr_and_html(self):
        assert repr(self.result) == "Evaluation of 2 queries\n  mrr    0.7500\n  map@1  0.5000"
        single = gw.evaluate("mrr", gw.Judgments([1], group=[1]), [1.0])
        assert repr(single).startswith("Evaluation of 1 query\n")
        assert "1 query, 1 document<" in single._repr_html_()
        html = gw.evaluate([gw.NDCG(gain={0: 0, 1: 3})], self.judgments, [2, 1, 2, 1])._repr_html_()
        assert "ndcg(gain=0&gt;0/1&gt;3)" in html


WEIGHTS = {"none": None, "equal": [0.1] * 40, "random": np.linspace(0.01, 3, 40), "some zero": [0.0, 0.3] * 20}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_means_equal_the_leaderboard_in_every_bit(weight):
    """The queries without relevant documents count under some metrics only."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 400) * (rng.random(400) < 0.2)
    judgments = gw.Judgments(labels, group=[10] * 40, weight=weight)
    metrics = ["ndcg_linear@10", "ndcg_exp@1,3", "map(empty=skip)", "rbp"]
    models = {name: rng.normal(size=400) for name in ("a", "b", "c")}
    leaderboard = gw.compare(models, judgments, metrics, draws=200).leaderboard
    for name, scores in models.items():
        mean = gw.evaluate(metrics, judgments, scores).mean
        assert leaderboard.loc[name, list(mean)].to_dict() == mean


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize(
    "metrics",
    [
        ["ndcg_linear@10", "ndcg_exp@1,3", "map"],
        ["rprec", "map(empty=skip)", "mrr@2", "ndcg_exp(ties=order,weights=ignore)"],
    ],
)
def test_means_without_values_of_queries(metrics, weight):
    """They are the same in every bit, also if the memory of another call is used."""
    rng = np.random.default_rng(1)
    metrics = [*gw.parse_metrics(*metrics), gw.metric("gap_of_means", lambda labels, scores: float(labels @ scores))]
    judgments = gw.Judgments(rng.integers(0, 4, 400) * (rng.random(400) < 0.2), group=[10] * 40, weight=weight)
    evaluator = gw.Evaluator(metrics, judgments)
    for _ in range(3):
        scores = rng.normal(size=400).round(1)
        assert evaluator.mean(scores) == evaluator(scores).mean
    with pytest.raises(ValueError, match="NaN"):
        evaluator.mean(np.full(400, np.nan))
    copy = pickle.loads(pickle.dumps(gw.Evaluator("mrr", judgments)))
    assert copy.mean(scores) == gw.evaluate("mrr", judgments, scores).mean


@pytest.mark.skipif(compiled.core() is None, reason="there is no compiled core")
def test_means_need_no_memory_after_the_first_call():
    queries = 50_000
    judgments = gw.Judgments(np.tile([0, 1], queries), group=[2] * queries)
    evaluator = gw.Evaluator(["ndcg_linear@1,2", "map", "mrr"], judgments, n_jobs=1)
    scores = np.zeros(2 * queries)
    evaluator.mean(scores)
    tracemalloc.start()
    evaluator.mean(scores)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < queries  # The values of the queries take 32 bytes per query.


def test_zero_and_equal_weights_change_no_bit():
    values = np.random.default_rng(0).random((7, 2))
    expected = compute_means(values)
    assert np.array_equal(compute_means(values, np.full(7, 0.1)), expected)
    padded = np.insert(values, [0, 3, 7], 9.0, axis=0)
    assert np.array_equal(compute_means(padded, (padded[:, 0] < 9) * 0.3), expected)


@pytest.mark.parametrize(("weight", "shares"), [(None, [1, 1]), ([2.0, 5.0, 1.0], [2, 1])])
def test_terms_of_a_mean_leave_out_queries_without_a_value(weight, shares):
    judgments = gw.Judgments([0, 2, 1, 0, 1, 1], group=[2, 2, 2], weight=weight)
    products, weights = weighted(gw.RR(), judgments, np.array([0.5, np.nan, 1.0]))
    assert (weights / weights.min()).tolist() == (np.array(shares) / min(shares)).tolist()
    assert (products / weights).tolist() == [0.5, 1.0]
