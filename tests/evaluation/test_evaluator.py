"""Evaluation as a whole: scores, infinities, means, and independence of everything that must not matter."""

from __future__ import annotations

import math
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.metrics.one_query import value as one

import gainsay as gs
from gainsay.evaluation import blocks, plan
from gainsay.evaluation.pace import ANEW, Pace

INF = np.inf


class TestScores:
    judgments = gs.Judgments([0, 1, 2, 0, 1], qid=["a", "a", "b", "b", "b"])

    def test_nan_says_how_many_and_where(self):
        expected = r"scores holds 2 NaN among 5, the first at row 3 \(query b\)"
        with pytest.raises(ValueError, match=expected):
            gs.evaluate("mrr", self.judgments, [1, 2, 3, np.nan, np.nan])

    def test_nan_in_scattered_rows_names_the_callers_row(self):
        judgments = gs.Judgments([0, 1, 2, 0], qid=[7, 8, 7, 8])
        with pytest.raises(ValueError, match=r"first at row 2 \(query 7\)"):
            gs.evaluate("mrr", judgments, [1, 2, np.nan, 4])

    def test_nan_beside_minus_infinity(self):
        with pytest.raises(ValueError, match="holds 1 NaN"):
            gs.evaluate("mrr", self.judgments, [-INF, 2, 3, np.nan, 1])

    @pytest.mark.parametrize("count", [0, 4, 6])
    def test_wrong_number(self, count):
        with pytest.raises(ValueError, match=f"scores has {count} entries but the judgments have 5 documents"):
            gs.evaluate("mrr", self.judgments, np.zeros(count))

    @pytest.mark.parametrize("shape", [(5, 1), (1, 5)])
    def test_a_matrix_of_one_row_or_column_is_told_to_ravel(self, shape):
        with pytest.raises(ValueError, match=r"pass scores\.ravel\(\)"):
            gs.evaluate("mrr", self.judgments, np.zeros(shape))

    def test_a_matrix(self):
        with pytest.raises(ValueError, match=r"scores must be one-dimensional, got 2 dimensions \(shape \(5, 2\)\)"):
            gs.evaluate("mrr", self.judgments, np.zeros((5, 2)))

    @pytest.mark.parametrize("scores", [list("abcde"), [1j] * 5, [1, 2, 3, 4, "x"], [{}] * 5])
    def test_what_is_not_a_number(self, scores):
        with pytest.raises(TypeError, match="scores must be numbers"):
            gs.evaluate("mrr", self.judgments, scores)

    @pytest.mark.parametrize(
        "make",
        [
            list,
            tuple,
            np.float32,
            np.int8,
            np.float16,
            pd.Series,
            lambda values: pd.Series(values, index=range(10, 15)),
            lambda values: pd.array(values, dtype="Int64"),
            lambda values: np.array(values, dtype=object),
            lambda values: np.repeat(values, 2)[::2],
        ],
        ids=["list", "tuple", "float32", "int8", "float16", "Series", "index", "nullable", "object", "strided"],
    )
    def test_all_kinds_of_arrays(self, make):
        found = gs.evaluate("mrr", self.judgments, make([5, 1, 1, 9, 0])).per_query
        assert found.tolist() == [[1 / 2], [1 / 2]]  # the first relevant documents have scores 1 and 1

    def test_missing_entries_of_nullable_columns_count_as_nan(self):
        with pytest.raises(ValueError, match="holds 1 NaN among 5, the first at row 1"):
            gs.evaluate("mrr", self.judgments, pd.array([1, None, 3, 4, 5], dtype="Int64"))

    def test_scores_are_left_as_they_are(self):
        scores = np.array([5.0, -INF, 0.0, 9.0, 3.0])
        kept = scores.copy()
        gs.evaluate(["mrr", "ndcg_exp(ties=order,scores=float32)"], self.judgments, scores)
        assert np.array_equal(scores, kept)

    def test_read_only_scores(self):
        scores = np.arange(5.0)
        scores.flags.writeable = False
        assert gs.evaluate("mrr", self.judgments, scores).per_query.shape == (2, 1)


