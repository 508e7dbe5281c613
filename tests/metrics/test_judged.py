"""The share of judged documents: against all orders of tied documents, trec_eval, and by hand."""

from __future__ import annotations

import itertools
from statistics import mean

import numpy as np
import pytest
import pytrec_eval

import gainsay as gs

NEVER = float("-inf")
CUTOFFS = (1, 2, 3, 5, 8, None)


def judgments(judged, group=None):
    """Documents with labels 1, 0, 1, … where judged."""
    labels = [float("nan") if not known else at % 2 for at, known in enumerate(judged)]
    return gs.Judgments(labels, group=group or [len(judged)], judged=judged)


def value(metric, judged, scores):
    return gs.evaluate([metric], judgments(judged), scores).per_query[0, 0]


def share(order, k):
    """Judged documents among the first k, by the definition; 1 where nothing was retrieved."""
    first = order[:k]
    return sum(first) / len(first) if first else 1.0


def orders(judged, scores):
    """Yield whether judged, from rank 1 on, for every order in which equal scores can stand."""
    retrieved = sorted({score for score in scores if score != NEVER}, reverse=True)
    runs = [[j for j, s in zip(judged, scores, strict=True) if s == score] for score in retrieved]
    for chosen in itertools.product(*(itertools.permutations(run) for run in runs)):
        yield list(itertools.chain(*chosen))


class TestByHand:
    @pytest.mark.parametrize(("k", "expected"), [(1, 1), (2, 1 / 2), (3, 2 / 3), (4, 2 / 4)])
    def test_cutoffs(self, k, expected):
        assert value(gs.Judged(k=k), [True, False, True, False], [4, 3, 2, 1]) == expected

    @pytest.mark.parametrize("k", [3, 4, 10, None])
    def test_a_list_shorter_than_the_cutoff_is_divided_by_its_length(self, k):
        assert value(gs.Judged(k=k), [True, False, True, True], [3, 2, 1, NEVER]) == 2 / 3

    def test_documents_that_were_not_retrieved_do_not_count(self):
        assert value("judged@1", [True, False], [NEVER, 1]) == 0

    @pytest.mark.parametrize(("empty", "expected"), [(1, 1.0), (0, 0.0), ("skip", np.nan)])
    def test_nothing_retrieved(self, empty, expected):
        np.testing.assert_equal(value(gs.Judged(k=3, empty=empty), [True, False], [NEVER, NEVER]), expected)

    def test_all_judged(self):
        assert value("judged@2", [True, True, True], [1, 1, 1]) == 1

    @pytest.mark.parametrize(("ties", "expected"), [("worst", 0), ("best", 1), ("order", 1 / 2), ("average", 2 / 4)])
    def test_ties(self, ties, expected):
        assert value(gs.Judged(k=2, ties=ties), [True, False, True, False], [1, 1, 1, 1]) == expected

    def test_negative_and_irrelevant_labels_are_judgments(self):
        given = gs.Judgments([-1, 0, 0], group=[3], judged=[True, True, False], negative_labels="zero")
        assert gs.evaluate("judged", given, [3, 2, 1]).mean["judged"] == 2 / 3

    def test_scattered_rows_and_weights(self):
        given = gs.Judgments(
            [1, 0, 0, 1], qid=["a", "b", "a", "b"], judged=[True, False, False, True], weight=[3.0, 1.0]
        )
        result = gs.evaluate(["judged@1", "judged"], given, [2, 2, 1, 1])
        assert result.per_query.tolist() == [[1, 0.5], [0, 0.5]]
        assert result.mean == {"judged@1": 3 / 4, "judged": 1 / 2}


@pytest.mark.parametrize("seed", range(40))
def test_average_is_the_mean_over_all_orders(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 8))
    judged = rng.random(size) < 0.6
    judged[0] = True
    scores = rng.choice([NEVER, 0.0, 1.0, 2.0], size, p=[0.2, 0.3, 0.3, 0.2])
    found = gs.evaluate([gs.Judged(k=k) for k in CUTOFFS], judgments(judged), scores).per_query[0]
    every = list(orders(judged, scores))
    np.testing.assert_allclose(found, [mean(share(order, k) for order in every) for k in CUTOFFS], rtol=1e-12)
    for ties, extreme in (("worst", min), ("best", max)):
        found = gs.evaluate([gs.Judged(k=k, ties=ties) for k in CUTOFFS], judgments(judged), scores).per_query[0]
        expected = [extreme(share(order, k) for order in every) for k in CUTOFFS]
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_is_the_precision_of_trec_eval_where_every_judgment_counts(seed):
    """With all grades one higher every judged document is relevant; a list shorter than k is divided by k there."""
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for query in range(30):
        ids = [f"d{at}" for at in rng.permutation(200)[:40]]
        qrels[f"q{query}"] = {name: int(rng.integers(0, 4)) for name in ids[: rng.integers(1, 40)]}
        run[f"q{query}"] = {name: float(rng.integers(0, 12)) for name in ids[rng.integers(0, 39) :]}
    relevant = {query: {name: label + 1 for name, label in labels.items()} for query, labels in qrels.items()}
    theirs = pytrec_eval.RelevanceEvaluator(relevant, {"P.5,10"}).evaluate(run)
    found = gs.evaluate_run(["judged@5", "judged@10"], run, qrels, convention="trec_eval").frame()
    for query, expected in theirs.items():
        for k in (5, 10):
            length = min(k, len(run[query]))
            assert found.loc[query, f"judged(ties=order)@{k}"] * length == pytest.approx(expected[f"P_{k}"] * k)


@pytest.mark.parametrize("convention", ["lightgbm", "xgboost", "catboost", "sklearn", "torchmetrics", "ranx"])
def test_conventions_that_order_documents_change_it(convention):
    (metric,) = gs.parse_metrics("judged@2", convention=convention)
    assert isinstance(metric, gs.Judged)
    expected = {"average": 2 / 4, "order": 1 / 2, "worst": 0}[metric.ties]
    assert value(metric, [True, False, True, False], [1, 1, 1, 1]) == expected


class TestRefused:
    def test_where_nothing_can_be_unjudged(self):
        with pytest.raises(ValueError, match="judged@3 has nothing to count: labels say of every document"):
            gs.evaluate("judged@3", gs.Judgments([1, 0], group=[2]), [1, 2])

    def test_by_adapters_before_training(self):
        from gainsay.lightgbm import feval
        from gainsay.xgboost import custom_metric

        for made in (feval, custom_metric):
            with pytest.raises(ValueError, match="judged@3 has nothing to count"):
                made(["ndcg_exp@3", "judged@3"])

    def test_by_experiments_before_training(self):
        data = gs.data.simulate(queries=4, seed=0)
        candidate = gs.Candidate("a", "lightgbm", {})
        with pytest.raises(ValueError, match="judged@3 has nothing to count"):
            gs.Experiment([candidate], data, data, data, metrics=["ndcg_exp@3", "judged@3"])

    def test_a_label_0_that_would_be_relevant(self):
        given = judgments([True, False])
        with pytest.raises(
            ValueError, match="takes label 0 for relevant, and 1 documents have it because nobody judged"
        ):
            gs.evaluate("precision(min_label=0)@1", given, [1, 2])
        condensed = gs.evaluate("precision(min_label=0)@1", given, [1, 2], unjudged="drop")
        assert condensed.mean == {"precision(min_label=0)@1": 1.0}
