"""Metrics that are functions of the labels and scores of one query."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score

import gainsay as gs
from gainsay.data import simulate
from gainsay.metrics.registry import METRICS


def plain_ndcg(labels, scores, k=10):
    """NDCG with exponential gain from its definition, ties in the order of the input."""
    ranked = labels[np.argsort(-scores, kind="stable")]
    dcg, ideal = (
        sum((2**label - 1) / math.log2(rank + 1) for rank, label in enumerate(order[:k], start=1))
        for order in (ranked, np.sort(labels)[::-1])
    )
    return dcg / ideal if ideal else 0.0


def first_relevant_rank(labels, scores):
    """Rank of the first relevant document, one beyond the last where there is none."""
    relevant = labels[np.argsort(-scores, kind="stable")] >= 1
    return int(relevant.argmax()) + 1 if relevant.any() else len(labels) + 1


OWN_NDCG = gs.metric("own_ndcg", plain_ndcg)
LOSS = gs.metric("first_relevant_rank", first_relevant_rank, higher_is_better=False)


@pytest.fixture(scope="module")
def data():
    return simulate(60, seed=5, mean_length=20)


@pytest.fixture(scope="module")
def scores(data):
    return np.random.default_rng(0).normal(size=len(data.labels))


class TestValues:
    def test_ndcg_by_its_definition(self, data, scores):
        found = gs.evaluate(["own_ndcg", "ndcg_exp@10"], data.judgments(), scores).per_query
        np.testing.assert_allclose(found[:, 0], found[:, 1], rtol=1e-13)
        assert len(np.unique(found[:, 0])) > 30

    def test_ndcg_of_scikit_learn(self, data, scores):
        metric = gs.metric("sklearn_ndcg", lambda labels, scores: ndcg_score([labels], [scores], k=10))
        judgments = gs.Judgments(data.labels, qid=data.qid)
        found = gs.evaluate([metric, "ndcg_linear@10"], judgments, scores).per_query
        np.testing.assert_allclose(found[:, 0], found[:, 1], rtol=1e-13)

    def test_a_statistic_of_scores_that_no_ranked_row_has(self, data, scores):
        metric = gs.metric("tau", lambda labels, scores: kendalltau(labels, scores).statistic)
        found = gs.evaluate(metric, data.judgments(), scores).per_query[:, 0]
        ends = np.cumsum(data.group)
        expected = [
            kendalltau(data.labels[a:b], scores[a:b]).statistic for a, b in zip(ends - data.group, ends, strict=True)
        ]
        assert found.tolist() == expected

    def test_query_weights_are_ours(self, data, scores):
        weight = np.random.default_rng(1).uniform(0.1, 3, len(data.group))
        judgments = gs.Judgments(data.labels, group=data.group, weight=weight)
        names = ["own_ndcg", "ndcg_exp@10", "own_ndcg(weights=ignore)", "ndcg_exp(weights=ignore)@10"]
        mean = gs.evaluate(names, judgments, scores).mean
        assert mean["own_ndcg"] == pytest.approx(mean["ndcg_exp@10"], rel=1e-13)
        assert mean["own_ndcg(weights=ignore)"] == pytest.approx(mean["ndcg_exp(weights=ignore)@10"], rel=1e-13)
        assert mean["own_ndcg"] != mean["own_ndcg(weights=ignore)"]

    def test_one_query_in_input_order_where_rows_are_scattered(self):
        seen = []
        metric = gs.metric("seen", lambda labels, scores: seen.append((labels.tolist(), scores.tolist())) or 1.0)
        gs.evaluate(metric, gs.Judgments([3, 0, 1, 2, 4], qid=list("abaab")), np.float32([5, 4, 3, 2, 1]))
        assert seen == [([3, 1, 2], [5, 3, 2]), ([0, 4], [4, 1])]

    def test_columns_stand_as_they_were_asked_for(self, data, scores):
        names = ["own_ndcg", "mrr", "first_relevant_rank", "ndcg_exp@10", "map(ties=order)"]
        together = gs.evaluate(names, data.judgments(), scores)
        assert list(together.mean) == names
        for name in names:
            assert together.mean[name] == gs.evaluate(name, data.judgments(), scores).mean[name]

    def test_documents_that_were_not_retrieved(self):
        metric = gs.metric("retrieved", lambda labels, scores: np.isfinite(scores).mean())
        assert gs.evaluate(metric, gs.Judgments([1, 0], group=[2]), [1.0, -np.inf]).mean == {"retrieved": 0.5}

    def test_queries_without_documents_are_left_out(self):
        result = gs.evaluate(["first_relevant_rank"], gs.Judgments([0, 1], group=[0, 2, 0]), [2, 1])
        assert np.isnan(result.per_query[[0, 2], 0]).all()
        assert result.mean == {"first_relevant_rank": 2.0}

    @pytest.mark.parametrize("value", [1, 0.5, True, np.float32(0.25), np.int8(3), np.bool_(True)])
    def test_numbers_of_any_kind(self, value):
        metric = gs.metric("number", lambda labels, scores: value)
        assert gs.evaluate(metric, gs.Judgments([1], group=[1]), [1]).mean == {"number": float(value)}

    def test_a_function_that_sorts_in_place_spoils_nothing(self):
        def careless(labels, scores):
            labels.sort()
            scores.sort()
            return 0.0

        judgments, scores = gs.Judgments([3, 1, 2], group=[3]), np.array([1.0, 3.0, 2.0])
        metrics = [gs.metric("careless", careless), "own_ndcg"]
        assert gs.evaluate(metrics, judgments, scores).mean["own_ndcg"] == plain_ndcg(judgments.labels, scores)
        assert scores.tolist() == [1, 3, 2]


class TestMetric:
    def test_it_is_a_metric_as_any_other(self):
        assert isinstance(OWN_NDCG, gs.Metric)
        assert str(OWN_NDCG) == "own_ndcg"
        assert repr(LOSS) == "metric('first_relevant_rank', first_relevant_rank, higher_is_better=False)"
        assert gs.parse_metrics("own_ndcg", LOSS) == (OWN_NDCG, LOSS)
        assert gs.parse_metrics("own_ndcg(weights=ignore)") == (replace(OWN_NDCG, weights="ignore"),)
        assert (OWN_NDCG.higher_is_better, LOSS.higher_is_better) == (True, False)
        assert len({OWN_NDCG, LOSS, gs.metric("own_ndcg", plain_ndcg)}) == 2

    def test_html_says_which_function(self):
        assert "first_relevant_rank: Rank of the first relevant document" in LOSS._repr_html_()

    def test_conventions_set_its_weights_only(self):
        (metric,) = gs.parse_metrics("own_ndcg", convention="lightgbm")
        assert str(metric) == "own_ndcg(weights=float32_mean)"

    def test_defined_anew_in_the_same_place(self):
        def make(value):
            def in_a_cell(labels, scores):
                return value

            return gs.metric("in_a_cell", in_a_cell)

        make(1.0)
        make(2.0)
        assert gs.evaluate("in_a_cell", gs.Judgments([1], group=[1]), [1]).mean == {"in_a_cell": 2.0}

    def test_a_taken_name(self):
        with pytest.raises(
            ValueError, match=r"'own_ndcg' is taken by .*plain_ndcg, and cannot go to .*first_relevant_rank"
        ):
            gs.metric("own_ndcg", first_relevant_rank)
        assert METRICS["own_ndcg"][1]["function"] is plain_ndcg

    def test_a_name_of_gainsays_own(self):
        with pytest.raises(ValueError, match="'mrr' is the name of a metric of gainsay's own"):
            gs.metric("mrr", plain_ndcg)

    @pytest.mark.parametrize("name", ["own@10", "my loss", ""])
    def test_what_is_no_name(self, name):
        with pytest.raises(ValueError, match="a metric is named with letters, digits and _"):
            gs.metric(name, plain_ndcg)

    def test_swapped_arguments(self):
        with pytest.raises(
            TypeError, match=r"name must be a string, got <function .*; write gs.metric\(name, function\)"
        ):
            gs.metric(plain_ndcg, "own_ndcg")

    def test_no_function(self):
        with pytest.raises(TypeError, match="function must take the labels and scores of a query, got 3"):
            gs.metric("own", 3)

    def test_direction_is_true_or_false(self):
        with pytest.raises(TypeError, match="higher_is_better must be True or False, got 'no'"):
            gs.metric("own", plain_ndcg, higher_is_better="no")

    @pytest.mark.parametrize(("option", "value"), [("k", 10), ("ties", "order"), ("empty", 1), ("scores", "float32")])
    def test_what_the_function_settles_itself(self, option, value):
        with pytest.raises(ValueError, match=f"{option} has no meaning for own_ndcg, a function"):
            replace(OWN_NDCG, **{option: value})

    def test_no_cutoff(self):
        with pytest.raises(ValueError, match="'own_ndcg@10': k has no meaning for own_ndcg"):
            gs.parse_metrics("own_ndcg@10")

    def test_no_ties(self):
        with pytest.raises(ValueError, match=r"unknown option 'ties' in 'own_ndcg\(ties=order\)' \(known: weights\)"):
            gs.parse_metrics("own_ndcg(ties=order)")


class TestBadReturns:
    judgments = gs.Judgments([1, 0, 2], qid=["shoes", "shoes", "hats"])

    def message(self, function):
        function.__qualname__ = "bad"  # all of them are one, defined anew
        with pytest.raises(ValueError, match="metric 'bad'") as caught:
            gs.evaluate(gs.metric("bad", function), self.judgments, [1, 2, 3])
        return caught.value

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, value):
        error = self.message(lambda labels, scores: value if len(labels) == 1 else 0.0)
        assert (
            str(error) == f"metric 'bad' returned {value} for query hats (1 document): it must return a finite number"
        )

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            (np.ones(2), "ndarray of shape (2,)"),
            (np.array(1.0), "ndarray of shape ()"),
            (None, "NoneType, None"),
            ("1", "str, '1'"),
            ([1.0], "list, [1.0]"),
            (1j, "complex, 1j"),
        ],
    )
    def test_not_a_number(self, value, shown):
        error = self.message(lambda labels, scores: value)
        assert str(error) == f"metric 'bad' returned {shown} for query shoes (2 documents): it must return one number"

    def test_an_error_keeps_its_place_in_the_code(self):
        error = self.message(lambda labels, scores: 1 / (len(labels) - 1))
        assert str(error) == "metric 'bad' failed on query hats (1 document): ZeroDivisionError: division by zero"
        assert isinstance(error.__cause__, ZeroDivisionError)

    def test_wrong_signature(self):
        error = self.message(lambda labels: 1.0)
        assert "failed on query shoes (2 documents): TypeError" in str(error)

    def test_interruption_goes_through(self):
        def stop(labels, scores):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            gs.evaluate(gs.metric("stop", stop), self.judgments, [1, 2, 3])


class TestPickling:
    @pytest.mark.parametrize("metric", [OWN_NDCG, LOSS, replace(LOSS, weights="ignore")], ids=str)
    def test_a_function_of_a_module(self, metric):
        assert pickle.loads(pickle.dumps(metric)) == metric

    def test_a_part_of_one(self):
        metric = gs.metric("own_ndcg_at_3", partial(plain_ndcg, k=3))
        again = pickle.loads(pickle.dumps(metric))
        assert again.function.keywords == {"k": 3}
        values = gs.evaluate([again, "ndcg_exp@3"], gs.Judgments([1, 0, 2, 3], group=[4]), [1, 2, 3, 0]).per_query[0]
        assert values[0] == pytest.approx(values[1], rel=1e-14)

    def test_a_lambda_is_refused_with_the_remedy(self):
        metric = gs.metric("of_a_lambda", lambda labels, scores: 0.0)
        expected = (
            r"of_a_lambda cannot be pickled: its function, .*<lambda>, is not what .*Define it with def at the top"
        )
        with pytest.raises(TypeError, match=expected):
            pickle.dumps(metric)

    def test_a_function_within_a_function_is_refused(self):
        def within(labels, scores):
            return 0.0

        with pytest.raises(TypeError, match=r"cannot be pickled: its function, .*within"):
            pickle.dumps(gs.metric("of_a_closure", within))

    def test_reading_it_elsewhere_makes_it_known_there(self, tmp_path):
        (tmp_path / "shop.py").write_text(
            "import gainsay as gs\n\n\ndef clicks(labels, scores):\n    return float(labels[scores.argmax()])\n\n\n"
            "def squared(labels):\n    return labels**2\n"
        )
        make = (
            "import gainsay as gs, pickle, shop; metrics = [gs.metric('clicks', shop.clicks, higher_is_better=False), "
            "gs.NDCG(gain=shop.squared, k=3)]; open('metrics.pickle', 'wb').write(pickle.dumps(metrics))"
        )
        read = (
            "import gainsay as gs, pickle; metrics = pickle.load(open('metrics.pickle', 'rb')); "
            "assert gs.parse_metrics('clicks', 'ndcg(gain=squared)@3') == tuple(metrics); "
            "print(gs.evaluate(metrics, gs.Judgments([3, 0], group=[2]), [1, 0]).mean, metrics[0].higher_is_better)"
        )
        source = str(Path(gs.__file__).parents[1])
        for code in (make, read):
            done = subprocess.run(
                [sys.executable, "-c", f"import sys; sys.path[:0] = [{source!r}, '.']; {code}"],
                cwd=tmp_path, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        assert done.stdout == "{'clicks': 3.0, 'ndcg(gain=squared)@3': 1.0} False\n"