class TestInfinities:
    def test_minus_infinity_is_not_retrieved_but_counts_for_the_ideal(self):
        assert one("ndcg_linear", [1, 1], [1, -INF]) == pytest.approx(1 / (1 + 1 / math.log2(3)), rel=1e-15, abs=0)

    @pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
    @pytest.mark.parametrize(
        "name", ["ndcg_exp", "map", "mrr", "precision", "recall", "hit", "rbp", "err(max_label=3)"]
    )
    def test_nothing_retrieved_is_zero(self, name, ties):
        metric = replace(gs.parse_metrics(name)[0], ties=ties)
        assert one(metric, [3, 0, 1], [-INF] * 3) == 0.0

    def test_lowest_finite_score_is_retrieved(self):
        assert one("recall", [1, 1], [-INF, np.finfo(np.float64).min]) == 1 / 2

    def test_plus_infinity_ranks_first(self):
        assert one("mrr", [0, 1, 0], [np.finfo(np.float64).max, INF, 0]) == 1.0

    def test_plus_infinities_are_ties(self):
        assert one("mrr", [0, 1], [INF, INF]) == (1 + 1 / 2) / 2


class TestFloat32Scores:
    close = (1.0, 1.0 + 2.0**-40)

    def test_what_differs_beyond_32_bits_is_a_tie(self):
        assert one("mrr(scores=float32)", [0, 1], self.close) == (1 + 1 / 2) / 2

    def test_by_default_it_is_not(self):
        assert one("mrr", [0, 1], self.close) == 1.0

    def test_too_large_for_32_bits_is_infinite(self):
        assert one("mrr(scores=float32)", [0, 1], [1e300, 1e200]) == (1 + 1 / 2) / 2

    @pytest.mark.parametrize("beside", [0.0, -INF])
    def test_too_low_for_32_bits_does_not_depend_on_other_queries(self, beside):
        judgments = gs.Judgments([1, 0, 1], group=[2, 1])
        found = gs.evaluate("recall(scores=float32)", judgments, [-1e300, 1, beside])
        assert found.per_query[0, 0] == one("recall(scores=float32)", [1, 0], [-1e300, 1])


