"""Intervals end at the limits of the metric, with the same coverage."""

import dataclasses
import math

import numpy as np
import pytest
from tests.comparison.tables import leaderboard_table, pairs_table

import gainwise as gw

PLAIN = gw.Judgments([2, 0, 1, 3], group=[2, 2])
NEGATIVE = gw.Judgments([2, -1, 1, 3], group=[2, 2], negative_labels="allow")


class TestRanges:
    @pytest.mark.parametrize(
        ("expected", "names"),
        [
            ((0, 1), ["ndcg_linear@10", "ndcg_exp", "ndcg_jk@3", "ndcg(gain=0/1/3/7)@3", "map", "mrr", "precision@3"]),
            ((0, 1), ["map(ties=order,denominator=hits)@3", "recall@3", "hit@3", "rbp(p=0.8)", "rbp(gain=graded)"]),
            ((0, 1), ["err(max_label=4)@3"]),
            ((0, math.inf), ["dcg_linear@10", "dcg_exp@10", "cg@10"]),
            ((-math.inf, math.inf), ["ndcg(gain=-1/1/3/7)@3"]),
        ],
    )
    def test_a_metric_has_its_range(self, expected, names):
        assert {metric.value_range(PLAIN) for metric in gw.parse_metrics(names)} == {expected}

    def test_negative_labels_leave_no_bound(self):
        # The document of label -1 was not retrieved: the DCG of the other one is above the ideal of both.
        metric = gw.NDCG(gain="linear", k=2)
        assert metric.value_range(NEGATIVE) == (-math.inf, math.inf)
        judgments = gw.Judgments([2, -1], group=[2], negative_labels="allow")
        assert gw.evaluate(metric, judgments, [1.0, -math.inf]).per_query[0, 0] > 1
        assert gw.evaluate(metric, judgments, [-math.inf, 1.0]).per_query[0, 0] < 0
        assert gw.parse_metrics("mrr")[0].value_range(NEGATIVE) == (0, 1)

    @pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
    def test_no_value_lies_beyond(self, ties):
        rng = np.random.default_rng(0)
        names = ["ndcg_linear@3", "ndcg_exp", "ndcg_jk@2", "map@3", "map(denominator=R)", "mrr", "precision@3", "cg"]
        names += ["recall@3", "hit@2", "rbp", "rbp(gain=graded)", "err(max_label=4)", "dcg_exp@3"]
        metrics = gw.parse_metrics(names)
        for _ in range(50):
            labels = rng.integers(0, 5, 60)
            judgments = gw.Judgments(labels, group=[6] * 10)
            scores = np.where(rng.random(60) < 0.1, -np.inf, rng.integers(0, 3, 60))
            for metric in metrics:
                low, high = metric.value_range(judgments)
                found = gw.evaluate(dataclasses.replace(metric, ties=ties), judgments, scores).per_query
                assert low <= found.min() <= found.max() <= high + 1e-12


class TestIntervals:
    def test_mrr_does_not_reach_above_1(self):
        # Nine of ten reciprocal ranks are 1: the normal interval ends at about 1.01.
        labels = np.zeros((10, 4))
        labels[:, 0] = 1
        scores = np.tile([4.0, 3.0, 2.0, 1.0], (10, 1))
        scores[9] = [1.0, 4.0, 3.0, 2.0]
        judgments = gw.Judgments(labels.ravel(), group=[4] * 10)
        models = {"a": scores.ravel(), "b": -scores.ravel()}
        board = gw.compare(models, judgments, ["mrr", "ndcg_linear@10"], draws=1000).leaderboard
        values = {"mrr": np.r_[np.ones(9), 0.25]}
        open_ended = leaderboard_table({"mrr": np.stack([values["mrr"], values["mrr"]], axis=1)}, draws=1000)
        assert open_ended["upper"].max() > 1.01
        assert board.loc["a", "mrr upper"] == 1
        assert (board[["mrr lower", "ndcg_linear@10 lower"]] >= 0).to_numpy().all()

    def test_differences_and_regrets_end_where_the_range_lets_them(self):
        values = {name: np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.3]]) for name in ("x", "y")}
        ranges = {"x": (0.0, 1.0)}
        (row,) = pairs_table(values, ["a", "b"], draws=400, ranges=ranges).to_dict("records")
        assert row["upper x"] == 1 < row["upper y"]
        assert row["lower x"] == -1 > row["lower y"]
        board = leaderboard_table(values, ["a", "b"], draws=400, ranges=ranges).set_index(["metric", "model"])
        assert board.loc[("x", "b"), "regret_upper"] == 1 < board.loc[("y", "b"), "regret_upper"]
