"""Custom metrics: subclasses, and functions of the labels and scores of one query."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from tests.custom_metrics import Halved
from tests.metrics.test_bad_inputs import define

import gainwise as gw
from gainwise.data import simulate

JUDGMENTS = gw.Judgments([3, 2, 0, 1, 4, 0, 2, 0, 0], group=[4, 3, 2])
SCORES = (1, 2, 3, 3, 5, 4, 4, 0, 1)
DATA = simulate(60, seed=5, mean_length=20)
DATA_SCORES = np.random.default_rng(0).normal(size=len(DATA.labels))


@dataclass(frozen=True, kw_only=True)
class FirstRelevantRank(gw.metrics.binary.BinaryMetric):
    """Rank of the first relevant document, or the number of documents plus one. Lower is better."""

    scale: float = 1.0
    calls: int = field(init=False, default=0)

    names = {"first_rank": {}}
    higher_is_better = False

    def score(self, rows, facts, cutoffs):
        relevant = facts.at_ranks(rows)
        first = np.where(relevant.any(axis=1), relevant.argmax(axis=1), rows.sizes) + 1
        return np.stack([self.scale * np.minimum(first, np.inf if k is None else k + 1) for k in cutoffs], axis=1)


class TestSubclasses:
    @pytest.mark.parametrize(
        ("metric", "name"),
        [
            (Halved(gain="exponential", k=3), "halved_exp@3"),
            (Halved(gain="linear"), "halved(gain=linear)"),
            (Halved(gain=(0, 1, 3, 7, 20), ties="order"), "halved(ties=order,gain=0/1/3/7/20)"),
            (FirstRelevantRank(k=2, scale=0.5), "first_rank(scale=0.5)@2"),
        ],
    )
    def test_name_reads_back_as_an_equal_metric(self, metric, name):
        assert str(metric) == name
        assert gw.parse_metrics(name) == (metric,)
        assert gw.parse_metrics(name)[0] != gw.NDCG(gain="exponential", k=3)
        assert pickle.loads(pickle.dumps(metric)) == metric == replace(metric)
        assert copy.deepcopy(metric) is metric

    def test_an_option_without_a_default_is_required(self):
        @dataclass(frozen=True, kw_only=True)
        class Priced(gw.RR):
            price: float
            names = {"priced_rank": {}}

        with pytest.raises(ValueError, match=r"requires price\. Write priced_rank\(price=…\)@5"):
            gw.parse_metrics("priced_rank@5")
        assert gw.parse_metrics("priced_rank(price=2)@5") == (Priced(price=2, k=5),)

    @pytest.mark.parametrize("k", [1, 2, None])
    @pytest.mark.parametrize("gain", ["linear", "exponential"])
    def test_values_are_those_of_its_score(self, gain, k):
        own, ndcg = Halved(gain=gain, k=k), gw.NDCG(gain=gain, k=k)
        result = gw.evaluate([own, ndcg], JUDGMENTS, SCORES)
        np.testing.assert_array_equal(result.per_query[:, 0], result.per_query[:, 1] / 2)
        assert list(result.mean) == [str(own), str(ndcg)]

    def test_conventions_and_direction(self):
        (metric,) = gw.parse_metrics("first_rank", convention="lightgbm")
        assert (metric.ties, metric.empty, metric.min_label) == ("order", 1.0, np.nextafter(0.5, 1))
        assert not metric.higher_is_better
        assert all(metric.higher_is_better for metric in gw.parse_metrics("ndcg_exp", "map", "mrr", "err(max_label=4)"))

    def test_a_name_that_needs_its_gain(self):
        with pytest.raises(ValueError, match=r"halved\(gain=linear\)@10"):
            gw.parse_metrics("halved@10")
        assert gw.parse_metrics("halved@10", convention="lightgbm")[0].gain == "exponential"

    def test_a_cell_that_is_run_again_replaces_its_class(self):
        cell = "class Part(gw.NDCG):\n names = {'part': {}}\n def score(self, *a): return super().score(*a) / "
        define(cell + "2")
        second = define(cell + "4").Part
        (metric,) = gw.parse_metrics("part(gain=linear)")
        assert type(metric) is second
        values = gw.evaluate([metric, "ndcg_linear"], JUDGMENTS, SCORES).per_query
        np.testing.assert_array_equal(values[:, 0], values[:, 1] / 4)


class Wrong(gw.RR):
    names = {"wrong": {}}
    change = staticmethod(lambda right, rows: right)

    def score(self, rows, facts, cutoffs):
        return self.change(super().score(rows, facts, cutoffs), rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda right, rows: right[:, 0], r"shape \(3,.*2 cutoffs|for 1 rows"),
        (lambda right, rows: right[:, :1], r"shape \(3,.*2 cutoffs|for 1 rows"),
        (lambda right, rows: np.where(rows.queries[:, None] == 1, np.nan, right), r"nan for query b \(3 documents\)"),
    ],
)
def test_scores_of_another_shape_and_nan(monkeypatch, change, words):
    monkeypatch.setattr(Wrong, "change", staticmethod(change))
    judgments = gw.Judgments(JUDGMENTS.labels, qid=list("aaaabbbcc"))
    with pytest.raises(ValueError, match=words):
        gw.evaluate(["wrong", "wrong@2"], judgments, SCORES)


def plain_ndcg(labels, scores, k=10):
    """NDCG with exponential gain from its definition, ties in the order of the input."""
    ranked = labels[np.argsort(-scores, kind="stable")]
    dcg, ideal = (
        sum((2**label - 1) / math.log2(rank + 1) for rank, label in enumerate(order[:k], start=1))
        for order in (ranked, np.sort(labels)[::-1])
    )
    return dcg / ideal if ideal else 0.0


def first_relevant_rank(labels, scores):
    """Rank of the first relevant document, or the number of documents plus one."""
    relevant = labels[np.argsort(-scores, kind="stable")] >= 1
    return int(relevant.argmax()) + 1 if relevant.any() else len(labels) + 1


OWN_NDCG = gw.metric("own_ndcg", plain_ndcg)
LOSS = gw.metric("first_relevant_rank", first_relevant_rank, higher_is_better=False)


class TestFunctions:
    def test_ndcg_by_its_definition_with_weights(self):
        weight = np.random.default_rng(1).uniform(0.1, 3, len(DATA.group))
        judgments = gw.Judgments(DATA.labels, group=DATA.group, weight=weight)
        names = ["own_ndcg", "ndcg_exp@10", "own_ndcg(weights=ignore)", "ndcg_exp(weights=ignore)@10"]
        result = gw.evaluate(names, judgments, DATA_SCORES)
        np.testing.assert_allclose(result.per_query[:, 0], result.per_query[:, 1], rtol=1e-13)
        assert len(np.unique(result.per_query[:, 0])) > 30
        assert result.mean["own_ndcg"] == pytest.approx(result.mean["ndcg_exp@10"], rel=1e-13)
        ignored, expected = list(result.mean.values())[2:]
        assert ignored == pytest.approx(expected, rel=1e-13)
        assert ignored != result.mean["own_ndcg"]

    def test_one_query_in_input_order_where_rows_are_scattered(self):
        seen = []
        metric = gw.metric("seen", lambda labels, scores: seen.append((labels.tolist(), scores.tolist())) or 1.0)
        gw.evaluate(metric, gw.Judgments([3, 0, 1, 2, 4], qid=list("abaab")), np.float32([5, 4, 3, 2, -np.inf]))
        assert seen == [([3, 1, 2], [5, 3, 2]), ([0, 4], [4, -np.inf])]

    def test_queries_without_documents_are_left_out(self):
        result = gw.evaluate(["first_relevant_rank"], gw.Judgments([0, 1], group=[0, 2, 0]), [2, 1])
        assert np.isnan(result.per_query[[0, 2], 0]).all()
        assert result.mean == {"first_relevant_rank": 2.0}

    def test_it_is_a_metric_as_any_other(self):
        assert str(OWN_NDCG) == "own_ndcg"
        assert repr(LOSS) == "metric('first_relevant_rank', first_relevant_rank, higher_is_better=False)"
        assert gw.parse_metrics("own_ndcg", LOSS) == (OWN_NDCG, LOSS)
        assert gw.parse_metrics("own_ndcg(weights=ignore)") == (replace(OWN_NDCG, weights="ignore"),)
        assert str(*gw.parse_metrics("own_ndcg", convention="lightgbm")) == "own_ndcg(weights=float32_mean)"
        assert (OWN_NDCG.higher_is_better, LOSS.higher_is_better) == (True, False)
        assert len({OWN_NDCG, LOSS, gw.metric("own_ndcg", plain_ndcg)}) == 2

    def test_a_pickle_makes_its_metric_known_elsewhere(self, tmp_path):
        (tmp_path / "shop.py").write_text(
            "import gainwise as gw\n\n\ndef clicks(labels, scores):\n    return float(labels[scores.argmax()])\n\n\n"
            "def cubed(labels):\n    return labels**3\n"
        )
        make = (
            "import gainwise as gw, pickle, shop; metrics = [gw.metric('clicks', shop.clicks, higher_is_better=False), "
            "gw.NDCG(gain=shop.cubed, k=3)]; open('metrics.pickle', 'wb').write(pickle.dumps(metrics))"
        )
        read = (
            "import gainwise as gw, pickle; metrics = pickle.load(open('metrics.pickle', 'rb')); "
            "assert gw.parse_metrics('clicks', 'ndcg(gain=cubed)@3') == tuple(metrics); "
            "print(gw.evaluate(metrics, gw.Judgments([3, 0], group=[2]), [1, 0]).mean, metrics[0].higher_is_better)"
        )
        source = str(Path(gw.__file__).parents[1])
        for code in (make, read):
            command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{source!r}, '.']; {code}"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        assert done.stdout == "{'clicks': 3.0, 'ndcg(gain=cubed)@3': 1.0} False\n"