class TestMean:
    judgments = gs.Judgments([0, 1, 1, 0, 0, 0], group=[2, 2, 2], weight=[1, 2, 5])
    scores = (2, 1, 2, 1, 2, 1)  # reciprocal ranks 1/2, 1, and none

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, (1 * 0.5 + 2 * 1) / 8),
            ({"empty": 1}, (1 * 0.5 + 2 * 1 + 5 * 1) / 8),
            ({"empty": "skip"}, (1 * 0.5 + 2 * 1) / 3),
            ({"weights": "ignore"}, (0.5 + 1) / 3),
        ],
    )
    def test_empty_queries_and_weights(self, options, expected):
        (found,) = gs.evaluate([gs.RR(**options)], self.judgments, self.scores).mean.values()
        assert found == pytest.approx(expected, rel=1e-15, abs=0)

    def test_weights_in_32_bits(self):
        third = float(np.float32(1 / 3))
        judgments = gs.Judgments([0, 1, 1, 0], group=[2, 2], weight=[1 / 3, 1])
        found = gs.evaluate("mrr(weights=float32)", judgments, [2, 1, 2, 1]).mean["mrr(weights=float32)"]
        assert found == pytest.approx((third * 0.5 + 1) / (third + 1), rel=1e-15, abs=0)

    def test_weights_averaged_in_32_bits(self):
        tenth = np.float32(0.1)
        mean_of_three = float((tenth + tenth + tenth) / np.float32(3))
        judgments = gs.Judgments([0, 0, 1, 1, 0], group=[3, 2], weight=[0.1, 0.1, 0.1, 1, 1])
        found = gs.evaluate("mrr(weights=float32_mean)", judgments, [3, 2, 1, 2, 1]).mean["mrr(weights=float32_mean)"]
        assert found == pytest.approx((mean_of_three / 3 + 1) / (mean_of_three + 1), rel=1e-15, abs=0)

    def test_without_weights_all_queries_count_the_same(self):
        judgments = gs.Judgments([0, 1, 1, 0], group=[2, 2])
        assert gs.evaluate("mrr", judgments, [2, 1, 2, 1]).mean["mrr"] == (0.5 + 1) / 2

    @pytest.mark.parametrize("queries", [1, 2, 3, 7, 1000, 99_991])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("empty", [0, 1, "skip"])
    def test_against_exact_sums(self, queries, weighted, empty):
        rng = np.random.default_rng(queries)
        weight = rng.lognormal(0, 2, queries) if weighted else None
        judgments = gs.Judgments(rng.integers(0, 3, 4 * queries), group=[4] * queries, weight=weight)
        found = gs.evaluate([gs.AP(empty=empty), gs.RR(k=2)], judgments, rng.random(4 * queries))
        for metric, values in zip(found.metrics, found.per_query.T, strict=True):
            counted = ~np.isnan(values)
            weights = np.ones(queries) if weight is None else weight
            expected = math.fsum((weights * values)[counted]) / math.fsum(weights[counted])
            assert found.mean[str(metric)] == pytest.approx(expected, rel=1e-15, abs=0)

    def test_does_not_depend_on_the_other_metrics(self):
        rng = np.random.default_rng(1)
        judgments = gs.Judgments(rng.integers(0, 3, 1001 * 5), group=[5] * 1001)
        names = ["map", "ndcg_exp(empty=skip)@3", "mrr(weights=ignore)"]
        scores = rng.random(1001 * 5)
        alone = {name: value for one in names for name, value in gs.evaluate(one, judgments, scores).mean.items()}
        assert gs.evaluate(names, judgments, scores).mean == alone

    def test_skipped_query_is_nan(self):
        found = gs.evaluate("mrr(empty=skip)", self.judgments, self.scores).per_query[:, 0]
        np.testing.assert_array_equal(found, [0.5, 1, np.nan])

    @pytest.mark.parametrize(("labels", "weight"), [([0, 0], None), ([0, 1], [1, 0])], ids=["queries", "weight"])
    def test_mean_is_nan_where_all_is_skipped(self, labels, weight):
        judgments = gs.Judgments(labels, group=[1, 1], weight=weight)
        assert math.isnan(gs.evaluate("map(empty=skip)", judgments, [1, 2]).mean["map(empty=skip)"])

    @pytest.mark.parametrize(("empty", "value"), [(0, 0.0), (1, 1.0), ("skip", np.nan)])
    @pytest.mark.parametrize("make", [gs.AP, gs.RR, gs.Precision, gs.Recall, gs.Hit, gs.RBP])
    def test_query_without_documents_is_empty(self, make, empty, value):
        judgments = gs.Judgments([1, 0], group=[0, 2])
        found = gs.evaluate([make(empty=empty)], judgments, [2, 1]).per_query[0, 0]
        np.testing.assert_equal(found, value)


@pytest.fixture(scope="module")
def mixed(grouped):
    """Short and long queries, tied, nearly tied, partly not retrieved."""
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
    return gs.evaluate(every_metric, mixed.judgments, mixed.scores, n_jobs=1).per_query


@pytest.fixture(scope="module")
def tied(grouped):
    return grouped(5, not_retrieved=True)


class TestNothingBesideMatters:
    """A query's value is the same to the last bit whatever else is evaluated, and however."""

    def test_other_queries(self, mixed, every_metric, together):
        alone = [
            gs.evaluate(every_metric, gs.Judgments(labels, group=[len(labels)]), scores, n_jobs=1).per_query[0]
            for labels, scores in mixed.queries()
        ]
        assert np.array_equal(together, alone)

    def test_other_metrics_and_cutoffs(self, mixed, every_metric, together):
        judgments = mixed.judgments
        alone = [gs.evaluate([metric], judgments, mixed.scores, n_jobs=1).per_query[:, 0] for metric in every_metric]
        assert np.array_equal(together, np.transpose(alone))

    def test_order_of_metrics(self, mixed, every_metric, together):
        found = gs.evaluate(every_metric[::-1], mixed.judgments, mixed.scores, n_jobs=1).per_query
        assert np.array_equal(together, found[:, ::-1])

    def test_order_of_queries(self, mixed, every_metric, together):
        query = np.repeat(np.arange(len(mixed.sizes)), mixed.sizes)
        order = np.random.default_rng(1).permutation(len(mixed.sizes))
        rows = np.concatenate([np.flatnonzero(query == at) for at in order])
        judgments = gs.Judgments(mixed.labels[rows], group=mixed.sizes[order])
        found = gs.evaluate(every_metric, judgments, mixed.scores[rows], n_jobs=1).per_query
        assert np.array_equal(together[order], found)

    def test_rows_of_queries_scattered(self, mixed, every_metric, together):
        query = np.repeat(np.arange(len(mixed.sizes)), mixed.sizes)
        rng = np.random.default_rng(2)
        turn = np.argsort(rng.random(len(query)))
        keeps_order = np.empty_like(turn)  # documents of each query keep their order, which ties=order sees
        for at in range(len(mixed.sizes)):
            keeps_order[np.flatnonzero(query[turn] == at)] = np.flatnonzero(query == at)
        judgments = gs.Judgments(mixed.labels[keeps_order], qid=query[keeps_order])
        found = gs.evaluate(every_metric, judgments, mixed.scores[keeps_order], n_jobs=1).per_query
        assert np.array_equal(together[judgments.query_ids], found)

    def test_threads(self, mixed, every_metric, together, monkeypatch):
        monkeypatch.setattr(blocks, "DOCUMENTS_PER_THREAD", 1)
        monkeypatch.setattr(plan, "COMPILED_PER_THREAD", 1)
        found = gs.evaluate(every_metric, mixed.judgments, mixed.scores, n_jobs=4).per_query
        assert np.array_equal(together, found)

    @pytest.mark.parametrize("queries", [1, 7, 50])
    def test_batches(self, mixed, every_metric, together, monkeypatch, queries):
        monkeypatch.setattr(blocks, "QUERIES_TOGETHER", queries)
        monkeypatch.setattr(blocks, "DOCUMENTS_PER_THREAD", 1)
        found = gs.evaluate(every_metric, mixed.judgments, mixed.scores, n_jobs=3).per_query
        assert np.array_equal(together, found)

    def test_calls_from_other_threads(self, mixed, every_metric, together):
        evaluator = gs.Evaluator(every_metric, mixed.judgments, n_jobs=1)
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(evaluator, [mixed.scores] * 8))
        assert all(np.array_equal(together, result.per_query) for result in results)

    def test_scores_of_the_call_before(self, mixed, every_metric, together):
        evaluator = gs.Evaluator(every_metric, mixed.judgments, n_jobs=1)
        evaluator(-mixed.scores[::-1].clip(-9, 9))
        assert np.array_equal(together, evaluator(mixed.scores).per_query)

    def test_labels_too_large_for_a_float_in_another_query(self):
        rng = np.random.default_rng(3)
        labels, scores = rng.integers(0, 31, 40) / 7, rng.integers(0, 9, 40)
        beside = gs.Judgments([*labels, 2000], group=[40, 1])
        metrics = ["ndcg_exp", "ndcg_exp@3", "ndcg_exp(ties=order)@10"]
        alone = gs.evaluate(metrics, gs.Judgments(labels, group=[40]), scores).per_query[0]
        assert np.array_equal(alone, gs.evaluate(metrics, beside, [*scores, 1]).per_query[0])


class TestAgain:
    """Evaluating on the same judgments again binds nothing again, and keeps nothing else."""

    names = ("ndcg_exp@10", "map")
    scores = (3.0, 1.0, 2.0)

    @pytest.fixture
    def judgments(self):
        return gs.Judgments([2, 0, 1], group=[3])

    @pytest.fixture
    def bindings(self, monkeypatch):
        """The lists of metrics that are bound, as they are."""
        bound = []
        groups_of = plan.groups_of
        monkeypatch.setattr(plan, "groups_of", lambda *given: bound.append(given[0]) or groups_of(*given))
        return bound

    def test_binds_once(self, judgments, bindings):
        values = [gs.evaluate(self.names, judgments, self.scores).mean for _ in range(3)]
        gs.Evaluator(self.names, judgments, n_jobs=1)
        assert len(bindings) == 1
        assert values == [values[0]] * 3

    def test_binds_for_other_metrics_and_judgments(self, judgments, bindings):
        gs.evaluate(self.names, judgments, self.scores)
        gs.evaluate(self.names[::-1], judgments, self.scores)
        gs.evaluate(self.names, gs.Judgments([2, 0, 1], group=[3]), self.scores)
        assert len(bindings) == 3

    def test_other_metrics_do_not_take_their_place(self, judgments):
        gs.evaluate("ndcg_exp@1", judgments, self.scores)
        found = gs.evaluate("ndcg_exp@2", judgments, [1, 2, 3]).mean
        assert found == gs.evaluate("ndcg_exp@2", gs.Judgments([2, 0, 1], group=[3]), [1, 2, 3]).mean

    def test_only_the_last_few_lists_of_metrics_are_kept(self, judgments, bindings):
        for k in range(1, 10):
            gs.evaluate([f"map@{k}"], judgments, self.scores)
            gs.evaluate("mrr", judgments, self.scores)
        assert len(judgments.bound) == plan.KEPT
        assert len(bindings) == 10  # what is used again stays

    def test_judgments_are_not_kept_alive(self, judgments):
        gs.evaluate(self.names, judgments, self.scores)
        gone = weakref.ref(gs.Judgments([2, 0, 1], group=[3]))
        assert gone() is None
        there = gs.Judgments([2, 0, 1], group=[3])
        gs.evaluate(self.names, there, self.scores)
        gone = weakref.ref(there)
        del there
        assert gone() is None

    def test_pickles_do_not_carry_it(self, judgments):
        _ = judgments.layout
        before = pickle.dumps(judgments)
        gs.evaluate(self.names, judgments, self.scores)
        copied = pickle.loads(pickle.dumps(judgments))
        assert copied.bound == ()
        assert len(pickle.dumps(judgments)) < len(before) + 2_000  # the layout keeps payloads of its own
        assert gs.evaluate(self.names, copied, self.scores).mean == gs.evaluate(self.names, judgments, self.scores).mean

    def test_threads_that_bind_at_once(self, bindings):
        rng = np.random.default_rng(0)
        judgments = gs.Judgments(rng.integers(0, 5, 3000), group=[30] * 100)
        scores = rng.random(3000)
        lists = [[f"ndcg_exp@{k}", "mrr"] for k in range(1, 9)]
        others = gs.Judgments(judgments.labels, group=[30] * 100)
        expected = [gs.Evaluator(names, others)(scores).mean for names in lists]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda names: gs.evaluate(names, judgments, scores).mean, lists * 20))
        assert found == expected * 20
        assert len(judgments.bound) <= plan.KEPT


class TestPace:
    def used(self, seconds, calls, most=4):
        """How many threads are taken where evaluations take so long."""
        kept, taken = Pace(), []
        for _ in range(calls):
            threads = kept.threads(most)
            taken.append(threads)
            kept.took(threads, seconds[threads])
        return taken

    @pytest.mark.parametrize("best", [1, 2, 4])
    def test_settles_on_the_quickest(self, best):
        taken = self.used({n: 1.0 + (n != best) for n in (1, 2, 4)}, 31)
        assert taken[0] == 4
        assert taken[6:] == [best] * 25

    def test_notices_that_times_have_changed(self):
        seconds = {1: 1.0, 2: 2.0}
        kept, taken = Pace(), []
        for call in range(40 * ANEW):
            if call == ANEW:
                seconds = {1: 1.0, 2: 0.5}
            taken.append(kept.threads(2))
            kept.took(taken[-1], seconds[taken[-1]])
        assert taken[ANEW // 2] == 1
        assert taken[-5:] == [2] * 5

    def test_one_thread_where_no_more_are_allowed(self):
        assert self.used({1: 1.0}, 5, most=1) == [1] * 5


class TestInvariances:
    @pytest.mark.parametrize("change", [lambda s: 8 * s, lambda s: s**3, np.arctan, lambda s: np.exp(s) - 5])
    def test_monotone_transforms_of_the_scores(self, tied, every_metric, change):
        with np.errstate(invalid="ignore"):
            changed = np.where(tied.scores == -INF, -INF, change(tied.scores))
        expected = gs.evaluate(every_metric, tied.judgments, tied.scores).per_query
        assert np.array_equal(gs.evaluate(every_metric, tied.judgments, changed).per_query, expected)

    def test_order_of_rows_unless_it_settles_ties(self, tied, every_metric):
        metrics = [metric for metric in every_metric if metric.ties != "order"]
        query = np.repeat(np.arange(len(tied.sizes)), tied.sizes)
        rows = np.lexsort((np.random.default_rng(1).random(len(query)), query))
        judgments = gs.Judgments(tied.labels[rows], group=tied.sizes)
        found = gs.evaluate(metrics, judgments, tied.scores[rows]).per_query
        assert np.array_equal(found, gs.evaluate(metrics, tied.judgments, tied.scores).per_query)

    def test_order_of_rows_settles_ties_where_asked(self):
        found = [one("mrr(ties=order)", labels, [1, 1]) for labels in ([0, 1], [1, 0])]
        assert found == [1 / 2, 1]

    @pytest.mark.parametrize(
        ("lower", "upper"), [("worst", "average"), ("worst", "order"), ("average", "best"), ("order", "best")]
    )
    def test_worst_and_best_enclose_the_others(self, tied, every_metric, lower, upper):
        grows = [  # not so: gains that fall with the label, and a divisor that grows with the hits
            metric
            for metric in every_metric
            if metric.ties == lower and "gain=0>" not in str(metric) and "hits" not in str(metric)
        ]
        low = gs.evaluate(grows, tied.judgments, tied.scores).per_query
        high = gs.evaluate([replace(metric, ties=upper) for metric in grows], tied.judgments, tied.scores).per_query
        assert (low <= high * (1 + 1e-15)).all()

    def test_normalised_metrics_lie_within_0_and_1(self, tied, every_metric):
        bounded = [metric for metric in every_metric if not isinstance(metric, gs.DCG) or isinstance(metric, gs.NDCG)]
        values = gs.evaluate(bounded, tied.judgments, tied.scores).per_query
        assert values.min() >= 0
        assert values.max() <= 1 + 1e-15

    def test_ideal_order_gives_one(self, tied):
        metrics = gs.parse_metrics(
            [f"{name}@{k}" for name in ("ndcg_linear", "ndcg_exp", "ndcg_jk", "map") for k in (1, 3, 10)],
            ["ndcg_linear", "ndcg_exp", "ndcg_jk", "map", "recall"],
        )
        values = gs.evaluate(metrics, tied.judgments, tied.labels).per_query
        relevant = tied.judgments.relevant(1) > 0
        np.testing.assert_allclose(values, np.repeat(relevant[:, None], len(metrics), axis=1), rtol=1e-15, atol=0)


class TestSizes:
    def test_one_query_with_a_million_documents(self):
        rng = np.random.default_rng(1)
        n = 1_000_000
        labels = rng.integers(0, 5, n)
        scores = np.nextafter(np.round(rng.normal(size=n), 3), rng.choice([-INF, INF], n))
        ranked = labels[np.argsort(-scores, kind="stable")]
        discount = 1 / np.log2(np.arange(2, n + 2))
        expected = (ranked * discount).sum() / (np.sort(labels)[::-1] * discount).sum()
        assert one("ndcg_linear(ties=order)", labels, scores) == pytest.approx(expected, rel=1e-12, abs=0)

    def test_a_million_documents_with_one_score(self):
        n = 1_000_000
        labels = np.arange(n) % 2
        judgments = gs.Judgments(labels, group=[n])
        found = gs.evaluate(["precision@10", "recall@1000", "hit"], judgments, np.zeros(n)).per_query[0]
        np.testing.assert_allclose(found, [1 / 2, 1000 / n, 1], rtol=1e-12)

    def test_100_000_queries_with_one_document(self):
        labels = np.arange(100_000) % 3
        found = gs.evaluate(["ndcg_exp", "mrr"], gs.Judgments(labels, group=np.ones(100_000)), labels).per_query
        expected = (labels > 0).astype(float)
        assert np.array_equal(found, np.column_stack((expected, expected)))

    @pytest.mark.parametrize("distinct", [254, 255, 256, 300, 65_534, 65_535, 65_536, 70_000])
    @pytest.mark.parametrize("ties", ["order", "average"])
    def test_many_distinct_labels(self, distinct, ties):
        rng = np.random.default_rng(distinct)
        labels = np.sort(rng.random(distinct))
        labels = rng.permutation(labels)
        scores = np.arange(distinct) // 2 if ties == "average" else rng.permutation(distinct)
        ranked = labels[np.argsort(-scores, kind="stable")]
        if ties == "average":
            odd = distinct % 2  # the highest score then stands alone
            pairs = ranked[odd:].reshape(-1, 2)
            ranked = np.concatenate((ranked[:odd], np.repeat(pairs.mean(axis=1), 2)))
        discount = 1 / np.log2(np.arange(2, distinct + 2))
        expected = (ranked * discount).sum() / (np.sort(labels)[::-1] * discount).sum()
        assert one(f"ndcg_linear(ties={ties})", labels, scores) == pytest.approx(expected, rel=1e-12, abs=0)


class TestEvaluation:
    judgments = gs.Judgments([0, 1, 1, 0], qid=["a", "a", "b", "b"])
    result = gs.evaluate(["mrr", "map@1"], judgments, [2, 1, 2, 1])

    def test_frame(self):
        expected = pd.DataFrame(
            {"mrr": [0.5, 1.0], "map@1": [0.0, 1.0]}, index=pd.Index(np.array(["a", "b"]), name="query")
        )
        pd.testing.assert_frame_equal(self.result.frame(), expected)

    def test_mean_has_the_metrics_in_the_order_given(self):
        assert list(self.result.mean) == ["mrr", "map@1"]

    def test_values_are_plain_floats(self):
        assert {type(value) for value in self.result.mean.values()} == {float}

    def test_repr(self):
        assert repr(self.result) == "Evaluation of 2 queries\n  mrr    0.750000\n  map@1  0.500000"

    def test_one_of_a_thing_is_not_several(self):
        one = gs.evaluate("mrr", gs.Judgments([1], group=[1]), [1.0])
        assert repr(one).startswith("Evaluation of 1 query\n")
        assert "<strong>Evaluation: 1 query, 1 document</strong>" in one._repr_html_()

    def test_html_escapes_names(self):
        found = gs.evaluate([gs.NDCG(gain={0: 0, 1: 3})], self.judgments, [2, 1, 2, 1])._repr_html_()
        assert "ndcg(gain=0&gt;0/1&gt;3)" in found

    def test_pickle(self):
        copy = pickle.loads(pickle.dumps(self.result))
        assert copy.mean == self.result.mean

    def test_evaluator_names(self):
        assert gs.Evaluator(["mrr", gs.AP(k=1)], self.judgments).names == ("mrr", "map@1")

    def test_per_query_of_one_call_is_not_changed_by_the_next(self):
        evaluator = gs.Evaluator("mrr", self.judgments)
        first = evaluator([2, 1, 2, 1])
        evaluator([1, 2, 1, 2])
        assert first.per_query.tolist() == [[0.5], [1.0]]

    def test_labels_instead_of_judgments(self):
        with pytest.raises(TypeError, match=r"judgments must be gainsay\.Judgments, got list"):
            gs.evaluate("mrr", [0, 1], [1, 2])

    @pytest.mark.parametrize(
        ("n_jobs", "error"), [(0, ValueError), (-1, ValueError), ("2", TypeError), (1.5, ValueError), (True, TypeError)]
    )
    def test_n_jobs(self, n_jobs, error):
        with pytest.raises(error, match=f"n_jobs must be a whole number of threads, at least 1, got {n_jobs!r}"):
            gs.evaluate("mrr", self.judgments, [1, 2, 3, 4], n_jobs=n_jobs)

    def test_error_in_a_thread_reaches_the_caller(self, monkeypatch):
        monkeypatch.setattr(blocks, "DOCUMENTS_PER_THREAD", 1)
        judgments = gs.Judgments([1, 0, *[0, 1] * 20_000], group=[1, 1, 40_000])
        with pytest.raises(ValueError, match="have the same score"):
            gs.evaluate("err(max_label=1)", judgments, np.zeros(40_002), n_jobs=2)


def test_masked_scores_are_missing():
    judgments = gs.Judgments([0, 3, 1, 2], group=[4])
    with pytest.raises(ValueError, match="scores holds 1 NaN among 4, the first at row 0"):
        gs.evaluate("mrr", judgments, np.ma.masked_equal([-999, 0.4, 0.3, 0.2], -999))


def test_weights_whose_sum_overflows():
    judgments = gs.Judgments([0, 1, 1, 0], group=[2, 2], weight=[1e308, 1e308])
    assert gs.evaluate("mrr", judgments, [2, 1, 2, 1]).mean == {"mrr": 0.75}
